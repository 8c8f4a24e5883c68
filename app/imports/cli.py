"""Command `import FILE|DIR|-`."""

import json
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import click
from marshmallow import ValidationError
from marshmallow.fields import Field
from sqlalchemy import RowMapping

from app.conversations.enums import PLATFORMS
from app.core.commands import errors_as_messages, print_line, printable
from app.core.process import background
from app.core.runtime import Runtime
from app.core.storage.untrusted import UntrustedFolder
from app.evaluations.enums import DIRECTIONS, Channel, Status
from app.imports import files, kept_presets, request_parsing, service
from app.imports.call_records import CallRecords, calls_of
from app.imports.file_import import FileImport, Progress
from app.imports.files import AUTO, STDIN, FolderWatch, ImportFile, UnknownFormat
from app.imports.formats.catalogue import FORMATS
from app.imports.formats.file_names import SYSTEMS, NamePattern
from app.imports.formats.presets import PRESETS
from app.imports.formats.records import ROLES, Fault, Unreadable
from app.imports.interactive import ask
from app.imports.loading.input import ON_CONFLICT, ImportOptions
from app.imports.loading.load import ImportCounts, RecordOutcome
from app.imports.recordings import RecordingMetadata
from app.imports.schemas.requests import ImportCountsSchema, ImportErrorSchema
from app.web.current import current_runtime
from app.web.schemas.fields import LanguageTag, Zone

_POLL_S = 0.25
_WATCH_S = 1.0
_MOST_NAMES = 20
_MAPPING = (
    'Name the field of a column with --map "Body=text", leave one out with --map "Queue=ignore", or '
    "drop the file on the page Add of the dashboard, which shows what each column holds."
)


def _pairs(
    _: object, option: click.Parameter, values: Sequence[str], known: Collection[str] = ()
) -> dict[str, str]:
    """Parse options such as COLUMN=FIELD, as their callback; the part before may contain `=`.

    Args:
        known: what the part after has to be one of.
    """
    pairs = {}
    for value in values:
        name, _, text = value.rpartition("=")
        if not name or not text:
            raise click.BadParameter(f"{value!r} is not {option.metavar}")
        if known and text not in known:
            known_words = ", ".join(known)
            raise click.BadParameter(f"{text!r} in {option.metavar} is not one of {known_words}")
        pairs[name] = text
    return pairs


def _as(field: Field[Any], form: str) -> Callable[[object, object, str | None], str | None]:
    """Return the callback of an option that has to be a value of a field of the API."""

    def check(_: object, __: object, value: str | None) -> str | None:
        try:
            field.deserialize(value)
        except ValidationError as error:
            raise click.BadParameter(f"this must be {form}") from error
        return value

    return check


_LANGUAGE = _as(LanguageTag(allow_none=True), "a language tag such as en or hi-IN")
_ZONE = _as(Zone(allow_none=True), "an IANA name such as Europe/London")


@click.command("import")
@click.argument("source", metavar="FILE|DIR|-", type=click.Path(exists=True, allow_dash=True))
@click.option(
    "--format", "format_", type=click.Choice([AUTO, *FORMATS]), default=AUTO, show_default=True
)
@click.option("--engagement", help="Default engagement, by name or id.")
@click.option("--campaign", help="Default campaign, by name or id.")
@click.option("--call-center", help="Default call centre, by name or id.")
@click.option("--executive", help="Default executive, by name or id.")
@click.option(
    "--channel",
    type=click.Choice([channel.value for channel in Channel]),
    help="Channel of transcripts; by default from the roles.",
)
@click.option(
    "--direction", type=click.Choice(DIRECTIONS), help="Default direction of calls and recordings."
)
@click.option("--platform", type=click.Choice(PLATFORMS), help="Default platform of conversations.")
@click.option("--language", callback=_LANGUAGE, help="Default language tag.")
@click.option(
    "--role",
    "roles",
    metavar="NAME=ROLE",
    multiple=True,
    callback=partial(_pairs, known=ROLES),
    help="Role of a speaker; may be repeated.",
)
@click.option("--evaluate/--no-evaluate", default=True, show_default=True, help="Judge them.")
@click.option("--scorecard", help="Id of the scorecard to judge by.")
@click.option("--on-conflict", type=click.Choice(ON_CONFLICT), default="update", show_default=True)
@click.option(
    "--create-missing/--no-create-missing",
    default=True,
    show_default=True,
    help="Create named engagements, campaigns, call centres and executives that do not exist.",
)
@click.option("--dry-run", is_flag=True, help="Check everything and write nothing.")
@click.option(
    "--map",
    "columns",
    metavar="COLUMN=FIELD",
    multiple=True,
    callback=_pairs,
    help="Field of a CSV column, or `ignore`; may be repeated.",
)
@click.option(
    "--preset",
    help=f"Columns of the CSV: {', '.join(PRESETS)}, or a preset that was kept in the dashboard.",
)
@click.option("--interactive", is_flag=True, help="Ask what each column of the CSV holds.")
@click.option("--timezone", callback=_ZONE, help="Time zone of times without an offset.")
@click.option(
    "--metadata",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="CSV or JSON with a row for each recording or call.",
)
@click.option(
    "--name-pattern",
    help=f"Fields in the names of recordings, as {{executive}}_{{date}}, or {', '.join(SYSTEMS)}.",
)
@click.option(
    "--agent",
    "agents",
    metavar="EXTENSION=NAME",
    multiple=True,
    callback=_pairs,
    help="Agent of an extension, or of another word in names; may be repeated.",
)
@click.option(
    "--direction-of",
    "directions",
    metavar="WORD=DIRECTION",
    multiple=True,
    callback=partial(_pairs, known=DIRECTIONS),
    help="Direction of a word in names or in the metadata; may be repeated.",
)
@click.option(
    "--pairs", is_flag=True, help="Join call-in and call-out, -rx and -tx, -agent and -customer."
)
@click.option("--wait", is_flag=True, help="Wait until the records are evaluated.")
@click.option("--watch", is_flag=True, help="Keep importing what arrives in the folder.")
@click.option("--follow-links", is_flag=True, help="Import the files that symbolic links lead to.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def import_(
    source: str,
    format_: str,
    *,
    metadata: Path | None,
    name_pattern: str | None,
    agents: dict[str, str],
    directions: dict[str, str],
    interactive: bool,
    pairs: bool,
    wait: bool,
    watch: bool,
    as_json: bool,
    **arguments: Any,
) -> None:
    """Import conversations, calls and recordings from a file, a folder, or standard input.

    A second run changes nothing that is imported already. The exit code is 1 if a record failed,
    and with --wait, if an evaluation or a recording failed.
    """
    background.collect_rarely()
    runtime = current_runtime()
    if watch and (as_json or arguments["dry_run"] or not Path(source).is_dir()):
        raise click.UsageError("--watch needs a folder, and neither --json nor --dry-run.")
    if pairs and watch:
        raise click.UsageError("--pairs needs both halves at once: leave --watch out.")
    if interactive and (as_json or not Path(source).is_file()):
        raise click.UsageError("--interactive needs a file, and no --json.")
    options = _options_of(runtime, Path(source), arguments, interactive=interactive)
    directions = {word.casefold(): direction for word, direction in directions.items()}
    with _explained():
        described = RecordingMetadata(
            options=options,
            calls=_calls(metadata, options, arguments["follow_links"]) if metadata else None,
            pattern=NamePattern(name_pattern, directions) if name_pattern else None,
            agents=agents,
            directions=directions,
        )
        list_files = partial(
            files.list_files,
            Path(source),
            metadata=metadata,
            follow_links=arguments["follow_links"],
        )
        with closing(FileImport(runtime, format_, options, described, pairs=pairs)) as run:
            if watch:
                _watch(run, FolderWatch(list_files), options, described.files_without_row)
                return
            counts = (
                run.load_stream(sys.stdin.buffer) if source == STDIN else _load(run, list_files())
            )
            run.record(Path(source).name if source != STDIN else "standard input", counts)
            if wait:
                _wait(run, quiet=as_json)
    _report(run, counts, options, described, as_json=as_json)
    failed = counts.by_outcome[RecordOutcome.FAILED] + run.failed_recordings
    if failed or run.ended[Status.FAILED]:
        sys.exit(1)


def _options_of(
    runtime: Runtime, source: Path, arguments: Mapping[str, Any], *, interactive: bool
) -> ImportOptions:
    """Return the options of the command line with what their preset says, and what was asked."""
    options = request_parsing.options_from_command(arguments, runtime.settings.engagement_types)
    with errors_as_messages(), runtime.db.reading() as session:
        options = service.resolved(session, options)
    if interactive:
        with _explained(), errors_as_messages():
            options, name = ask(
                runtime,
                source,
                options,
                check_zone=partial(_ZONE, None, None),
                follow_links=arguments["follow_links"],
            )
            if name:
                with runtime.db.writing() as session:
                    kept_presets.keep(session, name, options)
    return options


def _calls(metadata: Path, options: ImportOptions, follow_links: bool) -> CallRecords:
    with UntrustedFolder(metadata.parent, follow_links).open(metadata) as file:
        return calls_of(file, metadata.name, options)


@contextmanager
def _explained() -> Iterator[None]:
    """Turn errors into messages on the terminal."""
    try:
        with errors_as_messages("Run the command again to import the remaining records."):
            yield
    except (Unreadable, UnknownFormat) as error:
        hint = f"\n{_MAPPING}" if error.code == Fault.COLUMNS else ""
        raise click.ClickException(printable(str(error)) + hint) from error
    except OSError as error:
        reason = error.strerror or error
        message = f"{error.filename} cannot be read: {reason}." if error.filename else f"{reason}."
        raise click.ClickException(printable(message)) from error


def _load(run: FileImport, listed: Sequence[ImportFile]) -> ImportCounts:
    with Progress(listed) as progress:
        return run.load_files(listed, progress)


def _wait(run: FileImport, *, quiet: bool) -> None:
    """Wait until all that was loaded has a score or has failed."""
    total = run.waiting
    hidden = total == 0 or not sys.stderr.isatty()
    with click.progressbar(
        length=total, label="scored", show_pos=True, file=sys.stderr, hidden=hidden
    ) as bar:
        while run.waiting:
            ended = run.advance()
            bar.update(max(0, total - run.waiting - bar.pos))
            if not quiet:
                _print_recordings(ended)
            if run.waiting:
                time.sleep(_POLL_S)


def _watch(
    run: FileImport, watch: FolderWatch, options: ImportOptions, files_without_row: list[str]
) -> None:
    """Import what arrives in a folder, until Ctrl-C."""
    with suppress(KeyboardInterrupt):
        while True:
            for file in watch.ready():
                try:
                    counts = run.load_files([file], Progress([]))
                except OSError as error:
                    print_line(f"{file.name} cannot be read: {error.strerror}", err=True)
                else:
                    run.record(file.name, counts)
                    _print(counts, options, place=f"{file.name}: ")
                    _print_names("Recordings without a row", files_without_row)
                    files_without_row.clear()
                watch.note_imported([file])
            _print_recordings(run.advance())
            time.sleep(_WATCH_S)


def _print_recordings(ended: Sequence[RowMapping]) -> None:
    for recording in ended:
        reason = (recording["error"] or {}).get("message")
        result = reason or f"score {recording['score']}"
        print_line(f"{recording['file_name']}: {result}", err=reason is not None)


def _report(
    run: FileImport,
    counts: ImportCounts,
    options: ImportOptions,
    described: RecordingMetadata,
    *,
    as_json: bool,
) -> None:
    if as_json:
        click.echo(json.dumps(_as_json(counts, options, described)))
    else:
        _print(counts, options)
        if options.dry_run:
            _print_table(described.understood)
        _print_names("Rows of the metadata without a recording", described.rows_without_file)
        _print_names("Recordings without a row", described.files_without_row)
        if run.ended:
            statuses = ", ".join(f"{number} {status}" for status, number in run.ended.items())
            click.echo(f"evaluations ended: {statuses}")
            for reason, number in run.reasons.most_common(_MOST_NAMES):
                print_line(f"{number} failed: {reason}", err=True)


def _print_names(title: str, names: Sequence[str]) -> None:
    """List names on standard error, the first of many."""
    if names:
        more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        print_line(f"{title}: {', '.join(names[:_MOST_NAMES])}{more}", err=True)


def _print_table(rows: Sequence[Mapping[str, str]]) -> None:
    """Print what was understood of the first recordings, in columns."""
    if rows:
        lines = [list(rows[0]), *([text or "-" for text in row.values()] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            cells = (text.ljust(width) for text, width in zip(line, widths, strict=True))
            print_line("  ".join(cells).rstrip())


def _as_json(
    counts: ImportCounts, options: ImportOptions, described: RecordingMetadata
) -> dict[str, Any]:
    error_schema = ImportErrorSchema()
    has_errors = counts.by_outcome[RecordOutcome.FAILED] > 0
    return {
        "status": "completed_with_errors" if has_errors else "completed",
        "dryRun": options.dry_run,
        "counts": ImportCountsSchema().dump(counts.as_dict()),
        "errors": [{"file": error["file"], **error_schema.dump(error)} for error in counts.errors],
        **({"recordings": described.understood} if described.understood else {}),
        "rowsWithoutRecording": described.rows_without_file,
        "recordingsWithoutRow": described.files_without_row,
    }


def _print(counts: ImportCounts, options: ImportOptions, *, place: str = "") -> None:
    outcomes = ", ".join(f"{number} {outcome}" for outcome, number in counts.by_outcome.items())
    note = " (dry run: nothing was written)" if options.dry_run else ""
    noun = "record" if counts.received == 1 else "records"
    print_line(f"{place}{counts.received} {noun}: {outcomes}{note}")
    if counts.evaluations_queued:
        click.echo(f"evaluations queued: {counts.evaluations_queued}")
    for error in counts.errors:
        key = f" ({error['external_id']})" if error["external_id"] else ""
        line = f", line {error['line']}" if error["line"] else ""
        print_line(f"{error['file']}{line}{key}: {error['code']}: {error['message']}", err=True)
    if any(error["code"] == Fault.COLUMNS for error in counts.errors):
        click.echo(_MAPPING, err=True)
    hidden = counts.by_outcome[RecordOutcome.FAILED] - len(counts.errors)
    if hidden:
        click.echo(f"and {hidden} more errors", err=True)
