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
    and `platform` is that of conversations that do not say theirs. `recordings` are the columns of
    a table with a row for each recording or call, and `header` those of a table without a header.
    """

    title: str
    columns: Mapping[str, Sequence[str]]
    left_out: Collection[str]
    roles: Mapping[str, str] = field(default_factory=dict)
    platform: str | None = None
    recordings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    header: Sequence[str] = ()

    def mapping_of(
        self, header: Sequence[str], columns: Mapping[str, Sequence[str]]
    ) -> dict[str, str]:
        """Map those columns of a header that the system is known for."""
        by_name = {normalised(column): column for column in header}
        mapping = {
            by_name[name]: IGNORED for name in map(normalised, self.left_out) if name in by_name
        }
        for to, names in columns.items():
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
# Names as in https://developers.freshdesk.com/api/#conversations; `incoming` is what the requester sent.
_FRESHDESK = Preset(
    "Freshdesk conversations of tickets",
    {
        "externalId": ("ticket_id", "ticket.id"),
        "role": ("incoming",),
        "authorName": ("user_name", "user.name"),
        "html": ("body", "body_text"),
        "sentAt": ("created_at",),
        "internal": ("private",),
        "subject": ("ticket_subject", "ticket.subject", "subject"),
    },
    (
        *("id", "user_id", "source", "category", "support_email", "updated_at", "attachments"),
        *("from_email", "to_emails", "cc_emails", "bcc_emails", "email_failure_count"),
        *("outgoing_failures", "last_edited_at", "last_edited_user_id", "structured_body"),
        *("thread_id", "thread_message_id", "automation_id", "automation_type_id", "auto_response"),
        *("source_additional_info", "threading_type", "delivery_details", "cloud_files"),
    ),
    roles={"true": "customer", "false": "agent"},
    platform="email",
)
# Messages as in https://www.twilio.com/docs/conversations/api/conversation-message-resource, logs as
# in https://www.twilio.com/docs/voice/api/call-resource and .../voice/api/recording.
_TWILIO = Preset(
    "Twilio conversations; logs of calls and recordings",
    {
        "externalId": ("conversation_sid", "channel_sid"),
        "speaker": ("author",),
        "text": ("body",),
        "sentAt": ("date_created",),
    },
    (
        *("account_sid", "chat_service_sid", "messaging_service_sid", "content_sid", "sid"),
        *("participant_sid", "index", "attributes", "media", "delivery", "date_created"),
        *("date_updated", "url", "uri", "links", "subresource_uris", "api_version", "status"),
        *("answered_by", "annotation", "caller_name", "call_sid", "channels", "conference_sid"),
        *("duration", "encryption_details", "end_time", "error_code", "forwarded_from", "from"),
        *("from_formatted", "group_sid", "media_url", "parent_call_sid", "phone_number_sid"),
        *("price", "price_unit", "queue_time", "source", "to", "to_formatted", "trunk_sid"),
    ),
    recordings={
        "file": ("recording_sid", "sid", "call_sid"),
        "recordedAt": ("start_time", "date_created"),
        "direction": ("direction",),
        "fromNumber": ("from",),
        "toNumber": ("to",),
    },
)
# Messages as in https://developer.genesys.cloud/devapps/api-explorer (recordings of conversations),
# the columns of the view Interactions as it exports them.
_GENESYS = Preset(
    "Genesys Cloud messages; exported interactions",
    {
        "externalId": ("conversationId", "conversation.id"),
        "role": ("participantPurpose", "purpose"),
        "authorName": ("fromUser.name", "user.name"),
        "text": ("messageText", "body"),
        "sentAt": ("timestamp", "utc"),
    },
    (
        *("id", "to", "from", "type", "bodyType", "chat", "message", "participantId", "queue"),
        *("workflow", "user", "fromUser", "fromExternalContact", "senderCommunicationId"),
        *("conversation_id", "media_type", "remote", "end_date", "duration", "ANI", "DNIS", "flow"),
        *("wrap-up", "full export completed", "export timestamp", "filters", "date", "users"),
    ),
    roles={
        **dict.fromkeys(("external", "customer"), "customer"),
        **dict.fromkeys(("internal", "user", "agent"), "agent"),
        **dict.fromkeys(("acd", "ivr", "workflow", "botflow", "bot"), "bot"),
    },
    recordings={
        "file": ("conversation_id", "conversation.id"),
        "recordedAt": ("date", "start_date"),
        "executive": ("users",),
        "campaign": ("queue",),
        "direction": ("direction",),
    },
)
# Names as in https://developers.chatwoot.com/api-reference/messages, those of the conversation and of
# the sender with their noun in front; a message is incoming, outgoing, an activity or a template.
_CHATWOOT = Preset(
    "Chatwoot messages",
    {
        "externalId": ("conversation_id",),
        "role": ("message_type",),
        "authorName": ("sender.name", "sender_name"),
        "text": ("content",),
        "sentAt": ("created_at",),
        "internal": ("private",),
    },
    (
        *("id", "inbox_id", "account_id", "status", "content_type", "content_attributes"),
        *("external_source_ids", "source_id", "updated_at", "sender_id", "sender_type"),
        *("sender.id", "sender.email", "sender.type", "attachments"),
    ),
    roles={
        **dict.fromkeys(("incoming", "0"), "customer"),
        **dict.fromkeys(("outgoing", "1"), "agent"),
        **dict.fromkeys(("template", "3"), "bot"),
    },
)
# Names as in https://docs.zammad.org/en/latest/api/ticket/articles.html; `sender` is a word for who
# has written.
_ZAMMAD = Preset(
    "Zammad articles of tickets",
    {
        "externalId": ("ticket_id",),
        "role": ("sender",),
        "authorName": ("from",),
        "html": ("body",),
        "sentAt": ("created_at",),
        "internal": ("internal",),
        "subject": ("ticket_title", "ticket.title"),
    },
    (
        *("id", "subject", "type_id", "sender_id", "type", "to", "cc", "reply_to", "message_id"),
        *("origin_by_id", "message_id_md5", "in_reply_to", "content_type", "references"),
        *("preferences", "origin_by", "updated_by_id", "created_by_id", "updated_at", "created_by"),
        *("updated_by", "attachments", "time_unit"),
    ),
    platform="email",
)
# Columns as in https://docs.asterisk.org (call detail records), whose Master.csv has no header, and
# those of the table cdr of FreePBX.
_ASTERISK = Preset(
    "Asterisk and FreePBX, call detail records",
    {},
    (
        *("accountcode", "dcontext", "clid", "channel", "dstchannel", "lastapp", "lastdata"),
        *("answer", "end", "duration", "billsec", "disposition", "amaflags", "userfield", "did"),
        *("cnum", "cnam", "outbound_cnum", "outbound_cnam", "dst_cnam", "linkedid", "peeraccount"),
        "sequence",
    ),
    recordings={
        "file": ("recordingfile",),
        "externalId": ("uniqueid",),
        "recordedAt": ("calldate", "start"),
        "fromNumber": ("src",),
        "toNumber": ("dst",),
    },
    header=(
        *("accountcode", "src", "dst", "dcontext", "clid", "channel", "dstchannel", "lastapp"),
        *("lastdata", "start", "answer", "end", "duration", "billsec", "disposition", "amaflags"),
        *("uniqueid", "userfield"),
    ),
)
# Columns of the report Call Log, also of version 20.
_3CX = Preset(
    "3CX, log of calls",
    {},
    (
        *("Status", "Ringing", "Talking", "Cost", "Activity Details", "Call Activity Details"),
        *("Reason", "Answered", "Unanswered", "Total Call Time", "Call ID", "Sentiment", "Summary"),
        "Transcription",
    ),
    recordings={
        "recordedAt": ("Call Time", "StartTime"),
        "direction": ("Direction",),
        "fromNumber": ("From", "Caller ID"),
        "toNumber": ("To", "Destination"),
    },
)
PRESETS: Mapping[str, Preset] = {
    "zendesk": _ZENDESK,
    "intercom": _INTERCOM,
    "freshdesk": _FRESHDESK,
    "twilio": _TWILIO,
    "genesys": _GENESYS,
    "chatwoot": _CHATWOOT,
    "zammad": _ZAMMAD,
    "asterisk": _ASTERISK,
    "3cx": _3CX,
}


def mapping_for(options: ReaderOptions, *, of_recordings: bool = False) -> MappingOf:
    """Return the function that maps a header: by the preset, and by the caller's columns before it."""
    preset = PRESETS.get(options.preset or "")

    def mapping_of(header: Sequence[str]) -> Mapping[str, str]:
        given = set(map(normalised, options.columns))
        present = set(map(normalised, header))
        shipped = {}
        if preset is not None:
            columns = preset.recordings if of_recordings else preset.columns
            shipped = preset.mapping_of(header, columns)
        known = {
            **shipped,
            **{
                name: to for name, to in options.kept_columns.items() if normalised(name) in present
            },
        }
        return {
            **{name: to for name, to in known.items() if normalised(name) not in given},
            **options.columns,
        }

    return mapping_of
