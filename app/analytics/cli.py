"""Commands over analytics: `flask analytics …`."""

from datetime import timedelta
from itertools import count
from zoneinfo import ZoneInfo

import click

from app.analytics import agreement as agreements
from app.analytics import agreement_report, exporter
from app.analytics.agreement_shapes import AnalyticsAgreementSchema
from app.analytics.engine import part_writer, rebuilding
from app.analytics.engine.database import FactDatabase, fact_database
from app.analytics.engine.parts import discard, registered
from app.analytics.engine.periods import Period
from app.analytics.engine.questions import Question
from app.core.clock import utc_now
from app.core.database.session import Database
from app.core.errors import NotFound
from app.engagements import service as engagements
from app.evaluations.enums import Channel
from app.web.current import current_runtime

_SHOWN = 20
# Progress is printed every so many batches of facts.
_PROGRESS_EVERY = 20


@click.group("analytics")
def analytics() -> None:
    """Rebuild the analytics tables, or verify them."""


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
    for difference in differences[:_SHOWN]:
        click.echo(difference)
    if len(differences) > _SHOWN:
        click.echo(f"and {len(differences) - _SHOWN} more")
    if differences:
        counted = f"{len(facts)} facts and {len(parts)} parts differ"
        raise click.ClickException(f"{counted}: run `flask analytics rebuild`")
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
@click.option("--json", "as_json", is_flag=True, help="Print what the API answers.")
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

    The engine's own answers are compared, whatever reviews have changed. Figures with under 20
    pairs are not shown; a kappa from 0.6 is called good.
    """
    end = utc_now()
    period = Period(end - timedelta(days=days), end, ZoneInfo("UTC"))
    with current_runtime().db.reading() as session:
        try:
            engagement_id = engagements.find(session, engagement).id if engagement else None
        except NotFound as error:
            raise click.ClickException(error.message) from error
        question = Question(
            period,
            engagement_id=engagement_id,
            campaign_id=campaign_id,
            scorecard_id=scorecard_id,
            channel=(channel,) if channel else (),
        )
        found = agreements.show(session, question)
    if as_json:
        click.echo(AnalyticsAgreementSchema().dumps(found))
        return
    for line in agreement_report.lines(found):
        click.echo(line)


@click.group("exports")
def exports() -> None:
    """Work on exports."""


@exports.command("run")
def run() -> None:
    """Work on the exports that are due, here and now, until none is left."""
    exporter.run_exports(current_runtime())
    click.echo("no export is due")
