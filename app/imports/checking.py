"""What a record has to look like: the shapes of the upserts, and names in place of ids."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from marshmallow import ValidationError

from app.core.errors import InvalidInput
from app.imports import names
from app.imports.campaign_shapes import CampaignUpsert
from app.imports.directory_shapes import CallCenterUpsert, ExecutiveUpsert
from app.imports.external_ids import agreed
from app.imports.formats.items import Kind
from app.imports.preparing import Checked
from app.web.fields import Text
from app.web.messages import REQUIRED, details_of
from app.web.shapes import CamelSchema


class _Names(CamelSchema):
    """The names that may stand in place of ids; null is none."""

    engagement = Text(200, low=1, allow_none=True)
    campaign = Text(200, low=1, allow_none=True)
    call_center = Text(200, low=1, allow_none=True)
    executive = Text(200, low=1, allow_none=True)


_SHAPES: Mapping[str, CamelSchema] = MappingProxyType(
    {
        Kind.CAMPAIGN: CampaignUpsert(),
        Kind.CALL_CENTER: CallCenterUpsert(),
        Kind.EXECUTIVE: ExecutiveUpsert(),
    }
)
_NAMES = _Names()
_COLUMNS = {field.data_key: name for name, field in _NAMES.fields.items()}


def check(kind: str, fields: Mapping[str, Any]) -> Checked:
    """Check a record in the native form.

    Raises:
        InvalidInput: naming each field that is not acceptable.
    """
    shape = _SHAPES[kind]
    named = {name: each for name, each in names.FIELDS.items() if each.column in shape.fields}
    given = {name: fields[name] for name in named if fields.get(name) is not None}
    try:
        texts = _NAMES.load(given)
        values = shape.load({name: value for name, value in fields.items() if name not in named})
    except ValidationError as error:
        raise InvalidInput(details=details_of({"json": error.messages_dict})) from error
    for name in given:
        if values.get(named[name].column) is not None:
            raise InvalidInput.field(name, "Give the name or the id, not both.")
    external_id = values.pop("external_id", None)
    if external_id is None:
        raise InvalidInput.field("externalId", "This field is required.", code=REQUIRED)
    by_field = {name: texts[_COLUMNS[name]] for name in given}
    return Checked(agreed(external_id, None), values, by_field)
