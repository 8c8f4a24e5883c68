"""Traces of a real service, as a collector for OTLP receives them, and the log next to them."""

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.contacts import chat
from tests.receiver import Receiver
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess


class Collector:
    """A stand-in for a collector, with the spans that it has received by their service."""

    def __init__(self) -> None:
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.receive(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        self.spans: list[tuple[str, Any]] = []
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def receive(self, request: ExportTraceServiceRequest) -> None:
        for sent in request.resource_spans:
            named = {each.key: each.value.string_value for each in sent.resource.attributes}
            for scope in sent.scope_spans:
                self.spans += [(named["service.name"], span) for span in scope.spans]

    def find(self, service: str, beginning: str) -> list[Any]:
        return [
            span
            for name, span in [*self.spans]
            if name == service and span.name.startswith(beginning)
        ]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    started = Collector()
    yield started
    started.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    started = Receiver(tls=False)
    yield started
    started.close()


def test_a_trace_goes_from_the_caller_through_request_job_and_delivery_to_the_receiver(
    tmp_path: Path, collector: Collector, receiver: Receiver
) -> None:
    trace_id = uuid4().hex
    service = ServiceProcess(
        tmp_path / "instance",
        CQE_REDIS_URL="none",
        CQE_TRACES_URL=collector.url,
        CQE_TRACES_RATIO="0",  # the caller decides
        CQE_WEBHOOK_ALLOW_HTTP="1",
        CQE_WEBHOOK_ALLOWED_CIDRS="127.0.0.0/8",
    )
    try:
        client = service.wait_ready().caller()
        caller = {"traceparent": f"00-{trace_id}-{uuid4().hex[:16]}-01"}
        subscribed = {"url": receiver.url(), "events": ["evaluation.completed"]}
        assert client.post("/webhooks", subscribed).status_code == 201
        path = "/imports/conversations/chat-1"
        assert client.call("PUT", path, chat(), headers=caller).status_code == 201
        client.plain("GET", "/storage/v1/aud_x?sig=hush0123", headers=caller)
        [delivered] = receiver.wait_for(1)
        wait_until(lambda: collector.find("cqe-worker", "job evaluations"))
        wait_until(lambda: collector.find("cqe-web", "PUT /api/v1/imports/conversations"))
        wait_until(lambda: collector.find("cqe-web", "GET /storage"))
        wait_until(lambda: collector.find("cqe-sender", "webhook attempt"))
    finally:
        service.end()
    assert {span.trace_id.hex() for _, span in collector.spans} == {trace_id}
    [attempt] = collector.find("cqe-sender", "webhook attempt")
    assert delivered.headers["traceparent"] == f"00-{trace_id}-{attempt.span_id.hex()}-01"
    [job] = collector.find("cqe-worker", "job evaluations")
    [request] = collector.find("cqe-web", "PUT /api/v1/imports/conversations")
    assert (attempt.parent_span_id, job.parent_span_id) == (job.span_id, request.span_id)
    for traced in ("cqe-web", "cqe-worker"):
        assert collector.find(traced, "SELECT")
        assert collector.find(traced, "INSERT")
    assert "hush0123" not in str(collector.spans)
    lines = [json.loads(line) for line in service.text.splitlines() if line.startswith("{")]
    own = [line for line in lines if line["logger"].startswith("app.")]
    assert any(line["host"] and line["role"] == "prepare" for line in own)


def test_jobs_that_run_together_are_linked_to_the_traces_of_the_others(
    tmp_path: Path, collector: Collector
) -> None:
    traces = [uuid4().hex for _ in range(3)]
    parents = [f"00-{trace_id}-{uuid4().hex[:16]}-01" for trace_id in traces]
    code = (
        "import sys; from pathlib import Path; from app.core.database.engine import make_engine; "
        "from app.core.process.traces import Traces; from app.core.settings import Settings; "
        "settings = Settings(data_dir=Path(sys.argv[1]), traces_url=sys.argv[2])\n"
        "with Traces(settings).job('evaluations', 'eval_1', sys.argv[3:], make_engine(settings)): pass"
    )
    # In a process of its own: instrumenting an engine would change those of other tests.
    arguments = [str(tmp_path), collector.url, *parents, parents[1]]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)
    [job] = collector.find("cqe-worker", "job evaluations")
    assert job.trace_id.hex() == traces[0]
    assert [link.trace_id.hex() for link in job.links] == traces[1:]


def test_without_the_setting_no_library_of_traces_is_imported() -> None:
    code = (
        "import sys; import app.factory; import app.operations.background_work; "
        "print([name for name in sys.modules "
        "if name.startswith(('opentelemetry.instrumentation', 'opentelemetry.exporter'))])"
    )
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"
