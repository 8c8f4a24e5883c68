"""Validation of imported records by the schemas of their packages."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from app.audio_files.schemas import UploadCreate
from app.campaigns.schemas import CampaignUpsert
from app.conversations.preparation import prepare_conversation
from app.conversations.schemas import ConversationUpsert
from app.core.database.upserts import normalised_external_id
from app.core.errors import InvalidInput
from app.core.json_documents import camel_case
from app.core.runtime import Runtime
from app.directory.schemas import CallCenterUpsert, ExecutiveUpsert
from app.evaluations.schemas.contacts import NamesOfReferences
from app.imports.formats.records import Kind
from app.imports.loading.input import ImportOptions
from app.imports.loading.normalise import Validate, ValidRecord
from app.redaction.redactor import Redactor
from app.voice_calls.schemas import VoiceCallUpsert
from app.voice_calls.service import prepare_voice_call
from app.web.schemas.base import REQUIRED, load_valid
from app.web.schemas.records import RecordUpsert, ReferencesByName


class _RecordingUpload(UploadCreate, NamesOfReferences):
    """A recording whose references may be given by name."""


SCHEMAS: Mapping[str, RecordUpsert] = MappingProxyType(
    {
        Kind.VOICE_CALL: VoiceCallUpsert(),
        Kind.CONVERSATION: ConversationUpsert(),
        Kind.CAMPAIGN: CampaignUpsert(),
        Kind.CALL_CENTER: CallCenterUpsert(),
        Kind.EXECUTIVE: ExecutiveUpsert(),
    }
)
_RECORDING = _RecordingUpload()
_PREPARATIONS: Mapping[str, Callable[[dict[str, Any], Redactor], dict[str, Any]]] = (
    MappingProxyType({Kind.VOICE_CALL: prepare_voice_call, Kind.CONVERSATION: prepare_conversation})
)


def validator(runtime: Runtime, options: ImportOptions) -> Validate:
    return partial(validate_record, Redactor.of(runtime), options.defaults)


def validate_record(
    redactor: Redactor, defaults: Mapping[str, str], kind: str, fields: Mapping[str, Any]
) -> ValidRecord:
    """Validate a record in the native form, and mask the texts of a conversation or a call."""
    external_id, values, names = _loaded(SCHEMAS[kind], fields, defaults)
    if external_id is None:
        raise InvalidInput.field("externalId", "externalId is required.", code=REQUIRED)
    if kind in _PREPARATIONS:
        values = _PREPARATIONS[kind](values, redactor)
    return ValidRecord(normalised_external_id(external_id), values, names)


def validate_recording(fields: Mapping[str, Any], defaults: Mapping[str, str]) -> ValidRecord:
    return ValidRecord(*_loaded(_RECORDING, fields, defaults))


def _loaded(
    schema: ReferencesByName, fields: Mapping[str, Any], defaults: Mapping[str, str]
) -> tuple[Any, dict[str, Any], dict[str, str]]:
    values = load_valid(schema, {**fields, **_missing(schema, fields, defaults)}, location="json")
    return values.pop("external_id", None), values, values.pop("names")


def _missing(
    schema: ReferencesByName, fields: Mapping[str, Any], defaults: Mapping[str, str]
) -> dict[str, str]:
    """Return the defaults of what the record does not give, neither by id nor by name."""
    same = [(camel_case(f"{name}_id"), camel_case(name)) for name in schema.name_fields()]
    own = ("direction", "language", "platform")
    same += [(name, name) for name in own if name in schema.fields]
    return {
        name: defaults[name]
        for names in same
        for name in set(names) & defaults.keys()
        if all(fields.get(other) is None for other in names)
    }
