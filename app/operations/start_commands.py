"""Commands that start processes: up, worker, metrics. What they run is imported when they run."""

from pathlib import Path
from typing import Any

import click


@click.command("up")
@click.option("--host", help="Address that the web server listens on.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port that the web server listens on.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Folder for all data.")
@click.option("--workers", type=click.IntRange(1, 256), help="Web processes.")
@click.option("--threads", type=click.IntRange(1, 256), help="Threads of each web process.")
@click.option("--no-worker", is_flag=True, help="Start no worker.")
@click.option(
    "--demo",
    is_flag=False,
    flag_value="full",
    type=click.Choice(["full", "small"]),
    help="Load sample conversations: 300 of 60 days, or a small set of 40.",
)
def up(*, no_worker: bool, demo: str | None, **options: Any) -> None:
    """Start the whole service: tables, queue, web server and worker."""
    from app.operations import up as service
    from app.operations.environment import settings_here
    from app.operations.failure import plain_errors

    with plain_errors():
        service.run(settings_here(options), with_worker=not no_worker, demo=demo)


@click.command("worker")
def worker() -> None:
    """Run the worker without a web server."""
    from app.operations.background_work import run_worker

    run_worker()


@click.command("metrics")
def metrics() -> None:
    """Serve this host's metrics to Prometheus, where no worker runs."""
    from app.operations.background_work import run_metrics

    run_metrics()
