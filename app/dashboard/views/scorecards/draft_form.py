"""Form of a draft: its fields are named by their paths in the document, as findings name them."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from app.core.errors import InvalidInput
from app.judge.rules.catalogue import PARAMETERS, RULES
from app.scorecards.schemas.document_fields import DOCUMENT

_EMPTY: Mapping[str, type] = dict.fromkeys(("choices", "phrases", "statements"), list) | {
    "object": dict
}
# Fields of the form that are no fields of the document.
_OWN_FIELDS = frozenset(
    {"form_token", "version", "action", "channel", "scorecardId", "baseVersion", "path"}
)
# A hidden field of each criterion: the type and the rule with which its fields were shown.
_WAS = "was"
_NAME = re.compile(r"\w+(\[\d{1,3}\])?(\.\w+(\[\d{1,3}\])?)*")
_STEP = re.compile(r"(\w+)|\[(\d+)\]")
_WHOLE, _DECIMAL = re.compile(r"-?\d{1,15}"), re.compile(r"-?\d{1,15}[.,]\d{1,15}")
# The options of a new scale.
_SCALE = [{"answer": level, "score": level / 2, "anchor": ""} for level in range(3)]
# What separates the members of a list in the text of its field; lines are its members elsewhere.
_SEPARATORS = {
    "backChannels": re.compile(r"[,\n]"),
    "fillers": re.compile(r"[,\n]"),
    "languages": re.compile(r"[,\s]"),
}
_LINES = re.compile(r"\n")


def empty_document(shipped: Mapping[str, Any]) -> dict[str, Any]:
    """Return a draft with one section, no criterion, and all else as in a scorecard that ships."""
    document = {name: shipped[name] for name in shipped if name not in ("id", "name", "version")}
    section = {"key": "section_1", "title": "First section"}
    return tidy({**document, "sections": [section], "criteria": []})


def document_of(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the document that was typed; what is no number stays as typed, for the checks.

    A newly chosen rule gets the defaults of its parameters.

    Raises:
        InvalidInput: a field is not one of the form.
    """
    tree: dict[str | int, Any] = {}
    for name, text in form.items():
        if name not in _OWN_FIELDS:
            _set(tree, name, text)
    document: dict[str, Any] = _with_lists(tree)
    document["criteria"] = [_criterion(criterion) for criterion in document.get("criteria", [])]
    return tidy(document)


def tidy(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without empty fields, so that forms and files give the same one."""
    tidied: dict[str, Any] = _without_empty(document)
    tidied.setdefault("sections", [])
    for criterion in tidied.setdefault("criteria", []):
        judge = criterion.get("judge", {})
        rule = RULES.get(judge.get("rule", ""))
        for parameter in rule.required if rule else ():
            if parameter.kind in _EMPTY:
                parameters = judge.setdefault("parameters", {})
                parameters.setdefault(parameter.name, _EMPTY[parameter.kind]())
        for name, value in judge.get("parameters", {}).items():
            if name in PARAMETERS and PARAMETERS[name].kind == "statements":
                _name_statements(value)
    return tidied


def _set(tree: dict[str | int, Any], name: str, text: str) -> None:
    steps = [int(index) if index else step for step, index in _STEP.findall(name)]
    kind = _kind(name, steps)
    if kind is None:
        raise InvalidInput.field(name, "There is no such field.", location="form")
    for step in steps[:-1]:
        tree = tree.setdefault(step, {})
        if not isinstance(tree, dict):
            raise InvalidInput.field(name, "There is no such field.", location="form")
    tree[steps[-1]] = _value(str(steps[-1]), kind, text.replace("\r\n", "\n"))


def _kind(name: str, steps: list[str | int]) -> str | None:
    """Return the kind of the field of this name; None where a form has none."""
    if not _NAME.fullmatch(name):
        return None
    if len(steps) == 3 and (steps[0], steps[2]) == ("criteria", _WAS):
        return "text"
    field = DOCUMENT.at(steps)
    if field is None or field.kind == "object":
        return None
    return None if field.item and field.item.kind == "object" else field.kind


def _value(name: str, kind: str, text: str) -> Any:
    if kind == "list":
        parts = _SEPARATORS.get(name, _LINES).split(text)
        return [part.strip() for part in parts if part.strip()]
    if kind == "labels":
        return _labels(text)
    if kind == "flag" and text in ("true", "false"):
        return text == "true"
    if kind == "number" and _WHOLE.fullmatch(text.strip()):
        return int(text)
    if kind == "number" and _DECIMAL.fullmatch(text.strip()):
        return float(text.replace(",", "."))
    return text


def _labels(text: str) -> dict[str, str] | str:
    """Return the labels of lines such as `team=north`; the text itself if a line is not one."""
    lines = [line.partition("=") for line in text.split("\n") if line.strip()]
    if all(name.strip() and value.strip() for name, _, value in lines):
        return {name.strip(): value.strip() for name, _, value in lines}
    return text


def _with_lists(tree: Any) -> Any:
    """Turn objects with numbers for names into lists."""
    if not isinstance(tree, dict):
        return tree
    if tree and all(isinstance(step, int) for step in tree):
        return [_with_lists(tree[step]) for step in sorted(tree)]
    return {step: _with_lists(value) for step, value in tree.items()}


def _criterion(criterion: dict[str, Any]) -> dict[str, Any]:
    former_type, _, former_rule = str(criterion.pop(_WAS, "")).partition(" ")
    kind, judge = criterion.get("type", ""), criterion.get("judge", {})
    rule = judge.get("rule", "")
    if former_type != kind:
        criterion["options"] = deepcopy(_SCALE) if kind == "scale" else []
        if rule in RULES and RULES[rule].answers != kind:
            rule = ""
    if former_rule != rule:
        judge = {"rule": rule, "parameters": _defaults(rule)}
    return {**criterion, "judge": judge}


def _defaults(rule: str) -> dict[str, Any]:
    required = RULES[rule].required if rule in RULES else ()
    return {item.name: item.default for item in required if item.default is not None}


def _name_statements(statements: Sequence[dict[str, Any]]) -> None:
    """Give every statement a key; people see only its title."""
    known = {statement.get("key") for statement in statements}
    free = (f"statement_{number}" for number in range(1, len(statements) + len(known) + 1))
    unused = (key for key in free if key not in known)
    for statement in statements:
        if any(statement.values()) and not statement.get("key"):
            statement["key"] = next(unused)


def _without_empty(value: Any) -> Any:
    """Leave out empty members; in lists of objects only at the end, so that the others keep their places."""
    if isinstance(value, Mapping):
        members = {name: _without_empty(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if not _is_empty(member)}
    if isinstance(value, list):
        items = [_without_empty(item) for item in value]
        if all(isinstance(item, str) for item in items):
            return [*filter(None, items)]
        while items and _is_empty(items[-1]):
            items.pop()
        return items
    return value


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})
