"""Commands over analytics: `flask analytics …`."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import click

from app.analytics import agreement as agreements
from app.analytics import agreement_report, exporter, folding, rebuilding, spans
from app.analytics.agreement_shapes import AnalyticsAgreementSchema
from app.analytics.periods import Period
from app.analytics.reading import Question
from app.core.clock import utc_now
from app.core.errors import NotFound
from app.engagements import service as engagements
from app.evaluations.enums import Channel
from app.web.current import current_runtime

_SHOWN = 20
# Progress is told every so many batches of facts, and every so many seconds of folding.
_TOLD, _FOLDING_S = 20, 10


@click.group("analytics")
def analytics() -> None:
    """Make the facts and sums of analytics anew, or hold them against the evaluations."""


@analytics.command("rebuild")
@click.option("--after", default="", metavar="ID", help="Go on after this evaluation.")
def rebuild(after: str) -> None:
    """Make every fact and every sum anew from the evaluations; safe while the service runs.

    What is done stays done when it is stopped: go on with the id that was printed last.
    """
    db, reached, number = current_runtime().db, after, 0
    with db.writing() as session:
        spans.mark_all_stale(session)
    while True:
        with db.writing() as session:
            next_id = rebuilding.rebuild_after(session, reached)
        if next_id is None:
            break
        reached, number = next_id, number + 1
        if number % _TOLD == 0:
            click.echo(f"facts: {number * rebuilding.BATCH:,} evaluations, to {reached}")
    with db.writing() as session:
        dropped = rebuilding.drop_stale(session)
    click.echo(f"facts: rebuilt; {dropped} stale ones removed")
    folded = 0
    while more := folding.fold(db, within_s=_FOLDING_S):
        folded += more
        click.echo(f"sums: {folded:,} spans of time")
    click.echo("rebuilt")


@analytics.command("check")
def check() -> None:
    """Compare facts with evaluations, and sums with facts; exit code 1 when anything differs."""
    with current_runtime().db.reading() as session:
        wrong_facts = list(rebuilding.differences(session))
        wrong_spans = list(rebuilding.span_differences(session))
    found = wrong_facts + wrong_spans
    for each in found[:_SHOWN]:
        click.echo(each)
    if len(found) > _SHOWN:
        click.echo(f"and {len(found) - _SHOWN} more")
    if found:
        told = f"{len(wrong_facts)} facts and {len(wrong_spans)} spans of time differ"
        raise click.ClickException(f"{told}: run `flask analytics rebuild`")
    click.echo("every fact agrees with its evaluation, and every sum with its facts")


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
