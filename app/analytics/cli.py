"""Commands over analytics: `flask analytics …`."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import click

from app.analytics import agreement as agreements
from app.analytics import agreement_report, exporter, rebuilding
from app.analytics.agreement_shapes import AnalyticsAgreementSchema
from app.analytics.periods import Period
from app.analytics.reading import Question
from app.core.clock import utc_now
from app.core.errors import NotFound
from app.core.runtime import runtime
from app.engagements import service as engagements
from app.evaluations.vocabulary import Channel

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
    with runtime().db.reading() as session:
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
    exporter.work(runtime())
    click.echo("no export is due")
