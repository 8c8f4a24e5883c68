"""Validation of the records of an import: the upsert schemas, with names in place of ids."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from marshmallow import ValidationError

from app.conversations.preparation import prepare_conversation
from app.core.errors import InvalidInput
from app.imports.campaign_shapes import CampaignUpsert
from app.imports.contact_shapes import names_in
from app.imports.conversation_shapes import ConversationUpsert
from app.imports.directory_shapes import CallCenterUpsert, ExecutiveUpsert
from app.imports.external_ids import agreed
from app.imports.formats.items import Kind
from app.imports.names import FIELDS
from app.imports.preparing import Checked
from app.imports.voice_call_shapes import VoiceCallUpsert
from app.redaction.redactor import Redactor
from app.voice_calls.preparation import prepare_voice_call
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Text
from app.web.schemas.messages import REQUIRED, details_of


class _Names(CamelSchema):
    """The names that may stand in place of ids, for shapes that do not have them themselves."""

    engagement = Text(200, low=1)
    campaign = Text(200, low=1)
    call_center = Text(200, low=1)
    executive = Text(200, low=1)


_SHAPES: Mapping[str, CamelSchema] = MappingProxyType(
    {
        Kind.VOICE_CALL: VoiceCallUpsert(),
        Kind.CONVERSATION: ConversationUpsert(),
        Kind.CAMPAIGN: CampaignUpsert(),
        Kind.CALL_CENTER: CallCenterUpsert(),
        Kind.EXECUTIVE: ExecutiveUpsert(),
    }
)
_DRAFTS: Mapping[str, Callable[[dict[str, Any], Redactor], dict[str, Any]]] = MappingProxyType(
    {Kind.VOICE_CALL: prepare_voice_call, Kind.CONVERSATION: prepare_conversation}
)
_NAMES = _Names()
_COLUMNS = {field.data_key: name for name, field in _NAMES.fields.items()}


def check(redactor: Redactor, kind: str, fields: Mapping[str, Any]) -> Checked:
    """Validate a record in the native form, and mask the texts of a conversation or call.

    Raises:
        InvalidInput: naming each field that is not acceptable.
    """
    shape = _SHAPES[kind]
    # Null in place of a name is no name.
    given = {
        name: value for name, value in fields.items() if value is not None or name not in FIELDS
    }
    apart = [name for name in FIELDS if name in given and _COLUMNS[name] not in shape.fields]
    try:
        apart_names = _NAMES.load({name: given.pop(name) for name in _taken(shape, apart)})
        values = shape.load(given)
    except ValidationError as error:
        raise InvalidInput(details=details_of({"json": error.messages_dict})) from error
    found = names_in(values) | names_in(apart_names)
    for name in found:
        if values.get(FIELDS[name].column) is not None:
            raise InvalidInput.field(name, "Give the name or the id, not both.")
    external_id = values.pop("external_id", None)
    if external_id is None:
        raise InvalidInput.field("externalId", "This field is required.", code=REQUIRED)
    if kind in _DRAFTS:
        values = _DRAFTS[kind](values, redactor)
    return Checked(agreed(external_id, None), values, found)


def _taken(shape: CamelSchema, apart: Iterable[str]) -> list[str]:
    """Leave out the names of what records of this kind do not refer to: these are unknown fields."""
    return [name for name in apart if FIELDS[name].column in shape.fields]
