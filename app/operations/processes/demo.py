"""Process that loads the demo next to a running service, and then ends."""

import logging
from functools import partial

import click

from app.core.commands import COMMAND
from app.core.errors import AppError, ServiceUnavailable
from app.core.runtime import Runtime
from app.demo import service as demo
from app.operations.processes.supervisor import Service

logger = logging.getLogger(__name__)


def service(runtime: Runtime, *, with_worker: bool) -> Service:
    """Describe the process; it is started again if the database was away."""
    return Service("demo", partial(_load, runtime, with_worker=with_worker), once=True)


def _load(runtime: Runtime, *, with_worker: bool) -> None:
    try:
        report = demo.load(runtime)
    except ServiceUnavailable:
        raise
    except AppError as error:
        # A second try would fail in the same way.
        logger.warning("the demo was not loaded: %s", error.message)
        return
    for refused in report.refused:
        logger.warning("a record of the demo was refused: %s", refused)
    click.echo(report.summary)
    if not with_worker:
        click.echo(f"No worker is running: start `{COMMAND} worker` to have the demo evaluated.")
    elif report.total:
        click.echo("The worker evaluates the demo; the recordings take a minute.")
    click.echo(demo.PLACES_TO_LOOK)
