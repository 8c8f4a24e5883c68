"""Fields of a scorecard document as plain data, from which forms are built."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from marshmallow import Schema, fields

from app.scorecards.schemas.document import ScorecardVersionCreate
from app.scorecards.schemas.fields import AnswerField
from app.web.schemas.fields import Choice, Labels


@dataclass(frozen=True, slots=True)
class DocumentField:
    """A field of the document.

    Attributes:
        label: what it is, in words; empty where the document says it in other places only.
        members: the fields of an object, by their names.
        item: what a list contains.
    """

    kind: Literal["text", "number", "flag", "choice", "labels", "list", "object"]
    label: str = ""
    members: Mapping[str, "DocumentField"] = field(default_factory=dict)
    item: "DocumentField | None" = None

    def at(self, path: Sequence[str | int]) -> "DocumentField | None":
        """Return the field of a path such as `["criteria", 0, "title"]`; None where there is none."""
        found: DocumentField | None = self
        for step in path:
            if found is not None:
                found = found.item if isinstance(step, int) else found.members.get(step)
        return found


def _described(schema_field: fields.Field[Any]) -> DocumentField:
    label = schema_field.metadata.get("description", "").rstrip(".").replace("`", "")
    if isinstance(schema_field, fields.Nested):
        return DocumentField("object", label, members=_members(schema_field.schema))
    if isinstance(schema_field, fields.List):
        return DocumentField("list", label, item=_described(schema_field.inner))
    return DocumentField(_kind(schema_field), label)


def _members(schema: Schema) -> dict[str, DocumentField]:
    return {str(member.data_key): _described(member) for member in schema.fields.values()}


def _kind(schema_field: fields.Field[Any]) -> Literal["text", "number", "flag", "choice", "labels"]:
    if isinstance(schema_field, fields.Boolean):
        return "flag"
    if isinstance(schema_field, AnswerField | fields.Integer | fields.Float):
        return "number"
    if isinstance(schema_field, Choice):
        return "choice"
    return "labels" if isinstance(schema_field, Labels) else "text"


DOCUMENT = DocumentField("object", members=_members(ScorecardVersionCreate()))
METRICS = DOCUMENT.members["metrics"].members
