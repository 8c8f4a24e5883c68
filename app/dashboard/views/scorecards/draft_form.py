"""Form of a draft: its fields are named by their paths in the document, as findings name them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.ai.dialogue.friction import WEIGHTS
from app.ai.scorecard.schema import KNOWN_RULES, NUMBER
from app.core.errors import InvalidInput
from app.core.json_loader import load_object

# Fields of the form that are no fields of the document.
OWN_FIELDS = frozenset({"form_token", "version", "action"})
# Fields that the form edits; all others travel through it in `rest`, as JSON.
DOCUMENT_FIELDS = frozenset(
    {"name", "description", "languages", "passThreshold", "sections", "criteria"}
)
CRITERION_FIELDS = frozenset(
    {
        *("key", "title", "section", "question", "type", "weight", "criticality", "errorClass"),
        *("options", "judge", "notApplicableWhen", "suggestion"),
    }
)
STATEMENT_LISTS = ("statements", "requiredStatements")
_REST, _WAS = "rest", "was"
_FIELD = re.compile(
    r"(name|description|languages|passThreshold|rest"
    r"|sections\[\d{1,3}\]\.(key|title)"
    r"|criteria\[\d{1,3}\]\.(key|title|section|question|type|weight|criticality|errorClass"
    r"|notApplicableWhen|suggestion|rest|was|options\[\d{1,3}\]\.(answer|score|anchor)"
    r"|judge\.(rule|methods|parameters\.\w+(\.\w+|\[\d{1,3}\]\.\w+)?)))"
)
_STEP = re.compile(r"(\w+)|\[(\d+)\]")
_WHOLE, _DECIMAL = re.compile(r"-?\d{1,15}"), re.compile(r"-?\d{1,15}[.,]\d{1,15}")
_PARAMETERS = {
    name: kind
    for rule in KNOWN_RULES.values()
    for name, kind in {**rule.parameters, **rule.optional}.items()
}
_NUMBERS = frozenset(
    {
        *("weight", "score", "passThreshold", "answer", "atLeast", "atMost"),
        *("firstTurns", "lastTurns", *WEIGHTS),
        *(name for name, kind in _PARAMETERS.items() if kind in (int, NUMBER)),
    }
)
_YES_NO = frozenset(name for name, kind in _PARAMETERS.items() if kind is bool)
_LINES = frozenset({"anyOf", "requires", "methods", "languages"})


def empty_document(channel: str) -> dict[str, Any]:
    """Return a draft with one section and no criterion."""
    section = {"key": "section_1", "title": "First section"}
    return {"channel": channel, "sections": [section], "criteria": []}


def document_of(form: Mapping[str, str], shipped: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document that was typed; what is no number stays as typed, for the checks.

    Args:
        shipped: the default scorecard of the channel, whose parameters a newly chosen rule gets.

    Raises:
        InvalidInput: a field is not one of the form.
        MalformedRequest: a hidden field is no JSON.
    """
    tree: dict[str | int, Any] = {}
    for name, text in form.items():
        if name not in OWN_FIELDS:
            _set(tree, name, text)
    document: dict[str, Any] = _with_lists(tree)
    document = {**_rest(document, DOCUMENT_FIELDS), **document}
    document["criteria"] = [
        _criterion(criterion, shipped) for criterion in document.get("criteria", [])
    ]
    return tidy(document)


def tidy(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without empty fields, so that forms and files give the same one.

    Raises:
        InvalidInput: a parameter that is a list or an object is none, and no form could show it.
    """
    kept: dict[str, Any] = _without_empty(document)
    kept["sections"], kept["criteria"] = kept.get("sections", []), kept.get("criteria", [])
    for index, criterion in enumerate(kept["criteria"]):
        judge = criterion.get("judge", {})
        rule = KNOWN_RULES.get(judge.get("rule", ""))
        for name, kind in rule.parameters.items() if rule else ():
            if kind in (list, dict):
                judge.setdefault("parameters", {}).setdefault(name, kind())
        for name, value in judge.get("parameters", {}).items():
            _require_shape(f"criteria[{index}].judge.parameters.{name}", name, value)
            if name in STATEMENT_LISTS:
                _name_statements(value)
    return kept


def rest_of(part: Mapping[str, Any], edited: frozenset[str]) -> dict[str, Any]:
    """Return the fields of a part that the form does not edit."""
    return {name: value for name, value in part.items() if name not in edited}


def _set(tree: dict[str | int, Any], name: str, text: str) -> None:
    if not _FIELD.fullmatch(name):
        raise InvalidInput.field(name, "There is no such field.", location="form")
    steps = [int(index) if index else step for step, index in _STEP.findall(name)]
    for step in steps[:-1]:
        tree = tree.setdefault(step, {})
        if not isinstance(tree, dict):
            raise InvalidInput.field(name, "There is no such field.", location="form")
    tree[steps[-1]] = _value(str(steps[-1]), text.replace("\r\n", "\n"))


def _value(name: str, text: str) -> Any:
    if name in _LINES:
        words = name == "languages"
        lines = text.replace(",", " ").split() if words else text.split("\n")
        return [line.strip() for line in lines if line.strip()]
    if name in _YES_NO:
        return text == "true" if text in ("true", "false") else text
    if name in _NUMBERS and _WHOLE.fullmatch(text.strip()):
        return int(text)
    if name in _NUMBERS and _DECIMAL.fullmatch(text.strip()):
        return float(text.replace(",", "."))
    return text


def _with_lists(tree: Any) -> Any:
    """Turn objects with numbers for names into lists."""
    if not isinstance(tree, dict):
        return tree
    if tree and all(isinstance(step, int) for step in tree):
        return [_with_lists(tree[step]) for step in sorted(tree)]
    return {step: _with_lists(value) for step, value in tree.items()}


def _rest(part: dict[str, Any], edited: frozenset[str]) -> dict[str, Any]:
    text = part.pop(_REST, "")
    return rest_of(load_object(text.encode(), noun="hidden field"), edited) if text else {}


def _criterion(criterion: dict[str, Any], shipped: Mapping[str, Any]) -> dict[str, Any]:
    former_type, _, former_rule = str(criterion.pop(_WAS, "")).partition(" ")
    criterion = {**_rest(criterion, CRITERION_FIELDS), **criterion}
    kind, judge = criterion.get("type", ""), criterion.get("judge", {})
    rule = judge.get("rule", "")
    if former_type != kind:
        criterion["options"] = _scale() if kind == "scale" else []
        if rule in KNOWN_RULES and KNOWN_RULES[rule].answers != kind:
            rule = ""
    if former_rule != rule:
        judge = {"rule": rule, "parameters": _shipped_parameters(rule, shipped)}
    return {**criterion, "judge": judge}


def _scale() -> list[dict[str, Any]]:
    return [{"answer": level, "score": level / 2, "anchor": ""} for level in range(3)]


def _shipped_parameters(rule: str, shipped: Mapping[str, Any]) -> dict[str, Any]:
    judges = (criterion["judge"] for criterion in shipped["criteria"])
    same = (judge.get("parameters", {}) for judge in judges if rule and judge.get("rule") == rule)
    return dict(next(same, {}))


def _require_shape(path: str, name: str, value: Any) -> None:
    kind = _PARAMETERS.get(name)
    if kind is dict and not isinstance(value, dict):
        raise InvalidInput.field(path, "This must be an object.", location="form")
    if name in STATEMENT_LISTS:
        if not _is_list_of(dict, value):
            raise InvalidInput.field(path, "This must be a list of objects.", location="form")
        for index, statement in enumerate(value):
            _require_shape(f"{path}[{index}].anyOf", "anyOf", statement.get("anyOf", []))
    elif kind is list and not _is_list_of(str, value):
        raise InvalidInput.field(path, "This must be a list of texts.", location="form")


def _is_list_of(kind: type, value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(member, kind) for member in value)


def _name_statements(statements: Sequence[dict[str, Any]]) -> None:
    """Give every statement a key; people see only its title."""
    known = {statement.get("key") for statement in statements}
    free = (f"statement_{number}" for number in range(1, len(statements) + len(known) + 1))
    unused = (key for key in free if key not in known)
    for statement in statements:
        if any(statement.values()) and not statement.get("key"):
            statement["key"] = next(unused)


def _without_empty(value: Any) -> Any:
    """Leave out empty members; in lists only at the end, so that the others keep their places."""
    if isinstance(value, Mapping):
        members = {name: _without_empty(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if not _is_empty(member)}
    if isinstance(value, list):
        return _without_last_empty(_without_empty(member) for member in value)
    return value


def _without_last_empty(members: Iterable[Any]) -> list[Any]:
    kept = list(members)
    while kept and _is_empty(kept[-1]):
        kept.pop()
    return kept


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})
