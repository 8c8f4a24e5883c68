"""Traces over OTLP, where CQE_TRACES_URL is set; needs the extra `otel`, which is not imported else."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING

from app.core.process import owner
from app.core.settings import Settings, SettingsError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from sqlalchemy import Engine

# A job waits for its spans to be sent, also while nothing answers.
_SEND_WITHIN_S = 2


class Traces:
    """The traces of one process; nothing happens without the setting."""

    def __init__(self, settings: Settings) -> None:
        if settings.traces_url and not find_spec("opentelemetry"):
            raise SettingsError(
                "CQE_TRACES_URL needs the extra otel: pip install 'cqe-service[otel]'"
            )
        self._url = settings.traces_url
        self._ratio = settings.traces_ratio
        self._provider: TracerProvider | None = None
        self._lock = Lock()

    @property
    def enabled(self) -> bool:
        """Whether traces are on."""
        return bool(self._url)

    def start(self, process: str, engine: "Engine") -> None:
        """Trace this process and its statements; its thread would not survive a fork."""
        with self._lock:
            if self._url and self._provider is None:
                self._start(process, engine)

    def _start(self, process: str, engine: "Engine") -> None:
        # Not at the top: the libraries are an extra, and take time and memory to import.
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.instrumentation.redis import RedisInstrumentor  # noqa: PLC0415
        from opentelemetry.instrumentation.sqlalchemy import (  # noqa: PLC0415
            SQLAlchemyInstrumentor,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio  # noqa: PLC0415

        named = {"service.name": f"cqe-{process}", "host.name": owner.host_name()}
        self._provider = TracerProvider(
            resource=Resource.create(named), sampler=ParentBasedTraceIdRatio(self._ratio)
        )
        exporter = OTLPSpanExporter(endpoint=self._url, timeout=_SEND_WITHIN_S)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        trace.set_tracer_provider(self._provider)
        # It names an upper limit of versions that it works beyond; a test shows that it does.
        SQLAlchemyInstrumentor().instrument(
            engine=engine, tracer_provider=self._provider, skip_dep_check=True
        )
        RedisInstrumentor().instrument(tracer_provider=self._provider)

    @contextmanager
    def job(self, kind: str, job_id: str, engine: "Engine") -> Iterator[None]:
        """Trace a job, and send its spans at the end: its process may end right after."""
        self.start("worker", engine)
        if self._provider is None:
            yield
            return
        tracer = self._provider.get_tracer("cqe")
        try:
            with tracer.start_as_current_span(f"job {kind}", attributes={"cqe.job_id": job_id}):
                yield
        finally:
            self._provider.force_flush()
