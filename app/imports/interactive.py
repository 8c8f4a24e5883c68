"""Questions on the terminal: which field each column of a table is, whose words they are, and a preview."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import click

from app.core.commands import print_line
from app.core.runtime import Runtime
from app.core.storage.untrusted import UntrustedFolder
from app.imports.formats.records import ROLES
from app.imports.formats.table_rows import IGNORED
from app.imports.loading.input import ImportOptions
from app.imports.mapping import FIELDS, LABEL, TableMapping, mapping_of_table

CheckZone: TypeAlias = Callable[[str], str | None]
_WORDS = {name: text for fields in FIELDS.values() for name, text in fields.items()}
_NO_ROLE = "none"


def ask(
    runtime: Runtime,
    source: Path,
    options: ImportOptions,
    *,
    check_zone: CheckZone,
    follow_links: bool,
) -> tuple[ImportOptions, str]:
    """Ask how to read a table until its first conversations are as they should be.

    Return the options, and the name under which to keep them, which may be empty.

    Args:
        check_zone: returns a time zone; raises `click.BadParameter` for an unknown name.

    Raises:
        click.Abort: the input ends.
        click.ClickException: nothing of the table can be read.
    """
    folder = UntrustedFolder(source.parent, follow_links)
    is_chosen = False
    while True:
        with folder.open(source) as stream:
            shown = mapping_of_table(runtime, stream, options, is_chosen=is_chosen)
        if not shown.columns:
            raise click.ClickException(shown.problem)
        if is_chosen:
            _print_preview(shown)
            if not shown.problem and click.confirm("Are these conversations right?", default=True):
                question = "Name to keep these answers under (empty for none)"
                return options, click.prompt(question, default="", show_default=False).strip()
        options = replace(
            shown.options,
            columns=_columns(shown),
            timezone=_timezone(shown.options.timezone, check_zone),
            preset=None,
            kept_columns={},
        )
        with folder.open(source) as stream:
            shown = mapping_of_table(runtime, stream, options, is_chosen=True)
        options = replace(options, roles={**options.roles, **_roles(shown.roles)})
        is_chosen = True


def _columns(shown: TableMapping) -> dict[str, str]:
    for name, words in _WORDS.items():
        click.echo(f"  {name:14} {words}")
    click.echo(f"  {LABEL:14} A label with the name of the column")
    click.echo(f"  {IGNORED:14} Nothing: leave the column out")
    fields = click.Choice([*_WORDS, LABEL, IGNORED])
    chosen = {}
    for column in shown.columns:
        click.echo()
        print_line(f"{column.name}: {', '.join(column.values) or 'no values'}")
        guessed = LABEL if column.field.startswith("label.") else column.field
        field = click.prompt("  is", type=fields, default=guessed, show_choices=False)
        chosen[column.name] = f"label.{column.name}" if field == LABEL else field
    return chosen


def _roles(found: Mapping[str, str]) -> dict[str, str]:
    roles = click.Choice([*ROLES, _NO_ROLE])
    answers = {
        value: click.prompt(f"Who is {value!r}?", type=roles, default=role or _NO_ROLE)
        for value, role in found.items()
    }
    return {value: role for value, role in answers.items() if role != _NO_ROLE}


def _timezone(given: str | None, check_zone: CheckZone) -> str | None:
    zone: str | None = click.prompt(
        "Time zone of times without an offset (empty if all have one)",
        default=given or "",
        value_proc=lambda text: check_zone(text) if text else None,
        show_default=bool(given),
    )
    return zone


def _print_preview(shown: TableMapping) -> None:
    if shown.problem:
        print_line(f"Nothing can be read by these answers: {shown.problem}", err=True)
    for conversation in shown.previews:
        click.echo()
        print_line(f"{conversation.external_id}: {conversation.problem}".rstrip(": "))
        for message in conversation.messages:
            note = " (private note)" if message.get("internal") else ""
            print_line(f"  {message['role']}{note}: {message['text']}")
        if conversation.more:
            print_line(f"  and {conversation.more} more")
