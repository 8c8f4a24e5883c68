"""Choice of the transcriber by the settings."""

from functools import partial
from pathlib import Path

from app.core.outgoing_http.model_server import Endpoint, EndpointMemory
from app.core.settings import BASE, LOCAL, Settings
from app.speech.server_access import ANSWER_BODY, ServerAccess
from app.speech.transcriber import Transcriber, build_transcriber


def transcriber_of(settings: Settings, *, spool_dir: Path) -> Transcriber:
    """Build the transcriber in the process that uses it: its threads do not survive a fork."""
    return build_transcriber(
        server=None if settings.transcriber == LOCAL else server_of(settings),
        fallback=settings.transcriber_fallback == LOCAL,
        model_dir=Path(settings.speech_model_dir) if settings.speech_model_dir else None,
        models_dir=settings.data_dir / "speech-models",
        always_base=settings.speech_model == BASE,
        cpu_threads=settings.speech_threads,
        spool_dir=spool_dir,
        min_free_bytes=settings.min_free_bytes,
    )


def server_of(settings: Settings) -> ServerAccess:
    url, model = settings.transcriber_url, settings.transcriber_model
    endpoint = Endpoint(url, model, settings.transcriber_key, ANSWER_BODY)
    return ServerAccess(
        endpoint=endpoint,
        memory=EndpointMemory(settings.data_dir / "transcriber.endpoint", f"{url} {model}"),
        open_client=partial(endpoint.open_client, ca_bundle=settings.transcriber_ca_bundle),
        timeout_s=settings.transcriber_timeout_s,
    )
