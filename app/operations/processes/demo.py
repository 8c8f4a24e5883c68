"""Demo loader process: loads the demo next to a running service."""

import logging
from functools import partial

import click

from app.core.errors import AppError, ServiceUnavailable
from app.core.runtime import Runtime
from app.demo import loading, telling
from app.operations.processes.supervisor import Service

logger = logging.getLogger(__name__)


def service(runtime: Runtime, *, with_worker: bool) -> Service:
    """Return the service that loads the demo once; it is restarted if the database was away."""
    return Service("demo", partial(_load, runtime, with_worker=with_worker), once=True)


def _load(runtime: Runtime, *, with_worker: bool) -> None:
    try:
        loaded = loading.load(runtime)
    except ServiceUnavailable:
        raise
    except AppError as error:
        # Another attempt would fail in the same way.
        logger.warning("the demo was not loaded: %s", error.message)
        return
    for refused in loaded.refused:
        logger.warning("the demo was not loaded completely: %s", refused)
    click.echo(telling.arrival(loaded.new))
    if not with_worker:
        click.echo("Nothing of it is evaluated until a worker runs: start one with `flask worker`.")
    elif loaded.total:
        click.echo("The worker is evaluating it; the recordings take a minute.")
    click.echo("\n".join(telling.places()))
