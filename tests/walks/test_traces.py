"""Traces of a real service, as a collector for OTLP receives them, and the log next to them."""

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.contacts import put_chat
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


def test_requests_and_jobs_are_traced_with_their_statements(
    tmp_path: Path, collector: Collector
) -> None:
    service = ServiceProcess(
        tmp_path / "instance",
        CQE_REDIS_URL="none",
        CQE_TRACES_URL=collector.url,
        CQE_TRACES_RATIO="1",
    )
    try:
        client = service.wait_ready().caller()
        put_chat(client)
        client.plain("GET", "/storage/v1/aud_x?sig=hush0123")
        wait_until(lambda: collector.find("cqe-worker", "job evaluations"))
        wait_until(lambda: collector.find("cqe-web", "PUT /api/v1/imports/conversations"))
        wait_until(lambda: collector.find("cqe-web", "GET /storage"))
    finally:
        service.end()
    for name, span in (
        ("cqe-web", collector.find("cqe-web", "PUT /api/v1/imports/conversations")[0]),
        ("cqe-worker", collector.find("cqe-worker", "job evaluations")[0]),
    ):
        statements = [
            child
            for service_name, child in collector.spans
            if service_name == name and child.trace_id == span.trace_id and child != span
        ]
        assert any(child.name.startswith(("SELECT", "INSERT")) for child in statements)
    assert "hush0123" not in str(collector.spans)
    lines = [json.loads(line) for line in service.text.splitlines() if line.startswith("{")]
    own = [line for line in lines if line["logger"].startswith("app.")]
    assert any(line["host"] and line["role"] == "prepare" for line in own)


def test_without_the_setting_no_library_of_traces_is_imported() -> None:
    code = (
        "import sys; import app.factory; import app.operations.background_work; "
        "print([name for name in sys.modules "
        "if name.startswith(('opentelemetry.instrumentation', 'opentelemetry.exporter'))])"
    )
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"
