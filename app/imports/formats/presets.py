"""Presets of columns: the fields of the tables that other systems export, by their names there."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from app.imports.formats.table_rows import IGNORED, normalised


@dataclass(frozen=True, slots=True)
class Preset:
    """The fields of the columns of one system.

    `columns` lists the columns of each field, the best first; others of them are left out, as are
    those of `left_out`.
    """

    title: str
    columns: Mapping[str, Sequence[str]]
    left_out: Collection[str]

    def mapping_of(self, header: Sequence[str]) -> dict[str, str]:
        """Map those columns of a header that the system is known for."""
        by_name = {normalised(column): column for column in header}
        mapping = {
            by_name[name]: IGNORED for name in map(normalised, self.left_out) if name in by_name
        }
        for field, names in self.columns.items():
            present = [by_name[name] for name in map(normalised, names) if name in by_name]
            mapping |= dict.fromkeys(present, IGNORED)
            mapping |= dict.fromkeys(present[:1], field)
        return mapping


# Names as in https://developer.zendesk.com/api-reference/ticketing/tickets/ticket_comments/, those
# of the ticket and of the author with their noun in front.
_ZENDESK = Preset(
    "Zendesk ticket comments",
    {
        "externalId": ("ticket_id", "ticket.id"),
        "role": ("author_role", "author.role", "role"),
        "authorName": ("author_name", "author.name"),
        "text": ("plain_body",),
        "html": ("html_body",),
        "sentAt": ("created_at",),
        "public": ("public", "is_public"),
        "subject": ("ticket_subject", "ticket.subject", "subject"),
    },
    (
        *("id", "type", "author_id", "body", "audit_id", "attachments", "via", "metadata"),
        *("uploads", "author_email", "author.email", "author.id"),
    ),
)
# Names as in https://developers.intercom.com/docs/references/rest-api/api.intercom.io/models/conversation_part.
_INTERCOM = Preset(
    "Intercom conversation parts",
    {
        "externalId": ("conversation_id", "conversation.id"),
        "role": ("author_type", "author.type"),
        "authorName": ("author_name", "author.name"),
        "html": ("body",),
        "sentAt": ("created_at",),
        "partType": ("part_type",),
    },
    (
        *("type", "id", "part_id", "updated_at", "notified_at", "assigned_to", "attachments"),
        *("external_id", "redacted", "state", "tags", "author_id", "author.id"),
        *("author_email", "author.email", "app_package_code", "event_details", "metadata"),
        *("email_message_metadata", "assigned_to.type", "assigned_to.id"),
    ),
)
PRESETS: Mapping[str, Preset] = {"zendesk": _ZENDESK, "intercom": _INTERCOM}


def mapping_for(
    preset: str | None, columns: Mapping[str, str]
) -> Callable[[Sequence[str]], Mapping[str, str]]:
    """Return the function that maps a header: by the preset, and by the caller's columns before it."""

    def mapping_of(header: Sequence[str]) -> Mapping[str, str]:
        if preset is None:
            return columns
        given = set(map(normalised, columns))
        shipped = PRESETS[preset].mapping_of(header)
        return {
            **{name: to for name, to in shipped.items() if normalised(name) not in given},
            **columns,
        }

    return mapping_of
