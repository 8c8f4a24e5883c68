"""References of records by name: looked up once, and created where the options of an import say so."""

import hashlib
import re
from collections.abc import Iterable, Mapping

from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.core.database.upserts import EXTERNAL_ID_PATTERN
from app.core.errors import InvalidInput
from app.directory import service as directory
from app.engagements import service as engagements
from app.evaluations.sources import REFERENCES
from app.imports.loading.input import ImportOptions

_TABLES = {table.name: table for table in REFERENCES}


class UnknownName(InvalidInput):
    """A record names what does not exist."""


class NameResolver:
    """Resolves names to ids within one transaction; each name is looked up once."""

    def __init__(self, session: Session, options: ImportOptions) -> None:
        """Resolve names; missing rows are created only if `options` say so."""
        self._session = session
        self._options = options
        self._ids: dict[tuple[str, str], str] = {}

    def ids_of(self, names: Mapping[str, str]) -> dict[str, str]:
        """Return the ids by column for the names of references.

        An executive that is created belongs to the call centre that is named with it.

        Raises:
            UnknownName: nothing has a name, and the options do not create it.
            InvalidInput: several have a name.
        """
        ids: dict[str, str] = {}
        # In this order the call centre comes before the executive.
        for reference in sorted(names):
            ids[_TABLES[reference].column] = self._id_of(reference, names[reference], ids)
        return ids

    def missing(self, records: Iterable[Mapping[str, str]]) -> set[str]:
        """Look the names of many records up at once; return the unresolved ones, with the reference.

        `ids_of` then queries no known name.
        """
        names: dict[str, set[str]] = {}
        for record in records:
            for reference, name in record.items():
                names.setdefault(reference, set()).add(name)
        missing = set()
        for reference, texts in names.items():
            known = _TABLES[reference].ids_of_names(self._session, texts)
            self._ids.update({(reference, name): row_id for name, row_id in known.items()})
            missing |= {f"{reference} {name}" for name in texts - known.keys()}
        return missing

    def forget(self) -> None:
        """Forget the ids: a savepoint that created some of these rows was rolled back."""
        self._ids.clear()

    def _id_of(self, reference: str, name: str, others: Mapping[str, str]) -> str:
        if (reference, name) not in self._ids:
            table = _TABLES[reference]
            row = table.find_by_name(self._session, name)
            if row is None and not self._options.create_missing:
                message = f"There is no {table.noun} of this name: correct it, or let the import create it."
                raise UnknownName.field(table.name_field, message)
            self._ids[reference, name] = row.id if row else self._created(reference, name, others)
        return self._ids[reference, name]

    def _created(self, reference: str, name: str, others: Mapping[str, str]) -> str:
        session, external_id = self._session, _external_id_of(name)
        values: dict[str, str | None] = {"name": name}
        if reference == "engagement":
            engagement = engagements.create(session, name=name, type=self._options.engagement_type)
            return str(engagement["id"])
        if reference == "campaign":
            return str(campaigns.upsert(session, external_id, values).record["id"])
        if reference == "call_center":
            return directory.upsert_call_center(session, external_id, values).record.id
        values["call_center_id"] = others.get("call_center_id")
        return directory.upsert_executive(session, external_id, values).record.id


def _external_id_of(name: str) -> str:
    """Derive an external id from a name, so that two imports at once create one row."""
    external_id = f"name:{name}"
    if re.fullmatch(EXTERNAL_ID_PATTERN, external_id):
        return external_id
    return f"name:{hashlib.sha256(name.encode()).hexdigest()[:32]}"
