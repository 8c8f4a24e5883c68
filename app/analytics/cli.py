"""Commands over analytics: `flask analytics …`."""

import click

from app.analytics import exporter, rebuilding
from app.core.runtime import runtime

_SHOWN = 20


@click.group("analytics")
def analytics() -> None:
    """Make the facts of analytics anew, or hold them against the evaluations."""


@analytics.command("rebuild")
def rebuild() -> None:
    """Make every fact anew from the evaluations; safe while the service runs."""
    reached: str | None = ""
    while reached is not None:
        with runtime().db.writing() as session:
            reached = rebuilding.rebuild_after(session, reached)
    with runtime().db.writing() as session:
        dropped = rebuilding.drop_stale(session)
    click.echo(f"rebuilt; {dropped} stale facts removed")


@analytics.command("check")
def check() -> None:
    """Compare every fact with its evaluation; exit code 1 when one differs."""
    with runtime().db.reading() as session:
        found = list(rebuilding.differences(session))
    for each in found[:_SHOWN]:
        click.echo(each)
    if len(found) > _SHOWN:
        click.echo(f"and {len(found) - _SHOWN} more")
    if found:
        raise click.ClickException(f"{len(found)} facts differ: run `flask analytics rebuild`")
    click.echo("every fact agrees with its evaluation")


@click.group("exports")
def exports() -> None:
    """Work on exports."""


@exports.command("run")
def run() -> None:
    """Work on the exports that are due, here and now, until none is left."""
    exporter.work(runtime())
    click.echo("no export is due")
