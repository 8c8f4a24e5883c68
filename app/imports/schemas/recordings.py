"""Schema of the metadata of an imported recording."""

from collections.abc import Mapping
from typing import Any

from app.audio_files.schemas import UploadCreate
from app.imports.schemas.base import ReferencesByName, pop_names, reference_name
from app.web.schemas.messages import load_valid


class _RecordingUpload(UploadCreate, ReferencesByName):
    """A recording whose references may be given by name."""

    engagement = reference_name()
    campaign = reference_name()
    call_center = reference_name()
    executive = reference_name()


_SCHEMA = _RecordingUpload()


def validate_recording(fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the columns of a recording, and the names that are given in place of ids."""
    values = load_valid(_SCHEMA, fields, location="json")
    return values, pop_names(values)
