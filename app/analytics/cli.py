"""Command groups `analytics` and `exports`, and the command `agreement`."""

from datetime import timedelta
from itertools import count
from zoneinfo import ZoneInfo

import click

from app.analytics.agreement import report, table
from app.analytics.engine import part_writer, rebuilding
from app.analytics.engine.database import FactDatabase, fact_database
from app.analytics.engine.parts import discard, registered
from app.analytics.engine.periods import Period
from app.analytics.engine.selection import Selection
from app.analytics.exports import work
from app.analytics.schemas.agreement import AnalyticsAgreementSchema
from app.core.clock import utc_now
from app.core.database.session import Database
from app.core.errors import NotFound
from app.engagements import service as engagements
from app.evaluations.enums import Channel
from app.web.current import current_runtime

_MAX_SHOWN = 20
# Progress is printed every so many batches of facts.
_PROGRESS_EVERY = 20


@click.group("analytics")
def analytics() -> None:
    """Rebuild the analytics tables, or check them."""


@analytics.command("rebuild")
@click.option("--after", default="", metavar="ID", help="Continue after this evaluation.")
def rebuild(after: str) -> None:
    """Rebuild facts and parts from the evaluations; safe while the service runs.

    After an interruption, continue with the id that was printed last.
    """
    db, database = current_runtime().db, fact_database(current_runtime().settings)
    reached: str | None = after
    for number in count(1):
        with db.writing() as session:
            reached = rebuilding.rebuild_after(session, reached or "")
        if reached is None:
            break
        if number % _PROGRESS_EVERY == 0:
            click.echo(f"facts: {number * rebuilding.BATCH:,} evaluations, to {reached}")
    with db.writing() as session:
        deleted = rebuilding.delete_stale(session)
        months = [part.month for part in registered(session, database.folder)]
    click.echo(f"facts: rebuilt; {deleted} stale ones deleted")
    for month in reversed(months):
        with db.writing() as session:
            discard(session, month)
        _write_parts(db, database)
        click.echo(f"parts: {month}")
    _write_parts(db, database)
    click.echo("rebuilt")


@analytics.command("check")
def check() -> None:
    """Compare facts with evaluations, and parts with facts; exit code 1 when anything differs."""
    with current_runtime().db.reading() as session:
        facts = list(rebuilding.fact_differences(session))
        parts = list(
            rebuilding.part_differences(session, fact_database(current_runtime().settings))
        )
    differences = facts + parts
    for difference in differences[:_MAX_SHOWN]:
        click.echo(difference)
    if len(differences) > _MAX_SHOWN:
        click.echo(f"and {len(differences) - _MAX_SHOWN} more")
    if differences:
        counted = f"{len(facts)} facts and {len(parts)} parts differ"
        raise click.ClickException(f"{counted}: run `./run analytics rebuild`")
    click.echo("every fact agrees with its evaluation, and every part with its facts")


def _write_parts(db: Database, database: FactDatabase) -> None:
    while part_writer.write_pending(db, database):
        pass


@click.command("agreement")
@click.option("--engagement", metavar="ID|NAME", help="Only evaluations of this engagement.")
@click.option("--campaign", "campaign_id", metavar="ID", help="Only evaluations of this campaign.")
@click.option("--scorecard", "scorecard_id", metavar="ID", help="Only those of this scorecard.")
@click.option("--channel", type=click.Choice(list(Channel)), help="Only those of this channel.")
@click.option("--days", default=400, type=click.IntRange(1, 400), show_default=True, help="Period.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON of the API.")
def agreement(
    engagement: str | None,
    campaign_id: str | None,
    scorecard_id: str | None,
    channel: str | None,
    days: int,
    *,
    as_json: bool,
) -> None:
    """Show how well the engine agrees with people's reviews, and people with each other.

    The engine's original answers are compared, before any override. Statistics of fewer than 20
    pairs are not shown; a kappa of 0.6 or more is marked as good.
    """
    end = utc_now()
    period = Period(end - timedelta(days=days), end, ZoneInfo("UTC"))
    with current_runtime().db.reading() as session:
        try:
            engagement_id = engagements.find(session, engagement).id if engagement else None
        except NotFound as error:
            raise click.ClickException(error.message) from error
        selection = Selection(
            period,
            engagement_id=engagement_id,
            campaign_id=campaign_id,
            scorecard_id=scorecard_id,
            channel=(channel,) if channel else (),
        )
        agreement_data = report.show(session, selection)
    if as_json:
        click.echo(AnalyticsAgreementSchema().dumps(agreement_data))
        return
    for line in table.lines(agreement_data):
        click.echo(line)


@click.group("exports")
def exports() -> None:
    """Run exports."""


@exports.command("run")
def run() -> None:
    """Run the exports that are due in this process, until none is left."""
    work.run_exports(current_runtime())
    click.echo("No export is due.")
