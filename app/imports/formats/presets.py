"""Presets of columns: the fields of the tables that other systems export, by their names there."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from app.imports.formats.records import ReaderOptions
from app.imports.formats.table_rows import IGNORED, MappingOf, normalised


@dataclass(frozen=True, slots=True)
class Preset:
    """The fields of the columns of one system.

    `columns` lists the columns of each field, the best first; others of them are left out, as are
    those of `left_out`. `roles` are the words of the system for those who write,
    and `platform` is that of conversations that do not say theirs.
    """

    title: str
    columns: Mapping[str, Sequence[str]]
    left_out: Collection[str]
    roles: Mapping[str, str] = field(default_factory=dict)
    platform: str | None = None

    def mapping_of(self, header: Sequence[str]) -> dict[str, str]:
        """Map those columns of a header that the system is known for."""
        by_name = {normalised(column): column for column in header}
        mapping = {
            by_name[name]: IGNORED for name in map(normalised, self.left_out) if name in by_name
        }
        for to, names in self.columns.items():
            present = [by_name[name] for name in map(normalised, names) if name in by_name]
            mapping |= dict.fromkeys(present, IGNORED)
            mapping |= dict.fromkeys(present[:1], to)
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
    platform="email",
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


def mapping_for(options: ReaderOptions) -> MappingOf:
    """Return the function that maps a header: by the preset, and by the caller's columns before it."""

    def mapping_of(header: Sequence[str]) -> Mapping[str, str]:
        given = set(map(normalised, options.columns))
        preset = PRESETS.get(options.preset or "")
        present = set(map(normalised, header))
        known = {
            **(preset.mapping_of(header) if preset else {}),
            **{
                name: to for name, to in options.kept_columns.items() if normalised(name) in present
            },
        }
        return {
            **{name: to for name, to in known.items() if normalised(name) not in given},
            **options.columns,
        }

    return mapping_of
