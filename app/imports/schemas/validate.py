"""Validation of imported records: the upsert schemas, with names in place of ids."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from app.audio_files.schemas import UploadCreate
from app.conversations.preparation import prepare_conversation
from app.core.errors import InvalidInput
from app.imports.external_ids import normalised_external_id
from app.imports.formats.records import Kind
from app.imports.loading.named_references import NAMED_REFERENCES
from app.imports.loading.normalise import ValidRecord
from app.imports.schemas.base import ReferencesByName, pop_names, reference_name
from app.imports.schemas.campaigns import CampaignUpsert
from app.imports.schemas.conversations import ConversationUpsert
from app.imports.schemas.directory import CallCenterUpsert, ExecutiveUpsert
from app.imports.schemas.voice_calls import VoiceCallUpsert
from app.redaction.redactor import Redactor
from app.voice_calls.preparation import prepare_voice_call
from app.web.schemas.base import REQUIRED, CamelSchema, load_valid


class _CampaignRecord(CampaignUpsert, ReferencesByName):
    """A campaign that may name its engagement."""

    engagement = reference_name()


class _ExecutiveRecord(ExecutiveUpsert, ReferencesByName):
    """An executive that may name the call centre."""

    call_center = reference_name()


class _RecordingUpload(UploadCreate, ReferencesByName):
    """A recording whose references may be given by name."""

    engagement = reference_name()
    campaign = reference_name()
    call_center = reference_name()
    executive = reference_name()


SCHEMAS: Mapping[str, CamelSchema] = MappingProxyType(
    {
        Kind.VOICE_CALL: VoiceCallUpsert(),
        Kind.CONVERSATION: ConversationUpsert(),
        Kind.CAMPAIGN: _CampaignRecord(),
        Kind.CALL_CENTER: CallCenterUpsert(),
        Kind.EXECUTIVE: _ExecutiveRecord(),
    }
)
_RECORDING = _RecordingUpload()
_PREPARATIONS: Mapping[str, Callable[[dict[str, Any], Redactor], dict[str, Any]]] = (
    MappingProxyType({Kind.VOICE_CALL: prepare_voice_call, Kind.CONVERSATION: prepare_conversation})
)


def validate_record(redactor: Redactor, kind: str, fields: Mapping[str, Any]) -> ValidRecord:
    """Validate a record in the native form, and mask the texts of a conversation or a call."""
    # A null name means no name.
    without_null_names = {
        name: value
        for name, value in fields.items()
        if value is not None or name not in NAMED_REFERENCES
    }
    values = load_valid(SCHEMAS[kind], without_null_names, location="json")
    names = pop_names(values)
    external_id = values.pop("external_id", None)
    if external_id is None:
        raise InvalidInput.field("externalId", "externalId is required.", code=REQUIRED)
    if kind in _PREPARATIONS:
        values = _PREPARATIONS[kind](values, redactor)
    return ValidRecord(normalised_external_id(external_id), values, names)


def validate_recording(fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the columns of a recording, and the names that are given in place of ids."""
    values = load_valid(_RECORDING, fields, location="json")
    return values, pop_names(values)
