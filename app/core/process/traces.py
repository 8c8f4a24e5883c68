"""Traces over OTLP, where CQE_TRACES_URL is set; needs the extra `otel`, which is not imported else."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from app.core.process import owner
from app.core.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from sqlalchemy import Engine

_FLUSH_WITHIN_MS = 2_000


class Traces:
    """The traces of one process; nothing happens without the setting."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.traces_url
        self._ratio = settings.traces_ratio
        self._provider: TracerProvider | None = None

    @property
    def enabled(self) -> bool:
        """Whether traces are on."""
        return bool(self._url)

    def start(self, process: str, engine: "Engine") -> None:
        """Trace this process and its statements; its thread would not survive a fork."""
        if not self._url or self._provider is not None:
            return
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
        exporter = OTLPSpanExporter(endpoint=self._url)
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
            self._provider.force_flush(_FLUSH_WITHIN_MS)
