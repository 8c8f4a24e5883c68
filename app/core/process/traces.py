"""Traces over OTLP, where CQE_TRACES_URL is set; needs the extra `otel`, which is not imported else.

A row keeps the trace of the request or job that has written it, as a W3C `traceparent`: what is done
with the row later continues that trace.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
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


def traceparent() -> str | None:
    """Return the current span as the header `traceparent`; None where traces are off."""
    if "opentelemetry.sdk.trace" not in sys.modules:
        return None
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
        TraceContextTextMapPropagator,
    )

    headers: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(headers)
    return headers.get("traceparent")


def trace_id() -> str:
    """Return the id of the current trace; empty where traces are off."""
    current = traceparent()
    return current.split("-")[1] if current else ""


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
        return bool(self._url)

    def start(self, process: str, engine: "Engine | None" = None) -> None:
        """Trace this process; its thread would not survive a fork."""
        with self._lock:
            if self._url and self._provider is None:
                self._start(process)
                if engine is not None:
                    self._trace_statements(engine)

    def flush(self) -> None:
        """Send the spans that have ended: this process may end now."""
        if self._provider is not None:
            self._provider.force_flush()

    @contextmanager
    def job(
        self, kind: str, job_id: str, parents: Sequence[str | None], engine: "Engine"
    ) -> Iterator[None]:
        """Trace a job, and send its spans at the end: its process may end right after.

        Args:
            parents: the `traceparent` of the job, and of those that run with it.
        """
        self.start("worker", engine)
        try:
            with self._span(f"job {kind}", {"cqe.job_id": job_id}, parents):
                yield
        finally:
            self.flush()

    @contextmanager
    def delivery(self, delivery_id: str, parent: str | None) -> Iterator[Mapping[str, str]]:
        """Trace an attempt of a delivery; return headers with which the receiver continues it."""
        with self._span("webhook attempt", {"cqe.delivery_id": delivery_id}, [parent]):
            current = traceparent()
            yield {"traceparent": current} if current else {}

    @contextmanager
    def _span(
        self, name: str, attributes: Mapping[str, str], parents: Sequence[str | None]
    ) -> Iterator[None]:
        """Trace a block in the trace of its first parent, linked to the other parents."""
        if self._provider is None:
            yield
            return
        from opentelemetry.trace import Link, get_current_span  # noqa: PLC0415
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
            TraceContextTextMapPropagator,
        )

        extract = TraceContextTextMapPropagator().extract
        contexts = [extract({"traceparent": parent}) for parent in dict.fromkeys(parents) if parent]
        links = [Link(get_current_span(context).get_span_context()) for context in contexts[1:]]
        tracer = self._provider.get_tracer("cqe")
        with tracer.start_as_current_span(
            name, contexts[0] if contexts else None, attributes=dict(attributes), links=links
        ):
            yield

    def _start(self, process: str) -> None:
        # Not at the top: the libraries are an extra, and take time and memory to import.
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio  # noqa: PLC0415

        resource = Resource.create(
            {"service.name": f"cqe-{process}", "host.name": owner.host_name()}
        )
        sampler = ParentBasedTraceIdRatio(self._ratio)
        self._provider = TracerProvider(resource=resource, sampler=sampler)
        exporter = OTLPSpanExporter(endpoint=self._url, timeout=_SEND_WITHIN_S)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        trace.set_tracer_provider(self._provider)

    def _trace_statements(self, engine: "Engine") -> None:
        from opentelemetry.instrumentation.redis import RedisInstrumentor  # noqa: PLC0415
        from opentelemetry.instrumentation.sqlalchemy import (  # noqa: PLC0415
            SQLAlchemyInstrumentor,
        )

        # It names an upper limit of versions that it works beyond; a test shows that it does.
        SQLAlchemyInstrumentor().instrument(
            engine=engine, tracer_provider=self._provider, skip_dep_check=True
        )
        RedisInstrumentor().instrument(tracer_provider=self._provider)
