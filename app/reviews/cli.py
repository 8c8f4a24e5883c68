"""Command `agreement`, and command group `calibrate`."""

from pathlib import Path

import click
from sqlalchemy.orm import Session

from app.analytics.engine.selection import Period, Selection
from app.core.commands import errors_as_messages, print_json
from app.engagements import service as engagements
from app.evaluations.enums import Channel
from app.reviews import service
from app.reviews.agreement.bootstrap import Estimate
from app.reviews.calibration import labels, profiles
from app.reviews.calibration.labels import Labelled
from app.reviews.calibration.score_model import LEAST_LABELS, Gain
from app.reviews.schemas.agreement import AnalyticsAgreementSchema
from app.web.current import current_runtime

_engagement = click.option("--engagement", metavar="ID|NAME", required=True, help="The engagement.")


@click.command("agreement")
@click.option("--engagement", metavar="ID|NAME", help="Only evaluations of this engagement.")
@click.option("--campaign", "campaign_id", metavar="ID", help="Only evaluations of this campaign.")
@click.option("--scorecard", "scorecard_id", metavar="ID", help="Only those of this scorecard.")
@click.option("--channel", type=click.Choice(list(Channel)), help="Only those of this channel.")
@click.option(
    "--days", default=400, type=click.IntRange(1, 400), show_default=True, help="Days up to now."
)
@errors_as_messages()
def agreement(
    engagement: str | None,
    campaign_id: str | None,
    scorecard_id: str | None,
    channel: str | None,
    days: int,
) -> None:
    """Print how well the judge agrees with people's reviews, and people with each other.

    It is the JSON of GET /analytics/agreement. The judge's original answers are compared, before any
    override; statistics of fewer than 20 pairs are null.
    """
    with current_runtime().db.reading() as session:
        selection = Selection(
            Period.of_last_days(days),
            engagement_id=engagements.find(session, engagement).id if engagement else None,
            campaign_id=campaign_id,
            scorecard_id=scorecard_id,
            channel=(channel,) if channel else (),
        )
        agreement_data = service.agreement(session, selection)
    print_json(AnalyticsAgreementSchema().dump(agreement_data))


@click.group("calibrate", invoke_without_command=True)
@click.option("--engagement", metavar="ID|NAME", help="The engagement to calibrate.")
@click.option(
    "--labels",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON lines or CSV with externalId or evaluationId, and score (0 to 100). Default: reviews.",
)
@click.option("--dry-run", is_flag=True, help="Show the gain and store nothing.")
@click.option("--keep-inactive", is_flag=True, help="Store the profile without activating it.")
@click.pass_context
def calibrate(
    context: click.Context,
    engagement: str | None,
    file: Path | None,
    *,
    dry_run: bool,
    keep_inactive: bool,
) -> None:
    """Calibrate the scores of an engagement to the scores that people gave.

    Labels are the overall scores of reviews, or come from a file; at least 30 are needed. The gain
    is measured on conversations that took no part in the fit. The profile is stored as a new
    version, and activated if it agrees better with people. From then on it sets the score of new
    evaluations of the engagement; finished evaluations stay as they are.
    """
    if context.invoked_subcommand is not None:
        return
    if engagement is None:
        raise click.UsageError("Missing option '--engagement'.")
    with errors_as_messages(), current_runtime().db.reading() as session:
        engagement_id = engagements.find(session, engagement).id
        labelled = _labelled(session, engagement_id, file)
    _print_labels(labelled)
    if len(labelled.samples) < LEAST_LABELS:
        raise click.ClickException(
            f"{len(labelled.samples)} labels can be used, but {LEAST_LABELS} are needed."
        )
    from app.reviews.calibration import fitting  # noqa: PLC0415 - numpy would slow every other command

    gain = fitting.cross_validated(labelled.samples)
    _print_gain(gain)
    if dry_run:
        return
    model = fitting.fit(labelled.samples)
    with current_runtime().db.writing() as session:
        profile = profiles.add_profile(
            session,
            engagement_id,
            model=model,
            gain=gain,
            engine=labelled.engine,
            label_source="file" if file else "reviews",
            label_count=len(labelled.samples),
        )
        activated = not keep_inactive and _agrees_better(gain)
        if activated:
            profiles.activate(session, engagement_id, profile.version)
    state = "active" if activated else "not active"
    click.echo(f"Stored version {profile.version} ({profile.id}), {state}.")
    if not activated and not keep_inactive:
        click.echo(
            "It does not agree better with people; `calibrate activate` activates it anyway."
        )


@calibrate.command("activate")
@_engagement
@click.argument("version", type=click.IntRange(1))
def activate(engagement: str, version: int) -> None:
    """Calibrate new evaluations of an engagement by this VERSION."""
    with errors_as_messages(), current_runtime().db.writing() as session:
        profiles.activate(session, engagements.find(session, engagement).id, version)
    click.echo(f"Version {version} is active.")


@calibrate.command("deactivate")
@_engagement
def deactivate(engagement: str) -> None:
    """Stop calibrating new evaluations of an engagement."""
    with errors_as_messages(), current_runtime().db.writing() as session:
        profiles.deactivate(session, engagements.find(session, engagement).id)
    click.echo("No version is active.")


def _labelled(session: Session, engagement_id: str, file: Path | None) -> Labelled:
    if file is None:
        own_labels = labels.from_reviews(session, engagement_id)
    else:
        try:
            own_labels = labels.from_file(file.read_text("utf-8"))
        except ValueError as error:
            raise click.ClickException(f"{file}: {error}") from error
    return labels.labelled(session, own_labels, engagement_id)


def _print_labels(labelled: Labelled) -> None:
    click.echo(f"Labelled conversations: {len(labelled.samples)}")
    for reason, count in (
        ("no completed evaluation of the engagement", labelled.unknown),
        ("language not supported", labelled.unread),
        ("judged by another engine", labelled.of_other_engines),
    ):
        if count:
            click.echo(f"Labels left out, {reason}: {count}")


def _print_gain(gain: Gain) -> None:
    click.echo("Cross-validated agreement with people, [95 % interval]:")
    click.echo(f"  {'':10} {'before':>26} {'after':>26} {'change':>26}")
    for name in ("spearman", "mae", "bias"):
        sides = (gain.before[name], gain.after[name], gain.change.get(name))
        click.echo(f"  {name:10}" + "".join(f" {_formatted(side):>26}" for side in sides))


def _formatted(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _agrees_better(gain: Gain) -> bool:
    change = gain.change["mae"]
    return change is not None and change.value < 0
