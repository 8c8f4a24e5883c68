"""Up command: starts every process of the service in order, until it is told to stop.

What a process needs is imported just before it is forked: the queue server starts while the web
application is imported, and the web server answers before the worker's modules are imported.
"""

import errno
import gc
import http.client
import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import click

from app import __version__
from app.core.commands import COMMAND
from app.core.ip_addresses import is_loopback
from app.core.process import log
from app.core.secrets.encryption import KEY_FILE
from app.core.settings import Settings
from app.operations import data_dir
from app.operations.environment import warn_of_unknown
from app.operations.failure import CannotRun
from app.operations.processes import queue_server
from app.operations.processes.fork import call_in_child, share_memory
from app.operations.processes.supervisor import OutputPump, Service, Supervisor
from app.system import queue_choice
from app.system.queue_choice import QueueChoice

if TYPE_CHECKING:
    from app.core.runtime import Runtime
    from app.operations.first_start import FirstAccess

logger = logging.getLogger(__name__)

_QUEUE_READY_WITHIN_S = 10.0
_LOOK_AGAIN_S = 0.02
_DEMO_LOOK_AGAIN_S = 1.0
_BACKLOG = 1024
_FIRST_ACCESS_FILE = "first-key.txt"
_LOOPBACK_OF_WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
# Addresses for documentation: no packet is sent to them.
_FAR_AWAY = {"0.0.0.0": (socket.AF_INET, "192.0.2.1"), "::": (socket.AF_INET6, "2001:db8::1")}  # noqa: S104


def run(settings: Settings, *, with_worker: bool, demo: str | None = None) -> None:
    """Start the queue server, the web server and the worker; run until SIGTERM or Ctrl-C.

    Args:
        demo: the sample data to load, `full` or `small`.

    Raises:
        CannotRun: something that is needed is missing or in use.
    """
    # While modules are imported there is hardly any garbage, and looking for it takes long.
    gc.disable()
    # Here, where standard error is not yet the pipe of all processes.
    settings = replace(settings, log_format=log.format_here(settings.log_format))
    log.configure(settings.log_level, settings.log_format)
    data_dir.prepare(settings.data_dir)
    lock = data_dir.lock_exclusively(settings.data_dir)
    data_dir.lock_shared(settings.data_dir)
    listener = _listen(settings)
    output = OutputPump()
    supervisor = Supervisor(output)
    supervisor.handle_signals()
    try:
        warn_of_unknown()
        choice = _start_queue(supervisor, settings, lock)
        wait_for_access = _start_preparing(settings)
        import_module("app.factory")
        first_access = wait_for_access()
        choice = _await_queue(supervisor, settings, choice)
        settings = replace(settings, redis_url=choice.url or "none")
        if not supervisor.is_stopping:
            runtime = _start_web(supervisor, settings, listener)
            if with_worker:
                _start_worker(supervisor, runtime, listener)
            elif settings.metrics_listen is not None:
                _start_metrics(supervisor, runtime, listener)
            if _await_web(supervisor, settings):
                _print_ready(settings, choice, first_access, with_worker=with_worker)
                if demo:
                    small = demo == "small"
                    load = partial(_load_demo, runtime, small=small, with_worker=with_worker)
                    load = partial(_run_without, listener, load)
                    supervisor.start([Service("demo", load, once=True)])
        while not supervisor.is_stopping:
            supervisor.tick()
    finally:
        from app.core import queue

        # New connections are refused while the last requests are answered.
        listener.close()
        supervisor.stop()
        queue.withdraw_url(settings.data_dir)
        os.ftruncate(lock, 0)
        if supervisor.is_stopping:
            click.echo("Stopped.", err=True)
        output.close()


def _listen(settings: Settings) -> socket.socket:
    """Open the port in this process, so that it stays open while the web server restarts."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        where = f"port {settings.port} of {settings.host}"
        messages = {
            errno.EADDRINUSE: f"{where} is in use: stop the program that uses it, or set --port",
            errno.EACCES: f"no permission to use {where}: set a --port above 1023",
            errno.EADDRNOTAVAIL: f"this machine has no address {settings.host}: set another --host",
        }
        default = f"cannot listen on {where}: {error.strerror}"
        raise CannotRun(messages.get(error.errno or 0, default)) from error


def _start_preparing(settings: Settings) -> Callable[[], "FirstAccess"]:
    from app.operations import first_start

    # Without a terminal, the output goes to a log, which is kept and which others may read.
    access_file = None if sys.stdout.isatty() else settings.data_dir / _FIRST_ACCESS_FILE
    return call_in_child(partial(first_start.prepare, settings, access_file=access_file))


def _start_queue(supervisor: Supervisor, settings: Settings, lock: int) -> QueueChoice:
    choice = queue_choice.choose(settings)
    if choice.program:
        queue_server.prepare(settings.data_dir)
        serve = partial(queue_server.serve, choice.program, settings.data_dir, lock)
        supervisor.start([Service("queue", serve, tier=0, stop_within_s=5)])
    return choice


def _await_queue(supervisor: Supervisor, settings: Settings, choice: QueueChoice) -> QueueChoice:
    if not choice.program:
        return choice
    from app.core import queue

    until = time.monotonic() + _QUEUE_READY_WITHIN_S
    while time.monotonic() < until and not supervisor.is_stopping:
        if not queue.problem(choice.url):
            queue.publish_url(settings.data_dir, choice.url)
            return choice
        supervisor.wait(_LOOK_AGAIN_S)
        if not supervisor.is_running("queue"):
            break
    logger.warning("the queue server does not start; see queue/queue.log in the data folder")
    supervisor.remove("queue")
    return QueueChoice("", "", "none, because it does not start: jobs start a little later")


def _start_web(supervisor: Supervisor, settings: Settings, listener: socket.socket) -> "Runtime":
    from app.factory import create_app
    from app.operations.processes import web
    from app.wiring import build_runtime

    runtime = build_runtime(settings)
    application = create_app(settings, runtime)
    # The first request would sort the routes and import an encoding, in each process.
    application.url_map.bind("localhost").test("/")
    serve = partial(web.serve, application, settings, listener.fileno())
    share_memory()
    supervisor.start([Service("web", serve)])
    return runtime


def _start_worker(supervisor: Supervisor, runtime: "Runtime", listener: socket.socket) -> None:
    from app.operations.background_work import JOB_QUEUES, TASKS
    from app.operations.processes import workers

    services = [
        replace(service, run=partial(_run_without, listener, service.run))
        for service in workers.services(runtime, TASKS, JOB_QUEUES)
    ]
    share_memory()
    supervisor.start(services)


def _start_metrics(supervisor: Supervisor, runtime: "Runtime", listener: socket.socket) -> None:
    from app.operations.processes.metrics import serve_metrics

    serve = partial(_run_without, listener, partial(serve_metrics, runtime))
    supervisor.start([Service("metrics", serve)])


def _load_demo(runtime: "Runtime", *, small: bool, with_worker: bool) -> None:
    from app.core.errors import AppError, ServiceUnavailable
    from app.demo import service as demo

    try:
        report = demo.load(runtime, small=small)
        for refused in report.refused:
            logger.warning("a record of the demo was refused: %s", refused)
        click.echo(report.summary)
        if not with_worker:
            click.echo(
                f"No worker is running: start `{COMMAND} worker` to have the demo evaluated."
            )
        elif report.total:
            click.echo("The worker evaluates the demo; the recordings take longest.")
        click.echo(demo.places_to_look(runtime))
        if with_worker and report.total:
            demo.follow(runtime, click.echo)
        while not demo.play_week(runtime) and with_worker:
            time.sleep(_DEMO_LOOK_AGAIN_S)
    except ServiceUnavailable:
        raise  # the process is started again
    except AppError as error:
        # A second try would fail in the same way.
        logger.warning("the demo was not loaded: %s", error.message)


def _run_without(listener: socket.socket, run: Callable[[], None]) -> None:
    # A process that does not answer must not keep the port open during a stop.
    listener.close()
    run()


def _await_web(supervisor: Supervisor, settings: Settings) -> bool:
    host = _LOOPBACK_OF_WILDCARD.get(settings.host, settings.host)
    while not supervisor.is_stopping:
        connection = http.client.HTTPConnection(host, settings.port, timeout=1)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/health")
            if connection.getresponse().status == http.client.OK:
                return True
        connection.close()
        supervisor.wait(_LOOK_AGAIN_S)
    return False


def _print_ready(
    settings: Settings, choice: QueueChoice, first_access: "FirstAccess", *, with_worker: bool
) -> None:
    from app.system.checks import speech_problem

    address, *other_addresses = _addresses_of(settings)
    lines = [
        f"CQE {__version__} is ready.",
        f"  Address    {address}",
        *(f"             {other}" for other in other_addresses),
        f"  API docs   {address}/docs",
        f"  Data       {settings.data_dir}",
        f"  Queue      {choice.description}",
    ]
    if not with_worker:
        lines.append(f"  Worker     none (--no-worker): start one with `{COMMAND} worker`")
    elif problem := speech_problem(settings):
        lines.append(f"  Speech     {problem}")
    lines += _tls_notes(settings)
    lines += _first_access_lines(settings, first_access)
    lines += ["", "Stop with Ctrl-C or SIGTERM."]
    with suppress(OSError):
        click.echo("\n".join(lines))


def _first_access_lines(settings: Settings, access: "FirstAccess") -> list[str]:
    from app.operations.first_start import lines_of

    created = lines_of(access)
    if not created:
        return []
    if access["file"]:
        held = ["an API key"] if access["api_key"] else []
        held += ["the first password of the dashboard"] if access["password"] else []
        lines = [
            "",
            f"Created at this start: {' and '.join(held)}. Added to",
            f"  {access['file']}",
            "  Store what it holds in a safe place, then delete the file.",
        ]
    else:
        lines = ["", "Created at this start and printed only once:", *(f"  {x}" for x in created)]
    if not settings.master_keys:
        file = settings.data_dir / KEY_FILE
        lines.append(f"  Keep a copy of {file}: without it stored secrets cannot be decrypted.")
    return lines


def _addresses_of(settings: Settings) -> list[str]:
    """Return the URLs of the service: for a wildcard host, that of this machine comes first."""
    hosts = [_LOOPBACK_OF_WILDCARD.get(settings.host, settings.host)]
    if settings.host in _FAR_AWAY:
        hosts += _outgoing_address(*_FAR_AWAY[settings.host])
    return [
        f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"
        for host in hosts
    ]


def _tls_notes(settings: Settings) -> list[str]:
    """Return what a caller on another machine has to know about TLS; nothing on loopback alone."""
    if is_loopback(settings.host):
        return []
    if settings.require_tls == "0":
        return [
            "  TLS        off (CQE_REQUIRE_TLS=0): anybody on the way reads keys and recordings"
        ]
    proxy_settings = {
        "CQE_TRUSTED_PROXIES": settings.trusted_proxies,
        "CQE_PUBLIC_URL": settings.public_url,
    }
    missing = " and ".join(name for name, value in proxy_settings.items() if not value)
    if not missing:
        return [f"  TLS        ended by the proxy that answers at {settings.public_url}"]
    return [
        "  TLS        other machines are answered over HTTPS only: end TLS at a proxy in front, set",
        f"             {missing} (docs/proxy.md). For a trial in a",
        "             network that you trust, CQE_REQUIRE_TLS=0 answers plain HTTP, too.",
    ]


def _outgoing_address(family: socket.AddressFamily, far_away: str) -> list[str]:
    """Return the address from which this machine reaches others, if it reaches any."""
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((far_away, 9))
        return [probe.getsockname()[0]]
    return []
