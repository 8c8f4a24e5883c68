"""Web server: gunicorn around the application."""

import os
import time
from contextlib import suppress
from threading import Thread
from typing import Any

from flask import Flask, request
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]
from sqlalchemy.exc import SQLAlchemyError

from app.core import hosts
from app.core.database.engine import limit_statements
from app.core.errors import ServiceUnavailable
from app.core.hosts import BEAT_EVERY_S, WEB, Heartbeat
from app.core.process import log, stopping
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.core.storage import breaker
from app.dashboard.install import compile_templates
from app.usage import meter
from app.web.current import runtime_of

_TIMEOUT_S = 30
_PURGE_EVERY_S = 3600.0


def _prepare_worker(server: Any, worker: Any) -> None:
    stopping.follow(worker.ppid)
    log.name_process(hosts.WEB)
    application = server.app.wsgi()
    # In the background: requests come first, also while the worker starts.
    Thread(target=compile_templates, args=(application,), daemon=True).start()
    runtime = runtime_of(application)
    worker.serves_reads = runtime.settings.is_sqlite
    worker.writes_are_quick = runtime.db.commits_quickly
    if runtime.traces.enabled:
        runtime.traces.start("web", runtime.db.engine)
        _trace_requests(application)
    limit_statements(runtime.db.engine, _TIMEOUT_S)
    breaker.answer_requests(runtime.settings.threads)
    if not runtime.settings.is_sqlite:
        hosts.follow_clock(runtime.db.engine)
        for keep_up in (_join_other_hosts, _purge_own_files):
            Thread(target=keep_up, args=(runtime,), daemon=True).start()


def _trace_requests(application: Flask) -> None:
    # An extra, which is imported only where it is used.
    from opentelemetry import trace  # noqa: PLC0415
    from opentelemetry.instrumentation.flask import FlaskInstrumentor  # noqa: PLC0415

    def hide_query() -> None:
        """Keep signatures of links, which are in the query, out of the trace."""
        trace.get_current_span().set_attribute("http.target", request.path)

    instrument: Any = FlaskInstrumentor()
    instrument.instrument_app(application)
    # Before authentication, so that its statements belong to the request.
    begin = application.before_request_funcs[None]
    begin[:0] = [begin.pop(), hide_query]


def _join_other_hosts(runtime: Runtime) -> None:
    """Send this host's heartbeat, learn how many web hosts share the limits, and add its call counts to the usage.

    On a host without a worker, no other process knows what was counted while Redis was away.
    """
    heartbeat = Heartbeat(runtime.db, WEB, queue_server=runtime.doorbell.server_id)
    while True:
        heartbeat.beat()
        with suppress(ServiceUnavailable, SQLAlchemyError, OSError):
            runtime.state.share_limits(hosts.count_hosts(runtime.db, WEB))
            meter.flush_host(runtime)
        time.sleep(BEAT_EVERY_S)


def _purge_own_files(runtime: Runtime) -> None:
    """Delete what uploads and requests left in the data folder, also on a host without a worker."""
    while True:
        # Not in the heartbeat's thread: it may take minutes to look through many recordings.
        with suppress(OSError):
            runtime.state.purge(time.time())
            runtime.storage.purge_partial()
        time.sleep(_PURGE_EVERY_S)


GUNICORN_OPTIONS: dict[str, Any] = {
    "worker_class": "app.operations.processes.web_worker.WebWorker",
    # Below the usual limit of 1,024 open files, with room for the database and stored files.
    "worker_connections": 500,
    # Answers go through the buffers of the worker's sockets.
    "sendfile": False,
    "timeout": _TIMEOUT_S,
    "graceful_timeout": 20,
    "keepalive": 5,
    "max_requests": 20_000,
    "max_requests_jitter": 2_000,
    "limit_request_line": 4094,
    "control_socket_disable": True,
    # The application is built once, and its memory shared by the workers.
    "preload_app": True,
    # The application decides which proxies it trusts (CQE_TRUSTED_PROXIES).
    "forwarded_allow_ips": "",
    "accesslog": "-",
    "logger_class": "app.operations.processes.access_log.AccessLog",
    "worker_tmp_dir": "/dev/shm" if os.access("/dev/shm", os.W_OK) else None,  # noqa: S108
    "post_fork": _prepare_worker,
}


def threads_of(settings: Settings) -> int:
    """Return the threads of a web process; a large transfer takes one, so there are two at least."""
    return max(2, settings.threads)


class _WebServer(BaseApplication):  # type: ignore[misc]
    """Gunicorn with options from code instead of from a command line."""

    def __init__(self, application: Flask, options: dict[str, Any]) -> None:
        self._application = application
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        return self._application


def serve(application: Flask, settings: Settings, listener: int) -> None:
    """Serve on a listening socket until SIGTERM; requests in flight are finished."""
    options = {
        "bind": f"fd://{listener}",
        "workers": settings.workers,
        "threads": threads_of(settings),
    }
    _WebServer(application, {**GUNICORN_OPTIONS, **options}).run()
