"""Custom scorecards: drafts completed from the default, checked, and stored as versions that never change."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.rows import find_row, require_match
from app.core.errors import Conflict, Detail, InvalidInput
from app.core.ids import new_id
from app.judge.scorecard.schema import RETIRED_PARAMETERS
from app.scorecards import default_scorecards as defaults
from app.scorecards import service
from app.scorecards.lint import warnings_of
from app.scorecards.models import ScorecardVersion, StoredScorecard
from app.scorecards.problems import Finding, problems_between_parts, problems_of_criteria

MOST_SCORECARDS = 200
MOST_VERSIONS = 1_000
_TAKEN_OVER = ("passThreshold", "bands", "maxFailedWeightPercent")
_MERGED = ("minimum", "metrics")
_PLAIN = {"criticality": "none", "errorClass": "none", "failsAt": 0, "suggestion": ""}
_YES_OR_NO = (
    {"answer": "yes", "score": 1, "anchor": "It is so."},
    {"answer": "no", "score": 0, "anchor": "It is not so."},
)
_METHODS = {"binary": "rule", "scale": "rule", "metric": "metric"}


@dataclass(frozen=True, slots=True)
class ScorecardCheck:
    document: dict[str, Any]
    errors: list[Finding]
    warnings: list[Finding]


def check(
    draft: Mapping[str, Any], *, channel: str, version: int = 1, has_model: bool = True
) -> ScorecardCheck:
    """Complete a draft that its schema accepts; find its errors, and its warnings once every criterion is valid.

    Args:
        has_model: whether the service has a language model, without which some criteria are never judged.
    """
    document, errors = _completed(draft, channel=channel, version=version)
    errors = errors or problems_of_criteria(document)
    if errors:
        return ScorecardCheck(document, errors, [])
    warnings = warnings_of(document, has_model=has_model)
    return ScorecardCheck(document, problems_between_parts(document), warnings)


def complete_document(draft: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """Return a draft as it would be stored, without storing it.

    Args:
        where: the field of the request that contains the draft.

    Raises:
        InvalidInput: the document is invalid; every error is listed.
    """
    return _require_valid(check(draft, channel=draft["channel"]), where=where).document


def create(session: Session, draft: Mapping[str, Any], *, has_model: bool = True) -> dict[str, Any]:
    """Store a new scorecard as version 1, and show it with its warnings.

    Raises:
        InvalidInput: the document is invalid; every error is listed.
        Conflict: the name is taken, or there are too many scorecards.
    """
    checked = _require_valid(check(draft, channel=draft["channel"], has_model=has_model))
    if (session.scalar(select(func.count()).select_from(StoredScorecard)) or 0) >= MOST_SCORECARDS:
        raise Conflict(
            f"There are {MOST_SCORECARDS} scorecards, which is the limit: add a version to one."
        )
    now = utc_now()
    row = StoredScorecard(
        id=new_id("sc"),
        channel=checked.document["channel"],
        version=1,
        created_at=now,
        **_listed_columns(checked.document),
        updated_at=now,
    )
    _store(session, row, checked.document)
    return _shown(session, row, checked)


def add_version(
    session: Session,
    scorecard_id: str,
    draft: Mapping[str, Any],
    *,
    if_match: str | None = None,
    has_model: bool = True,
) -> dict[str, Any]:
    """Store the next version of a scorecard, which new evaluations use from now on.

    Raises:
        NotFound: there is no such scorecard.
        Conflict: it is a default, the name is taken, or it has too many versions.
        PreconditionFailed: `if_match` names another version than the current one.
        InvalidInput: the document is invalid or for another channel.
    """
    if defaults.channel_of(scorecard_id) is not None:
        raise Conflict("Default scorecards cannot be changed; create a custom scorecard instead.")
    row = find_row(session, StoredScorecard, scorecard_id, "scorecard", for_update=True)
    require_match(row, if_match)
    if draft.get("channel", row.channel) != row.channel:
        message = f"The channel of this scorecard is {row.channel}, in every version."
        raise InvalidInput.field("channel", message)
    if row.version >= MOST_VERSIONS:
        raise Conflict(
            f"There are {MOST_VERSIONS} versions, which is the limit: create another scorecard."
        )
    draft = {"name": row.name, "description": row.description, **draft}
    checked = check(draft, channel=row.channel, version=row.version + 1, has_model=has_model)
    _require_valid(checked)
    row.version += 1
    row.updated_at = utc_now()
    for name, value in _listed_columns(checked.document).items():
        setattr(row, name, value)
    _store(session, row, checked.document)
    return _shown(session, row, checked)


def _completed(
    draft: Mapping[str, Any], *, channel: str, version: int
) -> tuple[dict[str, Any], list[Finding]]:
    """Complete a draft with the default scorecard of its channel.

    A criterion with `use` starts from the criterion of that key. Returns the document, which needs
    no other to be understood, and what could not be completed.
    """
    shipped = deepcopy(defaults.document_of(channel))
    document = {**deepcopy(dict(draft)), "channel": channel, "version": version}
    for name in _TAKEN_OVER:
        document.setdefault(name, shipped[name])
    for name in _MERGED:
        document[name] = {**shipped[name], **document.get(name, {})}
    if "topics" not in document and "topics" in shipped:
        document["topics"] = shipped["topics"]
    known = {criterion["key"]: criterion for criterion in shipped["criteria"]}
    findings: list[Finding] = []
    criteria = []
    for index, criterion in enumerate(document.get("criteria", ())):
        use = criterion.pop("use", None)
        if use is not None and use not in known:
            message = f"{use!r} is not one of {', '.join(known)}."
            findings.append(Finding(f"criteria[{index}].use", "ENUM", message))
        criteria.append(_without_retired(_from_shipped(criterion, known.get(use))))
    document["criteria"] = criteria
    document.setdefault("sections", _sections(criteria, shipped["sections"]))
    return document, findings


def _require_valid(checked: ScorecardCheck, *, where: str = "") -> ScorecardCheck:
    if checked.errors:
        raise InvalidInput(
            details=[
                Detail(
                    location="json",
                    field=f"{where}.{finding.field}" if where else finding.field,
                    code=finding.code,
                    message=finding.message,
                )
                for finding in checked.errors
            ]
        )
    return checked


def _store(session: Session, row: StoredScorecard, document: dict[str, Any]) -> None:
    if row.folded_name in {
        defaults.document_of(channel)["name"].casefold() for channel in defaults.ALL
    }:
        raise Conflict("A default scorecard has this name: choose another.")
    try:
        with session.begin_nested():
            session.add(row)
            session.flush()
    except IntegrityError as error:
        raise Conflict("A scorecard of this name exists already: choose another.") from error
    session.add(
        ScorecardVersion(
            scorecard_id=row.id,
            version=row.version,
            document={
                name: value for name, value in document.items() if name not in ("id", "version")
            },
            created_at=row.updated_at,
            **service.listed_of(document),
        )
    )
    session.flush()


def _listed_columns(document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": document["name"],
        "folded_name": document["name"].casefold(),
        "description": document.get("description"),
    }


def _shown(session: Session, row: StoredScorecard, checked: ScorecardCheck) -> dict[str, Any]:
    shown = service.get(session, row.id)
    return {**shown, "warnings": [warning.as_json() for warning in checked.warnings]}


def _from_shipped(criterion: dict[str, Any], shipped: Mapping[str, Any] | None) -> dict[str, Any]:
    if shipped is None:
        return _plain(criterion)
    judge = {**shipped["judge"], **criterion.get("judge", {})}
    if judge.get("rule") == shipped["judge"].get("rule"):
        own = criterion.get("judge", {}).get("parameters", {})
        judge["parameters"] = {**shipped["judge"].get("parameters", {}), **own}
    if "rule" not in judge:
        judge.pop("parameters", None)
    return {**deepcopy(dict(shipped)), **criterion, "judge": judge}


def _without_retired(criterion: dict[str, Any]) -> dict[str, Any]:
    """Leave out parameters that have no effect any more."""
    judge = criterion["judge"]
    if judge.get("rule") == "completeness" and "parameters" in judge:
        judge["parameters"] = {
            name: value
            for name, value in judge["parameters"].items()
            if name not in RETIRED_PARAMETERS
        }
    return criterion


def _plain(criterion: dict[str, Any]) -> dict[str, Any]:
    kind = criterion.get("type")
    judge = dict(criterion.get("judge", {}))
    method = _METHODS.get(str(kind), "rule") if "rule" in judge else "model"
    judge.setdefault("methods", [method])
    options = [dict(option) for option in _YES_OR_NO] if kind == "binary" else []
    return {**_PLAIN, "options": options, **criterion, "judge": judge}


def _sections(
    criteria: list[dict[str, Any]], shipped: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    used = {criterion.get("section") for criterion in criteria}
    return [section for section in shipped if section["key"] in used]
