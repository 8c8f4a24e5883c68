"""Command group `evaluations`: list, show, re-evaluate."""

import json
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click
from marshmallow import ValidationError

from app.core.clock import iso_utc
from app.core.database.paging import PageRequest
from app.core.errors import AppError, InvalidInput
from app.core.hosts import heartbeats
from app.core.runtime import Runtime
from app.evaluations import jobs, listing, results, service
from app.evaluations.enums import ENDED
from app.evaluations.judging import again, bulk
from app.evaluations.schemas import filters as filter_shapes
from app.evaluations.schemas.evaluations import EvaluationSchema
from app.evaluations.schemas.results import ResultsSchema
from app.web.current import current_runtime
from app.web.schemas.messages import details_of

_LOOK_AGAIN_S = 0.25
_SORTS = {
    "createdAt": "created_at",
    "completedAt": "completed_at",
    "score": "score",
    "confidence": "confidence",
    "durationSeconds": "duration_seconds",
}


@click.group("evaluations")
def evaluations() -> None:
    """List and show evaluations; evaluate conversations again."""


def _filters(_: object, __: object, given: tuple[str, ...]) -> dict[str, Any]:
    """Parse NAME=VALUE with the names of the API; a JSON value is parsed as JSON."""
    body: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or name in body:
            raise click.BadParameter(f"{pair!r} must be NAME=VALUE, with each name once")
        body[name] = _value(value)
    try:
        filters: dict[str, Any] = filter_shapes.CurrentFilters().load(body)
    except ValidationError as error:
        told = details_of({"filter": error.messages_dict})
        raise click.BadParameter(
            "; ".join(f"{e['field']}: {e['message']}" for e in told)
        ) from error
    return filters


_FILTERS = click.option(
    "--filter",
    "filters",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_filters,
    help="Of GET /evaluations, e.g. campaignId=camp_… or maxScore=50; repeat it for more.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the JSON of the API.")


@evaluations.command("list")
@_FILTERS
@click.option(
    "--sort",
    type=click.Choice([f"{sign}{name}" for name in _SORTS for sign in ("", "-")]),
    default="-createdAt",
    show_default=True,
    metavar="NAME",
    help=f"One of {', '.join(_SORTS)}; with a minus, the highest first.",
)
@click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True)
@_JSON
def list_(filters: dict[str, Any], sort: str, limit: int, *, as_json: bool) -> None:
    """List evaluations, the latest first."""
    request = PageRequest(page_size=limit, sort=_SORTS[sort.lstrip("-")])
    if sort.startswith("-"):
        request = replace(request, sort=f"-{request.sort}")
    with current_runtime().db.reading() as session:
        listed = listing.list_page(session, request, **filters)
        shown = EvaluationSchema(many=True).dump(listed.items)
    if as_json:
        _print_json(shown)
        return
    for each in shown:
        click.echo(_line(each))
    if listed.total_count > len(shown):
        click.echo(f"{len(shown)} of {listed.total_count}; --limit and --filter change the list")


@evaluations.command("show")
@click.argument("evaluation_id")
@_JSON
def show(evaluation_id: str, *, as_json: bool) -> None:
    """Show the results of one evaluation; --json prints all of them."""
    try:
        with current_runtime().db.reading() as session:
            evaluation = EvaluationSchema().dump(service.get(session, evaluation_id))
            found = results.results_of(session, service.find(session, evaluation_id))
            shown = ResultsSchema().dump(found)
    except AppError as error:
        raise click.ClickException(error.message) from error
    if as_json:
        _print_json(shown)
        return
    click.echo(_line(evaluation))
    if shown["noVerdictReason"]:
        click.echo(f"No verdict: {shown['noVerdictReason']}")
    if shown["summary"]:
        click.echo(shown["summary"]["overview"])
    for criterion in shown["criteria"]:
        if criterion["normalizedScore"] is not None:
            percent = round(criterion["normalizedScore"] * 100)
            click.echo(f"{percent:>4}  {criterion['title']}: {criterion['explanation']}")


def _line(evaluation: Mapping[str, Any]) -> str:
    score = "-" if evaluation["score"] is None else evaluation["score"]
    return (
        f"{evaluation['id']}  {evaluation['createdAt'][:16]}  {evaluation['status']:10}  {score:>3}  "
        f"{evaluation['band'] or '-':17}  {evaluation['channel']:9}  "
        f"{evaluation['executive'] or '-'}  {evaluation['externalId'] or ''}".rstrip()
    )


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, default=iso_utc, indent=2, ensure_ascii=False))


@evaluations.command("re-evaluate")
@click.argument("evaluation_id", required=False)
@_FILTERS
@click.option("--all", "everything", is_flag=True, help="Every current evaluation.")
@click.option("--scorecard", help="Id of the scorecard; the same one unless said.")
@click.option(
    "--scorecard-version", type=click.IntRange(min=1), help="The current one unless said."
)
@click.option("--dry-run", is_flag=True, help="Only count them.")
@click.option(
    "--wait", is_flag=True, help="Wait until they are judged; without a worker do it here."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def re_evaluate(
    evaluation_id: str | None,
    filters: dict[str, Any],
    scorecard: str | None,
    scorecard_version: int | None,
    *,
    everything: bool,
    dry_run: bool,
    wait: bool,
    as_json: bool,
) -> None:
    """Evaluate the same transcripts again: one evaluation, or all that match the filters.

    What was found stays current until the new revision is completed. Each completed one fires
    evaluation.completed.
    """
    if sum((evaluation_id is not None, bool(filters), everything)) != 1:
        raise click.UsageError("Give an evaluation id, filters, or --all.")
    if scorecard_version and not scorecard and evaluation_id is None:
        raise click.UsageError("--version requires --scorecard.")
    if evaluation_id is not None and dry_run:
        raise click.UsageError("--dry-run requires filters or --all.")
    by: dict[str, Any] = {"scorecard_id": scorecard, "scorecard_version": scorecard_version}
    try:
        if evaluation_id is not None:
            shown = _one(evaluation_id, by, wait=wait)
        else:
            with current_runtime().db.reading() as session:
                count = bulk.count(session, filters=filters, **by)
            shown = {"count": count} if dry_run else _many(count, filters, by, wait=wait)
    except AppError as error:
        raise click.ClickException(_sentence(error)) from error
    click.echo(json.dumps(shown) if as_json else _told(shown))


def _one(evaluation_id: str, by: dict[str, Any], *, wait: bool) -> dict[str, Any]:
    runtime = current_runtime()
    with runtime.db.writing() as session:
        opened = again.request(session, evaluation_id, **by)
    shown = {"id": opened.id, "revision": opened.revision, "status": opened.status, "score": None}
    while wait and shown["status"] not in ENDED:
        _work_here(runtime)
        with runtime.db.reading() as session:
            current = service.find(session, opened.id)
            shown |= {"status": current.status, "score": current.score}
        if shown["status"] not in ENDED:
            time.sleep(_LOOK_AGAIN_S)
    return shown


def _many(
    selected: int, filters: dict[str, Any], by: dict[str, Any], *, wait: bool
) -> dict[str, Any]:
    with current_runtime().db.writing() as session:
        started = bulk.start(session, selected=selected, filters=filters, **by)
    shown = _wait(current_runtime(), started) if wait else started
    return {name: shown[name] for name in ("id", "status", "count", "counts")}


def _wait(runtime: Runtime, started: dict[str, Any]) -> dict[str, Any]:
    worker = threading.Thread(target=_work_here, args=(runtime,), daemon=True)
    worker.start()
    visible = sys.stderr if sys.stderr.isatty() else None
    with click.progressbar(length=started["count"], file=visible, hidden=visible is None) as bar:
        while True:
            with runtime.db.reading() as session:
                shown = bulk.show(session, started["id"])
            counts = shown["counts"]
            bar.update(counts["selected"] - counts["queued"] - bar.pos)
            if shown["status"] in ENDED:
                worker.join()
                return shown
            if not worker.is_alive():
                worker = threading.Thread(target=_work_here, args=(runtime,), daemon=True)
                worker.start()
            time.sleep(_LOOK_AGAIN_S)


def _work_here(runtime: Runtime) -> None:
    if not heartbeats.is_running(runtime.db, heartbeats.WORKER):
        jobs.judge(runtime)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _sentence(error: AppError) -> str:
    if isinstance(error, InvalidInput) and error.details:
        return str(error.details[0]["message"])
    return error.message


def _told(shown: dict[str, Any]) -> str:
    if "revision" in shown:
        score = "" if shown["score"] is None else f", score {shown['score']}"
        return f"{shown['id']} is revision {shown['revision']}: {shown['status']}{score}"
    if "counts" not in shown:
        return f"{shown['count']} evaluations would be judged again"
    counts = ", ".join(f"{number} {name}" for name, number in shown["counts"].items())
    return f"{shown['id']} is {shown['status']}: {counts}"
