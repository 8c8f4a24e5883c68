"""References of records: the external id, and rows by name, which an import may create."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.campaigns.service import CAMPAIGNS
from app.core.database.rows import NamedTable
from app.core.errors import InvalidInput
from app.directory import service as directory
from app.directory.service import CALL_CENTERS, EXECUTIVES
from app.engagements import service as engagements
from app.engagements.service import ENGAGEMENTS
from app.imports.loading.input import ImportOptions

_MAX_LENGTH = 200
EXTERNAL_ID_PATTERN = rf"[^/\x00-\x1f\x7f-\x9f]{{1,{_MAX_LENGTH}}}"
EXTERNAL_ID_MESSAGE = (
    f"externalId must have 1 to {_MAX_LENGTH} characters, without slashes and control characters."
)
EXTERNAL_ID_PARAMETER: dict[str, Any] = {
    "in": "path",
    "name": "external_id",
    "required": True,
    "description": "Your own key of the record, percent-encoded UTF-8.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": _MAX_LENGTH,
        "pattern": f"^{EXTERNAL_ID_PATTERN}$",
    },
}


def normalised_external_id(in_path: str, in_body: str | None = None) -> str:
    """Return the external id of a path, which the body may repeat, in NFC."""
    external_id = unicodedata.normalize("NFC", in_path)
    if len(external_id) > _MAX_LENGTH:
        raise InvalidInput.field("externalId", EXTERNAL_ID_MESSAGE, code="LENGTH", location="path")
    # U+FFFD replaces bytes that are not UTF-8: two different keys would become one.
    if not re.fullmatch(EXTERNAL_ID_PATTERN, external_id) or "\ufffd" in external_id:
        raise InvalidInput.field("externalId", EXTERNAL_ID_MESSAGE, location="path")
    if in_body is not None and unicodedata.normalize("NFC", in_body) != external_id:
        raise InvalidInput.field("externalId", "externalId must equal the one in the path.")
    return external_id


class _NamedReference(NamedTuple):
    """A reference that a record gives by id or by name.

    `attribute` is the Python name of the field with the name.
    """

    attribute: str
    id_prefix: str
    table: NamedTable[Any]

    @property
    def column(self) -> str:
        """The column of the id."""
        return f"{self.attribute}_id"

    @property
    def id_field(self) -> str:
        """The API's field of the id."""
        return self.table.field


# By the API's field of the name.
NAMED_REFERENCES: Mapping[str, _NamedReference] = {
    "engagement": _NamedReference("engagement", "eng", ENGAGEMENTS),
    "campaign": _NamedReference("campaign", "camp", CAMPAIGNS),
    "callCenter": _NamedReference("call_center", "cc", CALL_CENTERS),
    "executive": _NamedReference("executive", "exec", EXECUTIVES),
}


class NameResolver:
    """Resolves names to ids within one transaction; each name is looked up once."""

    def __init__(self, session: Session, options: ImportOptions | None = None) -> None:
        """Resolve names; missing rows are created only if `options` say so."""
        self._session = session
        self._options = options or ImportOptions()
        self._ids: dict[tuple[str, str], str] = {}

    def ids_of(self, names: Mapping[str, str]) -> dict[str, str]:
        """Return the ids by column for names by field.

        Raises:
            InvalidInput: nothing has this name and the options do not create it, or several have it.
        """
        return {
            NAMED_REFERENCES[field].column: self._id_of(field, name)
            for field, name in names.items()
        }

    def missing(self, records: Iterable[Mapping[str, str]]) -> set[str]:
        """Look the names of many records up at once; return the unresolved ones, with the field.

        `ids_of` then queries no known name.
        """
        names: dict[str, set[str]] = {}
        for record in records:
            for field, name in record.items():
                names.setdefault(field, set()).add(name)
        missing = set()
        for field, texts in names.items():
            known = NAMED_REFERENCES[field].table.ids_of_names(self._session, texts)
            self._ids.update({(field, name): row_id for name, row_id in known.items()})
            missing |= {f"{field} {name}" for name in texts - known.keys()}
        return missing

    def forget(self) -> None:
        """Forget the ids: a savepoint that created some of these rows was rolled back."""
        self._ids.clear()

    def _id_of(self, field: str, name: str) -> str:
        if (field, name) not in self._ids:
            table = NAMED_REFERENCES[field].table
            row = table.find_by_name(self._session, name)
            if row is None and not self._options.create_missing:
                raise InvalidInput.field(field, f"There is no {table.noun} of this name.")
            self._ids[field, name] = row.id if row is not None else self._created(field, name)
        return self._ids[field, name]

    def _created(self, field: str, name: str) -> str:
        session, external_id, values = self._session, _external_id_of(name), {"name": name}
        if field == "engagement":
            engagement = engagements.create(session, name=name, type=self._options.engagement_type)
            return str(engagement["id"])
        if field == "campaign":
            return str(campaigns.upsert(session, external_id, values).record["id"])
        if field == "callCenter":
            return directory.upsert_call_center(session, external_id, values).record.id
        return directory.upsert_executive(session, external_id, values).record.id


def _external_id_of(name: str) -> str:
    """Derive an external id from a name, so that two imports at once create one row."""
    external_id = f"name:{name}"
    if re.fullmatch(EXTERNAL_ID_PATTERN, external_id):
        return external_id
    return f"name:{hashlib.sha256(name.encode()).hexdigest()[:32]}"
