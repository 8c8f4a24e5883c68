"""Command groups `analytics`, `exports` and `executives`, and the command `agreement`."""

import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from app.analytics import jobs
from app.analytics.agreement import show as agreement_of
from app.analytics.engine import parts, rebuilding
from app.analytics.engine.database import FactDatabase, fact_database
from app.analytics.engine.reader import open_facts
from app.analytics.engine.selection import Period, Selection
from app.analytics.enums import Dataset, Format
from app.analytics.exports import service
from app.analytics.exports.request import request_from_body
from app.analytics.exports.writers import TooManyRows
from app.analytics.jobs import TOO_MANY_ROWS
from app.analytics.reports import leaderboards
from app.analytics.schemas.agreement import AnalyticsAgreementSchema
from app.analytics.schemas.exports import ExportCreate, ExportFilters
from app.analytics.schemas.reports import AnalyticsExecutiveSchema
from app.core import commands
from app.core.clock import utc_now
from app.core.commands import COMMAND, errors_as_messages
from app.core.database.paging import PageRequest
from app.core.database.session import Database
from app.core.process import stopping
from app.engagements import service as engagements
from app.evaluations.enums import Channel
from app.web.current import current_runtime
from app.web.schemas.base import load_valid, text_fields

_MAX_SHOWN = 20
# Progress is printed every so many batches of facts.
_PROGRESS_EVERY = 20
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
        months = [part.month for part in parts.registered(session, database.folder)]
    click.echo(f"facts: rebuilt; {deleted} stale ones deleted")
    for month in reversed(months):
        with db.writing() as session:
            parts.discard(session, month)
        _write_parts(db, database)
        click.echo(f"parts: {month}")
    _write_parts(db, database)
    click.echo("rebuilt")


@analytics.command("check")
def check() -> None:
    """Compare facts with evaluations, and parts with facts; exit code 1 when anything differs."""
    db, database = current_runtime().db, fact_database(current_runtime().settings)
    parts.fetch_missing(db, database)
    with db.reading() as session:
        wrong_facts = list(rebuilding.fact_differences(session))
        wrong_parts = list(rebuilding.part_differences(session, database))
    differences = wrong_facts + wrong_parts
    for difference in differences[:_MAX_SHOWN]:
        click.echo(difference)
    if len(differences) > _MAX_SHOWN:
        click.echo(f"and {len(differences) - _MAX_SHOWN} more")
    if differences:
        counted = f"{len(wrong_facts)} facts and {len(wrong_parts)} parts differ"
        raise click.ClickException(f"{counted}: run `{COMMAND} analytics rebuild`")
    click.echo("every fact agrees with its evaluation, and every part with its facts")


def _write_parts(db: Database, database: FactDatabase) -> None:
    while parts.write_pending(db, database, limit=parts.REBUILD_BATCH):
        pass


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
            _last_days(days),
            engagement_id=engagements.find(session, engagement).id if engagement else None,
            campaign_id=campaign_id,
            scorecard_id=scorecard_id,
            channel=(channel,) if channel else (),
        )
        agreement_data = agreement_of(session, selection)
    if as_json:
        click.echo(AnalyticsAgreementSchema().dumps(agreement_data))
        return
    for line in _agreement_lines(agreement_data):
        click.echo(line)


@click.group("exports")
def exports() -> None:
    """Export a dataset, or run the exports that are due."""


@exports.command("create")
@click.argument("dataset", type=click.Choice([str(dataset) for dataset in Dataset]))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--from", "start", metavar="DATE", help="The first day or time.")
@click.option("--to", "end", metavar="DATE", help="The day or time after the last.")
@click.option("--timezone", default="UTC", show_default=True, help="Zone of days and times.")
@click.option("--columns", help="Names of columns, separated by commas. Default: all.")
@click.option(
    "--filter",
    "filters",
    metavar="NAME=VALUE",
    multiple=True,
    callback=lambda _, __, pairs: commands.filters_of(pairs, texts=text_fields(ExportFilters())),
    help="A filter of the API, such as maxScore=50; may be repeated.",
)
@click.option("--include-text", is_flag=True, help="Include words of the conversations.")
@errors_as_messages()
def create(dataset: str, file: Path, *, filters: dict[str, Any], **options: Any) -> None:
    """Write the rows of DATASET into FILE, whose ending names the format.

    Formats are csv, json, jsonl, xlsx and parquet. An existing file is replaced.
    """
    ending = file.suffix.removeprefix(".")
    if ending not in list(Format):
        endings = ", ".join(f".{format_}" for format_ in Format)
        raise click.BadParameter(f"its ending must be one of {endings}.", param_hint="FILE")
    body = {
        "dataset": dataset,
        "format": ending,
        "from": options["start"],
        "to": options["end"],
        "timezone": options["timezone"],
        "columns": options["columns"] and options["columns"].split(","),
        "filters": filters,
        "includeText": options["include_text"],
    }
    body = {name: value for name, value in body.items() if value is not None}
    loaded = load_valid(ExportCreate(), body, location="body")
    request = service.complete(request_from_body(loaded))
    try:
        with click.progressbar(length=100, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
            rows = jobs.write_file(
                current_runtime(), request, file, lambda percent: bar.update(percent - bar.pos)
            )
    except TooManyRows as error:
        raise click.ClickException(TOO_MANY_ROWS) from error
    except OSError as error:
        raise click.ClickException(f"{file} cannot be written: {error.strerror}") from error
    click.echo(f"{file}: {rows} rows")


@exports.command("run")
def run() -> None:
    """Run the exports that are due in this process, until none is left."""
    with stopping.on_interrupt():
        jobs.run_export(current_runtime())
    click.echo("No export is due.")


@click.group("executives")
def executives() -> None:
    """Compare agents and bots."""


@executives.command("list")
@click.option("--days", default=30, type=click.IntRange(1, 400), show_default=True, help="Period.")
@click.option("--min-evaluations", default=1, type=click.IntRange(1), show_default=True)
@click.option("--limit", default=25, type=click.IntRange(1, 100), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the JSON of the API.")
def list_executives(days: int, min_evaluations: int, limit: int, *, as_json: bool) -> None:
    """List agents and bots with their scores, people and bots ranked apart."""
    selection = Selection(_last_days(days))
    with open_facts(current_runtime()) as facts:
        listed = leaderboards.executives(
            facts,
            selection,
            PageRequest(page_size=limit, sort="rank"),
            min_evaluations=min_evaluations,
            compare=False,
        ).items
    schema = AnalyticsExecutiveSchema(many=True)
    if as_json:
        click.echo(schema.dumps(listed, indent=2, ensure_ascii=False))
        return
    click.echo(f"{'rank':>4}  {'kind':6}  {'score':>6}  {'passed':>6}  {'evaluations':>11}  name")
    for row in schema.dump(listed):
        click.echo(
            f"{_shown(row['rank']):>4}  {row['kind'] or '-':6}  {_shown(row['meanScore']):>6}  "
            f"{_percent(row['passRate']):>6}  {row['evaluations']:>11}  {row['name'] or '-'}"
        )


def _last_days(days: int) -> Period:
    end = utc_now()
    return Period(end - timedelta(days=days), end, ZoneInfo("UTC"))


def _shown(value: float | None) -> str:
    return "-" if value is None else str(value)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _agreement_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a report of `agreement.show`."""
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
