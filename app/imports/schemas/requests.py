"""Schemas of the endpoints of imports: request, state and errors."""

from typing import Any

from marshmallow import fields, validates_schema

from app.conversations.enums import PLATFORMS
from app.evaluations.enums import DIRECTIONS, Channel
from app.imports.files import AUTO
from app.imports.formats.catalogue import FORMATS
from app.imports.formats.presets import PRESETS
from app.imports.formats.records import ROLES
from app.imports.loading.input import ON_CONFLICT
from app.web.schemas.base import REQUIRED, AnswerSchema, CamelSchema, about, reject
from app.web.schemas.fields import (
    Choice,
    Flag,
    Items,
    LanguageTag,
    Members,
    Nested,
    Pattern,
    Reference,
    Text,
    Timestamp,
    Whole,
    Zone,
)
from app.web.schemas.query_fields import Choices, PageQuery, QueryFlag, sort_field

_IMPORT_ID = "imp_01k9zr0b3de6g8j1m4q7s9vxzc"
UPLOAD_FORMATS = (AUTO, *FORMATS)
# Values with their labels.
STATUSES = {
    "awaiting_upload": "Waiting for its file",
    "queued": "Waiting",
    "running": "Running",
    "completed": "Done",
    "completed_with_errors": "Done, with errors",
    "failed": "Failed",
}
# Formats of one JSON object a line.
_LINE_FORMATS = ("native", "openai", "contact_lens", "vcon")
_MAX_ITEMS = 10_000
_MAX_ROLES = 100


class ImportDefaults(CamelSchema):
    """Defaults for records without a value."""

    engagement_id = Reference("eng", allow_none=True)
    campaign_id = Reference("camp", allow_none=True)
    call_center_id = Reference("cc", allow_none=True)
    executive_id = Reference("exec", allow_none=True)
    channel = Choice(
        list(Channel),
        allow_none=True,
        **about(
            "The channel of timed transcripts; by default `voice` if an agent talks "
            "and no bot, else `voice_bot`."
        ),
    )
    direction = Choice(DIRECTIONS, allow_none=True, **about("Of calls and recordings."))
    language = LanguageTag(allow_none=True)
    platform = Choice(
        PLATFORMS,
        allow_none=True,
        **about("The platform of conversations, such as `email` for tickets, too."),
    )
    roles = Members(
        keys=Text(200, low=1), values=Choice(ROLES), **about("Maps names of speakers to roles.")
    )

    @validates_schema
    def _check_roles(self, data: dict[str, Any], **_: Any) -> None:
        if len(data.get("roles") or ()) > _MAX_ROLES:
            raise reject("roles", f"roles must have at most {_MAX_ROLES} members.", code="LENGTH")


class ImportSettings(CamelSchema):
    defaults = Nested(ImportDefaults, load_default=dict)
    evaluate = Flag(load_default=True)
    scorecard_id = Reference("sc", allow_none=True, load_default=None)
    on_conflict = Choice(ON_CONFLICT, load_default="update")
    create_missing = Flag(load_default=False, **about("Create named rows that do not exist."))
    dry_run = Flag(
        load_default=False, **about("Only count; POST /imports/{id} then imports the same.")
    )
    columns = Members(
        keys=Text(200, low=1),
        values=Text(100, low=1),
        load_default=dict,
        **about("Maps columns of CSV to fields, or to `ignore`."),
    )
    preset = Text(
        80,
        low=1,
        allow_none=True,
        load_default=None,
        **about(
            f"Whose columns of CSV are read: {', '.join(PRESETS)}, or the name of a "
            "preset that was kept in the dashboard; `columns` go before."
        ),
    )
    timezone = Zone(
        load_default=None,
        allow_none=True,
        **about("IANA name; the time zone of times in CSV without an offset."),
    )


class ImportCreate(ImportSettings):
    """Records of other systems, as `items` or as the `content` of a file."""

    field_of_lines = "content"

    format = Choice(FORMATS, load_default="native")
    items = Items(
        fields.Dict(keys=fields.String()),
        low=1,
        high=_MAX_ITEMS,
        **about(
            "JSON objects in the format; with `vtt` and `srt`, "
            "`{externalId, content}` each. For CSV use `content`."
        ),
    )
    content = fields.String(**about("The content of a file in the format."))

    @validates_schema
    def _check_source(self, data: dict[str, Any], **_: Any) -> None:
        if ("items" in data) == ("content" in data):
            raise reject("items", "Give either items or content.", code=REQUIRED)
        if "items" in data and data["format"] == "csv":
            raise reject("items", "For CSV use content instead of items.")


class ImportLinesQuery(CamelSchema):
    """Options of an import whose body is JSON lines; any other body has its options in itself."""

    format = Choice(_LINE_FORMATS, **about("Format of a body of JSON lines; `native` if omitted."))
    evaluate = QueryFlag(**about("`false`: only store the records."))
    scorecard_id = Reference("sc", **about("Judge with this scorecard."))
    on_conflict = Choice(ON_CONFLICT, **about("What happens to records that exist."))
    create_missing = QueryFlag(**about("Create named rows that do not exist."))
    dry_run = QueryFlag(**about("Only count; POST /imports/{id} then imports the same."))


class ImportUploadCreate(ImportSettings):
    """A file to import; its upload needs no memory, so that it may be large."""

    format = Choice(UPLOAD_FORMATS, load_default=AUTO, **about("By default detected in the file."))
    file_name = Text(255, low=1, required=True, metadata={"example": "march.ndjson"})
    size_bytes = Whole(low=1, required=True)
    sha256 = Pattern(
        "[0-9a-fA-F]{64}", "sha256 must be 64 hex digits.", allow_none=True, load_default=None
    )


class ImportUploadSchema(AnswerSchema):
    """A signed link for the file: send it once; the import then starts by itself."""

    import_id = fields.String(**about("The import that reads the file.", example=_IMPORT_ID))
    upload_url = fields.String(metadata={"format": "uri"})
    method = Choice(("PUT",))
    headers = fields.Dict(keys=fields.String(), values=fields.String())
    expires_at = Timestamp()
    max_size_bytes = fields.Integer()


class ImportQuery(PageQuery):
    status = Choices(STATUSES)
    sort = sort_field("createdAt")


class ImportCountsSchema(AnswerSchema):
    """Number of records by outcome; created, updated, skipped and failed add up to received."""

    received = fields.Integer()
    created = fields.Integer()
    updated = fields.Integer()
    skipped = fields.Integer()
    failed = fields.Integer()
    evaluations_queued = fields.Integer()


class ImportErrorSchema(AnswerSchema):
    """Why a record failed; `line` is its first line."""

    line = fields.Integer()
    external_id = fields.String(allow_none=True)
    code = fields.String(metadata={"example": "UNKNOWN_ROLE"})
    message = fields.String()


class ImportFailureSchema(AnswerSchema):
    """Why the import as a whole failed."""

    code = fields.String()
    message = fields.String()


class ImportSchema(AnswerSchema):
    """An import and its counts so far."""

    id = fields.String(metadata={"example": _IMPORT_ID})
    status = Choice(STATUSES)
    format = Choice(UPLOAD_FORMATS)
    evaluate = fields.Boolean()
    on_conflict = Choice(ON_CONFLICT)
    dry_run = fields.Boolean()
    counts = Nested(ImportCountsSchema)
    errors = fields.List(Nested(ImportErrorSchema), **about("The first 100 errors."))
    error = Nested(ImportFailureSchema, allow_none=True)
    created_at = Timestamp()
    started_at = Timestamp(allow_none=True)
    completed_at = Timestamp(allow_none=True)
