"""Command `demo`."""

import sys
import time

import click

from app.audio_files import jobs as audio_files
from app.core import hosts
from app.core.commands import COMMAND, errors_as_messages
from app.core.runtime import Runtime
from app.demo import service
from app.demo.service import DemoProgress
from app.evaluations import jobs as evaluations
from app.web.current import current_runtime

_POLL_S = 0.25


@click.command("demo")
@click.option("--wait", is_flag=True, help="Wait until all of it is evaluated.")
@click.option("--small", is_flag=True, help="Load 40 conversations instead of 300.")
def demo(*, wait: bool, small: bool) -> None:
    """Load sample data of a call centre: 300 conversations of 60 days.

    A second run changes nothing. Without a running worker, --wait evaluates the data itself.
    """
    runtime = current_runtime()
    with errors_as_messages("Run the command again to load what is missing."):
        report = service.load(runtime, small=small)
        click.echo(report.summary)
        if wait:
            _wait(runtime)
        else:
            _print_pending(runtime)
        service.play_week(runtime)
    for line in report.refused:
        click.echo(line, err=True)
    click.echo(service.places_to_look(runtime))
    if report.refused:
        sys.exit(1)


def _progress(runtime: Runtime) -> DemoProgress:
    with runtime.db.reading() as session:
        return service.progress(session)


def _print_pending(runtime: Runtime) -> None:
    progress = _progress(runtime)
    waiting = progress.total - progress.ended
    if waiting and hosts.is_running(runtime.db, hosts.WORKER):
        click.echo(f"The worker evaluates the demo: {waiting} evaluations are left.")
    elif waiting:
        click.echo(
            f"No worker is running: start `{COMMAND} worker`, or run `{COMMAND} demo --wait`."
        )


def _wait(runtime: Runtime) -> None:
    """Wait until the evaluations have ended; without a worker, run them here."""
    while (progress := _progress(runtime)).ended < progress.total:
        _print_progress(progress)
        if not hosts.is_running(runtime.db, hosts.WORKER):
            _work(runtime)
        time.sleep(_POLL_S)
    if sys.stderr.isatty():
        click.echo("\r", nl=False, err=True)
    failed = f"; {progress.failed} of them failed" if progress.failed else ""
    click.echo(f"{progress.ended} evaluations have ended{failed}.")


def _print_progress(progress: DemoProgress) -> None:
    if sys.stderr.isatty():
        click.echo(f"\rEvaluated {progress.ended} of {progress.total} ", nl=False, err=True)


def _work(runtime: Runtime) -> None:
    evaluations.judge(runtime)
    for job_id in audio_files.due_ids(runtime)[:1]:
        audio_files.process_audio(runtime, job_id)
