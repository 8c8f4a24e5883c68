"""Commands `agreement` and `examples`, and command group `calibrate`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import orjson
from sqlalchemy.orm import Session

from app.analytics.engine.selection import Period, Selection
from app.core.commands import errors_as_messages
from app.engagements import service as engagements
from app.evaluations.enums import Channel
from app.reviews import examples, service
from app.reviews.agreement.bootstrap import Estimate
from app.reviews.calibration import labels, profiles
from app.reviews.calibration.labels import Labelled
from app.reviews.calibration.score_model import LEAST_LABELS, Gain
from app.reviews.schemas.agreement import AnalyticsAgreementSchema
from app.web.current import current_runtime

_BAR_WIDTH = 20
# A kappa of 0.6 or more is marked as good (docs/reviews.md).
_GOOD_KAPPA = 0.6
_NUMBER_STATISTICS = (
    ("mean distance", "mae"),
    ("bias (AI - human)", "bias"),
    ("within 5 points", "share_within5"),
    ("Pearson", "pearson"),
    ("Spearman", "spearman"),
)
_engagement = click.option("--engagement", metavar="ID|NAME", required=True, help="The engagement.")


@click.command("examples")
@_engagement
@errors_as_messages()
def examples_of(engagement: str) -> None:
    """Print what overrides have taught of an engagement, a JSON object for each line and act."""
    with current_runtime().db.reading() as session:
        for line in examples.exported(session, engagements.find(session, engagement).id):
            click.echo(orjson.dumps(line).decode())


@click.command("agreement")
@click.option("--engagement", metavar="ID|NAME", help="Only evaluations of this engagement.")
@click.option("--campaign", "campaign_id", metavar="ID", help="Only evaluations of this campaign.")
@click.option("--scorecard", "scorecard_id", metavar="ID", help="Only those of this scorecard.")
@click.option("--channel", type=click.Choice(list(Channel)), help="Only those of this channel.")
@click.option("--days", default=400, type=click.IntRange(1, 400), show_default=True, help="Period.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON of the API.")
@errors_as_messages()
def agreement(
    engagement: str | None,
    campaign_id: str | None,
    scorecard_id: str | None,
    channel: str | None,
    days: int,
    *,
    as_json: bool,
) -> None:
    """Show how well the judge agrees with people's reviews, and people with each other.

    The judge's original answers are compared, before any override. Statistics of fewer than 20
    pairs are not shown; a kappa of 0.6 or more is marked as good.
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
    if as_json:
        click.echo(AnalyticsAgreementSchema().dumps(agreement_data))
        return
    for line in _agreement_lines(agreement_data):
        click.echo(line)


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


def _agreement_lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"{report['evaluations']} reviewed evaluations, {report['reviewers']} reviewers"
    yield f"statistics of fewer than {report['least_pairs']} pairs are not shown; [..] is 95 %"
    yield ""
    yield f"{'criterion':34} {'pairs':>5}  {'agree':>6}  kappa  {'0':<{_BAR_WIDTH - 1}}1"
    for criterion in report["criteria"]:
        yield _category_line(criterion["key"], criterion)
    yield _category_line("resolution", report["resolution"])
    yield ""
    yield from _number_lines("score", report["score"])
    yield from _number_lines("satisfaction", report["satisfaction"])
    with_confusion = [
        criterion for criterion in report["criteria"] if criterion["confusion"] is not None
    ]
    if with_confusion:
        yield ""
        yield "confusion: one row for each human answer, one column for each answer of the judge"
    for criterion in with_confusion:
        yield from _confusion_lines(criterion)


def _category_line(name: str, statistics: Mapping[str, Any]) -> str:
    line = f"{name[:34]:34} {statistics['pairs']:>5}"
    kappa = statistics["kappa"] or statistics["weighted_kappa"]
    agreement = statistics["percent_agreement"]
    if agreement is None:
        return f"{line}  {_reason(statistics)}"
    line = f"{line}  {agreement['value']:5.1f}%"
    if kappa is None:
        return f"{line}  {_reason(statistics)}"
    mark = "good" if kappa["value"] >= _GOOD_KAPPA else ""
    people = statistics["human_human"]
    human_kappa = people["kappa"] or people["weighted_kappa"]
    humans = f"  humans {human_kappa['value']:.2f}" if human_kappa else ""
    return f"{line}  {kappa['value']:5.2f}  {_bar(kappa)} {mark}{humans}".rstrip()


def _bar(estimate: Mapping[str, float | None]) -> str:
    """Draw a value from 0 to 1 as a bar, and its interval as a line across the end of the bar."""
    value, low, high = (_place(estimate[name]) for name in ("value", "low", "high"))
    cells = ["█" if place < value else " " for place in range(_BAR_WIDTH)]
    if estimate["low"] is not None and estimate["high"] is not None:
        for place in range(low, min(high + 1, _BAR_WIDTH)):
            cells[place] = "▓" if place < value else "─"
    return f"|{''.join(cells)}|"


def _place(value: float | None) -> int:
    return round(_BAR_WIDTH * min(1.0, max(0.0, value or 0.0)))


def _number_lines(name: str, statistics: Mapping[str, Any]) -> Iterator[str]:
    yield f"{name}: {statistics['pairs']} pairs"
    shown = [(title, key) for title, key in _NUMBER_STATISTICS if statistics.get(key) is not None]
    for title, key in shown:
        human = statistics["human_human"].get(key)
        humans = f"   humans {_interval(human)}" if human else ""
        yield f"  {title:20} {_interval(statistics[key])}{humans}"
    alpha = statistics["human_human"]["alpha"]
    if alpha is not None:
        yield f"  {'Krippendorff alpha':20} humans {_interval(alpha)}"
    if not shown:
        yield f"  {_reason(statistics)}"


def _interval(estimate: Mapping[str, Any]) -> str:
    value = f"{estimate['value']:7.3f}"
    if estimate["low"] is None:
        return value
    return f"{value} [{estimate['low']:.3f}, {estimate['high']:.3f}]"


def _reason(statistics: Mapping[str, Any]) -> str:
    return str(statistics["missing"][0]["reason"])


def _confusion_lines(criterion: Mapping[str, Any]) -> Iterator[str]:
    confusion = criterion["confusion"]
    yield f"  {criterion['key']}"
    yield f"    {'':>8}" + "".join(f"{category:>7g}" for category in confusion["categories"])
    for category, counts in zip(confusion["categories"], confusion["counts"], strict=True):
        yield f"    {category:>8g}" + "".join(f"{count:>7}" for count in counts)
    for title, key in (
        ("yes agreed", "true_positive_rate"),
        ("no agreed", "true_negative_rate"),
    ):
        rate = criterion[key]
        if rate is not None:
            yield f"    {title:16} {_interval(rate)} of {rate['count']}"
