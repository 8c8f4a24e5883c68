"""Command group `evaluations`: list, show, re-evaluate."""

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import click
from sqlalchemy.orm import Session

from app.core import commands, hosts
from app.core.commands import errors_as_messages, message_of, print_json, print_line
from app.core.database.paging import PageRequest
from app.core.errors import InvalidInput, ServiceUnavailable
from app.core.process import stopping
from app.core.runtime import Runtime
from app.evaluations import jobs, listing, results, service
from app.evaluations.enums import ENDED
from app.evaluations.judging import bulk, judgements
from app.evaluations.schemas.evaluations import CurrentFilters, EvaluationSchema
from app.evaluations.schemas.results import ResultsSchema
from app.web.current import current_runtime
from app.web.schemas.base import load_valid, text_fields

_POLL_S = 0.25
_SORTS = {
    "conversationAt": "conversation_at",
    "createdAt": "created_at",
    "completedAt": "completed_at",
    "score": "score",
    "confidence": "confidence",
    "durationSeconds": "duration_seconds",
}


@click.group("evaluations")
def evaluations() -> None:
    """List and show evaluations; evaluate conversations again."""


def _filters(_: object, __: object, pairs: tuple[str, ...]) -> dict[str, Any]:
    """Parse and validate NAME=VALUE with the names of the API."""
    try:
        schema = CurrentFilters()
        values = commands.filters_of(pairs, texts=text_fields(schema))
        return load_valid(schema, values, location="filter")
    except InvalidInput as error:
        raise click.BadParameter(message_of(error)) from error


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
    default="-conversationAt",
    show_default=True,
    metavar="NAME",
    help=f"One of {', '.join(_SORTS)}; with a minus, the highest first.",
)
@click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True)
@_JSON
def list_(filters: dict[str, Any], sort: str, limit: int, *, as_json: bool) -> None:
    """List evaluations, the latest first."""
    name = sort.lstrip("-")
    request = PageRequest(page_size=limit, sort=sort.replace(name, _SORTS[name]))
    with current_runtime().db.reading() as session:
        listed = listing.list_page(session, request, **filters)
        shown = EvaluationSchema(many=True).dump(listed.items)
    if as_json:
        print_json(shown)
        return
    for evaluation in shown:
        click.echo(_line(evaluation))
    if listed.total_count > len(shown):
        click.echo(f"{len(shown)} of {listed.total_count}; --limit and --filter change the list")


@evaluations.command("show")
@click.argument("evaluation_id")
@_JSON
@errors_as_messages()
def show(evaluation_id: str, *, as_json: bool) -> None:
    """Show the results of one evaluation; --json prints all of them."""
    with current_runtime().db.reading() as session:
        evaluation = EvaluationSchema().dump(service.get(session, evaluation_id))
        document = results.results_of(session, service.find(session, evaluation_id))
        shown = ResultsSchema().dump(document)
    if as_json:
        print_json(shown)
        return
    click.echo(_line(evaluation))
    if evaluation["error"]:
        print_line(f"Failed: {evaluation['error']['message']}")
    if shown["noVerdictReason"]:
        print_line(f"No verdict: {shown['noVerdictReason']}")
    if shown["summary"]:
        print_line(shown["summary"]["overview"] or "")
    for criterion in shown["criteria"]:
        if criterion["normalizedScore"] is not None:
            percent = round(criterion["normalizedScore"] * 100)
            print_line(f"{percent:>4}  {criterion['title']}: {criterion['explanation']}")


def _line(evaluation: Mapping[str, Any]) -> str:
    score = "-" if evaluation["score"] is None else evaluation["score"]
    return (
        f"{evaluation['id']}  {evaluation['conversationAt'][:16]}  {evaluation['status']:10}  {score:>3}  "
        f"{evaluation['band'] or '-':17}  {evaluation['channel']:9}  "
        f"{evaluation['executive'] or '-'}  {evaluation['externalId'] or ''}".rstrip()
    )


@evaluations.command("re-evaluate")
@click.argument("evaluation_id", required=False)
@_FILTERS
@click.option("--all", "everything", is_flag=True, help="Every current evaluation.")
@click.option("--scorecard", help="Id of the scorecard; by default the same one.")
@click.option("--scorecard-version", type=click.IntRange(min=1), help="By default the current one.")
@click.option("--dry-run", is_flag=True, help="Only count them.")
@click.option(
    "--wait", is_flag=True, help="Wait until they are judged; without a worker do it here."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@errors_as_messages()
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

    The old results stay current until the new revision is completed, which publishes the event
    evaluation.completed.
    """
    if sum((evaluation_id is not None, bool(filters), everything)) != 1:
        raise click.UsageError("Give an evaluation id, filters, or --all.")
    if scorecard_version and not scorecard and evaluation_id is None:
        raise click.UsageError("--scorecard-version requires --scorecard.")
    if evaluation_id is not None and dry_run:
        raise click.UsageError("--dry-run requires filters or --all.")
    version: dict[str, Any] = {"scorecard_id": scorecard, "scorecard_version": scorecard_version}
    if evaluation_id is not None:
        shown = _request_one(evaluation_id, version, wait=wait)
    else:
        with current_runtime().db.reading() as session:
            count = bulk.count(session, filters=filters, **version)
        shown = {"count": count} if dry_run else _request_many(count, filters, version, wait=wait)
    click.echo(json.dumps(shown) if as_json else _summary(shown))


def _request_one(evaluation_id: str, version: dict[str, Any], *, wait: bool) -> dict[str, Any]:
    def show(session: Session) -> dict[str, Any]:
        evaluation = service.get(session, opened_id)
        return {name: evaluation[name] for name in ("id", "revision", "status", "score", "error")}

    with current_runtime().db.writing() as session:
        opened_id = judgements.request_again(session, evaluation_id, **version).id
        shown = show(session)
    return _wait(show) if wait else shown


def _request_many(
    selected: int, filters: dict[str, Any], version: dict[str, Any], *, wait: bool
) -> dict[str, Any]:
    with current_runtime().db.writing() as session:
        started = bulk.start(session, selected=selected, filters=filters, **version)
    hidden = not sys.stderr.isatty()
    with click.progressbar(length=started["count"], file=sys.stderr, hidden=hidden) as bar:

        def show(session: Session) -> dict[str, Any]:
            progress = bulk.show(session, started["id"])
            counts = progress["counts"]
            bar.update(counts["selected"] - counts["queued"] - bar.pos)
            return progress

        shown = _wait(show) if wait else started
    return {name: shown[name] for name in ("id", "status", "count", "counts")}


def _wait(show: Callable[[Session], dict[str, Any]]) -> dict[str, Any]:
    """Show the progress to its end; Ctrl-C releases the judgements of this process first."""
    runtime, judging = current_runtime(), threading.Thread()
    errors: list[Exception] = []
    with stopping.on_interrupt():
        while True:
            with runtime.db.reading() as session:
                shown = show(session)
            if shown["status"] in ENDED or stopping.requested():
                break
            if not judging.is_alive():
                judging = threading.Thread(
                    target=_judge_without_worker, args=(runtime, errors), daemon=True
                )
                judging.start()
            time.sleep(_POLL_S)
            if errors:
                raise errors[0]
        if stopping.requested() and judging.is_alive():
            judging.join()
    return shown


def _judge_without_worker(runtime: Runtime, errors: list[Exception]) -> None:
    """Judge what is due here, unless a worker runs."""
    try:
        if not hosts.is_running(runtime.db, hosts.WORKER):
            jobs.judge(runtime)
    except ServiceUnavailable:
        return  # It is tried again, until the caller has seen the end.
    except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
        errors.append(error)


def _summary(shown: dict[str, Any]) -> str:
    if "revision" in shown:
        score = "" if shown["score"] is None else f", score {shown['score']}"
        reason = f": {shown['error']['message']}" if shown["error"] else ""
        return f"{shown['id']} is revision {shown['revision']}: {shown['status']}{score}{reason}"
    if "counts" not in shown:
        return f"evaluations that would be judged again: {shown['count']}"
    counts = ", ".join(f"{number} {name}" for name, number in shown["counts"].items())
    return f"{shown['id']} is {shown['status']}: {counts}"
