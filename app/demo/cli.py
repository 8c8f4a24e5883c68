"""The command of the demo: `flask demo`."""

import sys
import time

import click

from app.audio_files import jobs as audio_files
from app.core.database.schema_revision import is_at_head
from app.core.errors import AppError
from app.core.process import heartbeat
from app.core.runtime import Runtime
from app.demo import loading, service, telling
from app.demo.service import Progress
from app.evaluations import jobs as evaluations
from app.web.current import current_runtime

_LOOK_AGAIN_S = 0.25


@click.command("demo")
@click.option("--wait", is_flag=True, help="Wait until everything is evaluated.")
def demo(*, wait: bool) -> None:
    """Load a small call centre that does not exist, to look around in.

    Started again, it changes nothing. Where no worker runs, --wait does the work here.
    """
    runtime = current_runtime()
    try:
        _require_tables(runtime)
        loaded = loading.load(runtime)
        click.echo(telling.arrival(loaded.new))
        _await(runtime) if wait else _tell_of_work(runtime)
    except AppError as error:
        message = f"{error.message} Give the command again: it takes up what is missing."
        raise click.ClickException(message) from error
    for line in loaded.refused:
        click.echo(line, err=True)
    click.echo("\n".join(telling.places()))
    if loaded.refused:
        sys.exit(1)


def _require_tables(runtime: Runtime) -> None:
    with runtime.db.reading() as session:
        ready = is_at_head(session)
    if not ready:
        raise click.ClickException(
            "The tables are not up to date: start the service once, or run `flask db upgrade`."
        )


def _progress(runtime: Runtime) -> Progress:
    with runtime.db.reading() as session:
        return service.progress(session)


def _tell_of_work(runtime: Runtime) -> None:
    found = _progress(runtime)
    waiting = found.total - found.ended
    if waiting and heartbeat.is_alive(runtime.settings.data_dir):
        click.echo(f"The worker evaluates it now: {waiting} to go.")
    elif waiting:
        click.echo(
            "Nothing is evaluated until a worker runs: `flask worker`, or `flask demo --wait`."
        )


def _await(runtime: Runtime) -> None:
    """Wait until the evaluations have ended; where no worker runs, make them here."""
    while (found := _progress(runtime)).ended < found.total:
        _show(found)
        if not heartbeat.is_alive(runtime.settings.data_dir):
            _work(runtime)
        time.sleep(_LOOK_AGAIN_S)
    if sys.stderr.isatty():
        click.echo("\r", nl=False, err=True)
    failed = f", {found.failed} of them could not be judged" if found.failed else ""
    click.echo(f"{found.ended} evaluations have ended{failed}.")


def _show(found: Progress) -> None:
    if sys.stderr.isatty():
        click.echo(f"\rEvaluated {found.ended} of {found.total} ", nl=False, err=True)


def _work(runtime: Runtime) -> None:
    evaluations.judge(runtime)
    for job_id in audio_files.due_ids(runtime)[:1]:
        audio_files.process_audio(runtime, job_id)
