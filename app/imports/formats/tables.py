"""Tables of conversations in CSV, one message a row."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from app.evaluations.enums import MAX_MESSAGES
from app.imports.formats.html_text import text_of_html
from app.imports.formats.presets import PRESETS, mapping_for
from app.imports.formats.records import (
    TOO_MANY_MESSAGES,
    BadLine,
    Entries,
    Fault,
    Kind,
    NativeRecord,
    ReaderOptions,
    RoleResolver,
    Unreadable,
)
from app.imports.formats.table_rows import (
    TableForm,
    TableRow,
    by_column_name,
    rows_of,
    rows_of_objects,
    with_labels,
)

_CONVERSATION_FIELDS: Mapping[str, str] = {
    **by_column_name("externalId", "platform", "subject", "language", "startedAt", "endedAt"),
    **by_column_name("engagement", "engagementId", "campaign", "campaignId"),
    **by_column_name("callCenter", "callCenterId", "executive", "executiveId"),
    **by_column_name("status", "customerRef", "disposition", "tags"),
    "conversationid": "externalId",
}

_MESSAGE_FIELDS: Mapping[str, str] = {
    **by_column_name("role", "speaker", "text", "html", "sentAt", "authorName"),
    **by_column_name("internal", "public", "partType"),
    "message": "text",
    "timestamp": "sentAt",
    "author": "authorName",
}

_BOOLEANS = {
    **dict.fromkeys(("", "0", "false", "no"), False),
    **dict.fromkeys(("1", "true", "yes"), True),
}
# What ticket systems call the two kinds of messages.
_IS_INTERNAL = {
    **dict.fromkeys(("internal", "private", "note"), True),
    **dict.fromkeys(("public", "comment", "reply"), False),
}
# What ticket systems and messengers call those who write.
_ROLE_WORDS = {
    **dict.fromkeys(
        ("client", "contact", "end user", "end-user", "end_user", "enduser", "lead"), "customer"
    ),
    **dict.fromkeys(("requester", "user", "visitor"), "customer"),
    **dict.fromkeys(("admin", "assignee", "staff", "teammate"), "agent"),
    **dict.fromkeys(("chatbot", "virtual agent"), "bot"),
}

_TAG_SEPARATOR = "|"
_LONGEST_HTML = 100_000


_NEEDED = {
    "conversation_id": frozenset({"externalId"}),
    "role or speaker": frozenset({"role", "speaker"}),
    "text or html": frozenset({"text", "html"}),
}


def _lacks(fields: set[str]) -> list[str]:
    return [name for name, any_of in _NEEDED.items() if not any_of & fields]


FORM = TableForm(
    {**_CONVERSATION_FIELDS, **_MESSAGE_FIELDS},
    _lacks,
    opposites={
        **dict.fromkeys(("public", "ispublic"), "internal"),
        **dict.fromkeys(("internal", "isinternal", "private", "isprivate"), "public"),
    },
    moments=frozenset({"sentAt", "startedAt", "endedAt"}),
)


def is_header(line: str) -> bool:
    """True if a line names the columns of a table of conversations."""
    return FORM.delimiter_of(line, lambda _: {}) is not None


def known_role(word: str) -> str:
    """Return the role that a word has without being mapped; empty if it has none."""
    with suppress(Unreadable):
        return RoleResolver({}, _ROLE_WORDS).role_of(word)
    return ""


def read(stream: BinaryIO, options: ReaderOptions) -> Entries:
    """Yield each conversation after its last row.

    An unreadable row makes its conversation unreadable: that of its conversation_id, or else that of
    the row before. The conversation_id of a row with a wrong number of cells counts only if
    the row has a known role too, or the next whole row has the same conversation_id.
    """
    preset = PRESETS.get(options.preset or "")
    roles = RoleResolver(options.roles, {**_ROLE_WORDS, **(preset.roles if preset else {})})
    current: _Conversation | None = None
    for row in map(_with_key, rows_of(stream, FORM, options, mapping_for(options))):
        key = _key_of(row)
        if current is not None and _is_fragment(row, roles):
            if len(current.fragments) < MAX_MESSAGES:
                current.fragments[key] = row
            continue
        fragment = current.fragments.pop(key, None) if current is not None else None
        if current is not None and key not in ("", current.external_id):
            yield _entry_of(current, options)
            current = None
        if current is None and row.error is not None and not key:
            yield BadLine(row.error.line, row.error.code, row.error.message)
            continue
        current = current or _Conversation(key, row.line)
        if fragment is not None:
            current.add(fragment, roles)
        current.add(row, roles)
    if current is not None:
        yield _entry_of(current, options)


def _entry_of(conversation: "_Conversation", options: ReaderOptions) -> NativeRecord | BadLine:
    if options.names_agents:
        conversation.name_agent()
    return conversation.entry()


def conversation_of_objects(objects: Sequence[Mapping[str, Any]], preset_name: str) -> NativeRecord:
    """Build a conversation of JSON objects, one a message, whose members a preset knows.

    Raises:
        Unreadable: there are no messages, or one of them cannot be read.
    """
    preset, options = PRESETS[preset_name], ReaderOptions(preset=preset_name)
    if not objects:
        raise Unreadable(Fault.NO_MESSAGES, "The conversation has no text.")
    roles = RoleResolver({}, {**_ROLE_WORDS, **preset.roles})
    conversation = _Conversation("", 1)
    for row in rows_of_objects(objects, FORM, options, mapping_for(options)):
        conversation.add(row, roles)
    if conversation.error is not None:
        raise conversation.error
    conversation.name_agent()
    fields = {**conversation.fields, "messages": conversation.messages}
    if preset.platform:
        fields["platform"] = preset.platform
    return NativeRecord(1, Kind.CONVERSATION, fields)


@dataclass(slots=True)
class _Conversation:
    """A conversation while its rows are read."""

    external_id: str
    line: int
    fields: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    error: Unreadable | None = None
    fragments: dict[str, TableRow] = field(default_factory=dict)

    def add(self, row: TableRow, roles: RoleResolver) -> None:
        """Add a row; an invalid row makes the whole conversation unreadable."""
        if self.error is not None:
            return
        try:
            if row.error is not None:
                raise row.error
            fields, cells = _split_row(row.cells)
            for name, value in fields.items():
                if self.fields.setdefault(name, value) != value:
                    message = f"The rows of this conversation have different values of {name}."
                    raise Unreadable(Fault.VALIDATION_ERROR, message, row.line)
            if "partType" in cells and not cells.keys() & {"text", "html"}:
                # That somebody closed or assigned it was not said.
                return
            if len(self.messages) == MAX_MESSAGES:
                raise Unreadable(Fault.TOO_LONG, TOO_MANY_MESSAGES, row.line)
            self.messages.append(_message_of(cells, roles, row.line))
        except Unreadable as error:
            self.error = error
            self.messages.clear()

    def name_agent(self) -> None:
        """Name the agent of a desk's conversation, if one alone has written to the customer."""
        agents = {
            message.get("authorName")
            for message in self.messages
            if message["role"] == "agent" and not message.get("internal")
        }
        if len(agents) == 1 and (name := agents.pop()) and "executiveId" not in self.fields:
            self.fields.setdefault("executive", name)

    def entry(self) -> NativeRecord | BadLine:
        """Return the record, or the reason why it is unreadable."""
        for row in self.fragments.values():
            self.error = self.error or row.error
        if self.error is not None:
            return BadLine(self.error.line, self.error.code, self.error.message, self.external_id)
        fields = {**self.fields, "messages": self.messages}
        return NativeRecord(self.line, Kind.CONVERSATION, fields)


def _with_key(row: TableRow) -> TableRow:
    if row.error is not None or _key_of(row):
        return row
    message = "The row has no conversation_id."
    return replace(row, error=Unreadable(Fault.VALIDATION_ERROR, message, row.line))


def _key_of(row: TableRow) -> str:
    cells = row.cells if row.error is None else row.first_line
    return cells.get("externalId", "").strip()


def _is_fragment(row: TableRow, roles: RoleResolver) -> bool:
    """True if an unquoted line break may have cut this row off the one before: it has no role."""
    speaker, role = row.cells.get("speaker"), row.cells.get("role")
    with suppress(Unreadable):
        return row.is_cut and not roles.role_of(role or speaker, names=[speaker])
    return row.is_cut


def _split_row(row: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Split a row into the fields of the conversation and those of the message, without blanks."""
    conversation = with_labels(row)
    names = set(_MESSAGE_FIELDS.values()) & conversation.keys()
    message = {name: conversation.pop(name) for name in names}
    if row.get("public") == "":
        # What is not said to be public may be a private note.
        message["public"] = "false"
    if "tags" in conversation:
        tags = conversation["tags"].split(_TAG_SEPARATOR)
        conversation["tags"] = [tag.strip() for tag in tags if tag.strip()]
    return conversation, message


def _message_of(cells: Mapping[str, str], roles: RoleResolver, line: int) -> dict[str, Any]:
    html = cells.get("html", "")
    if len(html) > _LONGEST_HTML:
        too_long = f"html must have at most {_LONGEST_HTML:,} characters."
        raise Unreadable(Fault.TOO_LONG, too_long, line)
    text = cells.get("text") or text_of_html(html)
    if not text:
        raise Unreadable(Fault.VALIDATION_ERROR, "The row has no text.", line)
    speaker, role = cells.get("speaker"), cells.get("role")
    message: dict[str, Any] = {
        "role": roles.role_of(role or speaker, names=[speaker], line=line),
        "text": text,
    }
    author = cells.get("authorName") or speaker
    if author:
        message["authorName"] = author
    if "sentAt" in cells:
        message["sentAt"] = cells["sentAt"]
    if cells.keys() & {"internal", "public", "partType"}:
        message["internal"] = _is_internal(cells, line)
    return message


def _is_internal(cells: Mapping[str, str], line: int) -> bool:
    """Return whether a message is a private note: where one column says so, it is one."""
    found = [cells.get("partType", "").casefold() == "note"]
    for name, meaning in (("internal", True), ("public", False)):
        cell = cells.get(name)
        if cell is None:
            continue
        word = cell.casefold()
        if word in _IS_INTERNAL:
            found.append(_IS_INTERNAL[word])
        elif word in _BOOLEANS:
            found.append(_BOOLEANS[word] is meaning)
        else:
            message = f"{name} must be true or false, or a word such as public or note."
            raise Unreadable(Fault.VALIDATION_ERROR, message, line)
    return any(found)
