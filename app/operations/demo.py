"""The demo beside a running service: loaded by a child process that ends with it."""

import logging
from functools import partial

import click

from app.core.errors import AppError, ServiceUnavailable
from app.core.runtime import Runtime
from app.demo import loading, telling
from app.operations.children import Service

logger = logging.getLogger(__name__)


def service(runtime: Runtime, *, with_worker: bool) -> Service:
    """Describe the child that loads it: started again where the database was away."""
    return Service("demo", partial(_load, runtime, with_worker=with_worker), once=True)


def _load(runtime: Runtime, *, with_worker: bool) -> None:
    try:
        loaded = loading.load(runtime)
    except ServiceUnavailable:
        raise
    except AppError as error:
        # Another try would end as this one did.
        logger.warning("the demo was not loaded: %s", error.message)
        return
    for refused in loaded.refused:
        logger.warning("the demo was not loaded whole: %s", refused)
    click.echo(telling.arrival(loaded.new))
    if not with_worker:
        click.echo("Nothing of it is evaluated until a worker runs: start one with `flask worker`.")
    elif loaded.total:
        click.echo("The worker evaluates it now; the recordings take a minute.")
    click.echo("\n".join(telling.places()))
