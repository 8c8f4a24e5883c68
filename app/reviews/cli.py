"""Commands over calibration: `flask calibrate …`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from sqlalchemy.orm import Session

from app.agreement.bootstrap import Estimate
from app.calibration import service
from app.calibration.fitting import LEAST_LABELS, Gain, cross_validated, fit
from app.core.errors import AppError
from app.engagements import service as engagements
from app.reviews import labels
from app.reviews.labels import Labelled
from app.web.current import current_runtime

_engagement = click.option(
    "--engagement", metavar="ID|NAME", required=True, help="The engagement that is meant."
)


@click.group("calibrate", invoke_without_command=True)
@click.option("--engagement", metavar="ID|NAME", help="The engagement to calibrate.")
@click.option(
    "--labels",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON lines or CSV with externalId or evaluationId, and score (0 to 100).",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be gained.")
@click.option("--keep-inactive", is_flag=True, help="Keep the profile, but don't switch it on.")
@click.pass_context
def calibrate(
    context: click.Context,
    engagement: str | None,
    file: Path | None,
    *,
    dry_run: bool,
    keep_inactive: bool,
) -> None:
    """Learn from people's scores what the judge's scores of an engagement ought to be.

    Labels are the overall scores of reviews, or come from a file; at least 30 are needed. What is
    gained is measured on conversations that took no part in the fit. A new version is kept, and
    switched on when it comes closer to people; from then on it makes the score of new judgements
    of the engagement. What is judged already stays.
    """
    if context.invoked_subcommand is not None:
        return
    if engagement is None:
        raise click.UsageError("--engagement is needed.")
    with _plainly(), current_runtime().db.reading() as session:
        engagement_id = engagements.find(session, engagement).id
        found = _labelled(session, engagement_id, file)
    _tell_labels(found)
    if len(found.samples) < LEAST_LABELS:
        raise click.ClickException(
            f"{len(found.samples)} labels can be used; calibrating takes {LEAST_LABELS}"
        )
    gain = cross_validated(found.samples)
    _tell_gain(gain)
    if dry_run:
        return
    model = fit(found.samples)
    with current_runtime().db.writing() as session:
        profile = service.keep(
            session,
            engagement_id,
            model=model,
            gain=gain,
            engine=found.engine,
            label_source="file" if file else "reviews",
            label_count=len(found.samples),
        )
        switched_on = not keep_inactive and _is_closer(gain)
        if switched_on:
            service.activate(session, engagement_id, profile.version)
    state = "active" if switched_on else "not active"
    click.echo(f"version {profile.version} is kept ({profile.id}), {state}")
    if not switched_on and not keep_inactive:
        click.echo("it comes no closer to people; `calibrate activate` switches it on all the same")


@calibrate.command("activate")
@_engagement
@click.argument("version", type=click.IntRange(1))
def activate(engagement: str, version: int) -> None:
    """Calibrate new judgements of an engagement by this VERSION."""
    with _plainly(), current_runtime().db.writing() as session:
        service.activate(session, engagements.find(session, engagement).id, version)
    click.echo(f"version {version} is active")


@calibrate.command("deactivate")
@_engagement
def deactivate(engagement: str) -> None:
    """Calibrate new judgements of an engagement no more."""
    with _plainly(), current_runtime().db.writing() as session:
        service.deactivate(session, engagements.find(session, engagement).id)
    click.echo("no version is active")


@calibrate.command("rollback")
@_engagement
def rollback(engagement: str) -> None:
    """Go back to the version before the active one, or to none."""
    with _plainly(), current_runtime().db.writing() as session:
        version = service.roll_back(session, engagements.find(session, engagement).id)
    click.echo("no version is active" if version is None else f"version {version} is active")


@contextmanager
def _plainly() -> Iterator[None]:
    """Say what cannot be done, without a traceback."""
    try:
        yield
    except AppError as error:
        raise click.ClickException(error.message) from error


def _labelled(session: Session, engagement_id: str, file: Path | None) -> Labelled:
    if file is None:
        given = labels.from_reviews(session, engagement_id)
    else:
        try:
            given = labels.from_file(file.read_text("utf-8"))
        except ValueError as error:
            raise click.ClickException(f"{file}: {error}") from error
    return labels.labelled(session, given, engagement_id)


def _tell_labels(found: Labelled) -> None:
    click.echo(f"{len(found.samples)} labelled conversations")
    for count, reason in (
        (found.unknown, "labels name no completed evaluation of the engagement"),
        (found.unread, "are of conversations whose words are not read"),
        (found.of_other_engines, "are of judgements of another engine"),
    ):
        if count:
            click.echo(f"{count} {reason}")


def _tell_gain(gain: Gain) -> None:
    click.echo("cross-validated agreement with people, [..] is 95 %:")
    click.echo(f"  {'':10} {'before':>26} {'after':>26} {'change':>26}")
    for name in ("spearman", "mae", "bias"):
        sides = (gain.before[name], gain.after[name], gain.change.get(name))
        click.echo(f"  {name:10}" + "".join(f" {_shown(each):>26}" for each in sides))


def _shown(found: Estimate | None) -> str:
    if found is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _is_closer(gain: Gain) -> bool:
    change = gain.change["mae"]
    return change is not None and change.value < 0
