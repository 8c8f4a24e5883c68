"""Context of a source: facts about it, stored with its evaluation and read by the judge."""

from dataclasses import fields
from datetime import datetime
from typing import Any

from app.ai.context import Context
from app.core.clock import iso_utc, utc_now
from app.evaluations.models import Evaluation

_NAMES = tuple(field.name for field in fields(Context))
_MOMENTS = frozenset(field.name for field in fields(Context) if "datetime" in str(field.type))


def document_of(context: Context) -> dict[str, Any]:
    """Return the known facts as a JSON document."""
    return {
        name: iso_utc(value) if isinstance(value, datetime) else value
        for name in _NAMES
        if (value := getattr(context, name)) is not None
    }


def context_of(evaluation: Evaluation) -> Context:
    """Return the context of an evaluation, from its document and its columns."""
    known: dict[str, Any] = {
        name: datetime.fromisoformat(value) if name in _MOMENTS else value
        for name, value in (evaluation.context or {}).items()
    }
    known["brand_names"] = tuple(known.get("brand_names", ()))
    columns: dict[str, Any] = {
        "evaluation_id": evaluation.id,
        "generated_at": utc_now(),
        "revision": evaluation.revision,
        "direction": evaluation.direction,
        "campaign_id": evaluation.campaign_id,
        "labels": evaluation.labels,
    }
    return Context(**{**known, **columns})
