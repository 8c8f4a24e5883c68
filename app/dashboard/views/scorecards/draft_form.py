"""Form of a draft: its fields are named by their paths in the document, as findings name them."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from app.ai.dialogue.friction import WEIGHTS
from app.ai.scorecard.schema import KNOWN_RULES, METRICS, MINIMUM, MINIMUM_OPTIONAL, NUMBER
from app.core.errors import InvalidInput

# Fields of the form that are no fields of the document.
_OWN_FIELDS = frozenset(
    {"form_token", "version", "action", "channel", "scorecardId", "baseVersion"}
)
_MINIMUM_FIELDS = (*MINIMUM, *MINIMUM_OPTIONAL)
STATEMENT_LISTS = ("statements", "requiredStatements")
_WAS = "was"
_FIELD = re.compile(
    r"(name|description|languages|passThreshold|maxFailedWeightPercent"
    rf"|minimum\.({'|'.join(_MINIMUM_FIELDS)})|metrics\.({'|'.join(METRICS)})"
    r"|bands\[\d\]\.(key|from)|topics\[\d{1,3}\]\.(name|anyOf)"
    r"|sections\[\d{1,3}\]\.(key|title)"
    r"|criteria\[\d{1,3}\]\.(use|key|title|section|question|type|weight|criticality|errorClass"
    r"|failsAt|dimension|notApplicableWhen|suggestion|was"
    r"|options\[\d{1,3}\]\.(answer|score|anchor)"
    r"|appliesWhen\.(languages|labels|(directions|events|campaignIds)\[\d{1,3}\]"
    r"|(said|notSaid)\.(anyOf|by)|metric\.(metric|atLeast|atMost))"
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
        *("weight", "score", "passThreshold", "answer", "atLeast", "atMost", "from", "failsAt"),
        *("firstTurns", "lastTurns", "maxFailedWeightPercent", *_MINIMUM_FIELDS, *WEIGHTS),
        *(name for name, kind in {**_PARAMETERS, **METRICS}.items() if kind in (int, NUMBER)),
    }
)
# The options of a new scale.
_SCALE = [{"answer": level, "score": level / 2, "anchor": ""} for level in range(3)]
_YES_NO = frozenset(name for name, kind in _PARAMETERS.items() if kind is bool)
# What parts the members of a list in the text of its field.
_SEPARATORS = {
    **dict.fromkeys(("anyOf", "requires", "methods"), re.compile(r"\n")),
    **dict.fromkeys((name for name, kind in METRICS.items() if kind is list), re.compile(r"[,\n]")),
    "languages": re.compile(r"[,\s]"),
}


def empty_document(shipped: Mapping[str, Any]) -> dict[str, Any]:
    """Return a draft with one section, no criterion, and all else as in a scorecard that ships."""
    document = {name: shipped[name] for name in shipped if name not in ("id", "name", "version")}
    section = {"key": "section_1", "title": "First section"}
    return tidy({**document, "sections": [section], "criteria": []})


def document_of(form: Mapping[str, str], shipped: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document that was typed; what is no number stays as typed, for the checks.

    Args:
        shipped: the default scorecard of the channel, whose parameters a newly chosen rule gets.

    Raises:
        InvalidInput: a field is not one of the form.
    """
    tree: dict[str | int, Any] = {}
    for name, text in form.items():
        if name not in _OWN_FIELDS:
            _set(tree, name, text)
    document: dict[str, Any] = _with_lists(tree)
    document["criteria"] = [
        _criterion(criterion, shipped) for criterion in document.get("criteria", [])
    ]
    return tidy(document)


def tidy(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without empty fields, so that forms and files give the same one.

    Raises:
        InvalidInput: a parameter that is a list or an object is none, and no form could show it.
    """
    tidied: dict[str, Any] = _without_empty(document)
    tidied.setdefault("sections", [])
    for index, criterion in enumerate(tidied.setdefault("criteria", [])):
        judge = criterion.get("judge", {})
        rule = KNOWN_RULES.get(judge.get("rule", ""))
        for name, kind in rule.parameters.items() if rule else ():
            if kind in (list, dict):
                judge.setdefault("parameters", {}).setdefault(name, kind())
        for name, value in judge.get("parameters", {}).items():
            _require_shape(f"criteria[{index}].judge.parameters.{name}", name, value)
            if name in STATEMENT_LISTS:
                _name_statements(value)
    return tidied


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
    if name in _SEPARATORS:
        return [part.strip() for part in _SEPARATORS[name].split(text) if part.strip()]
    if name == "labels":
        return _labels(text)
    if name in _YES_NO:
        return text == "true" if text in ("true", "false") else text
    if name in _NUMBERS and _WHOLE.fullmatch(text.strip()):
        return int(text)
    if name in _NUMBERS and _DECIMAL.fullmatch(text.strip()):
        return float(text.replace(",", "."))
    return text


def _labels(text: str) -> dict[str, str] | str:
    """Return the labels of lines such as `team=north`; the text itself if a line is none."""
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


def _criterion(criterion: dict[str, Any], shipped: Mapping[str, Any]) -> dict[str, Any]:
    former_type, _, former_rule = str(criterion.pop(_WAS, "")).partition(" ")
    kind, judge = criterion.get("type", ""), criterion.get("judge", {})
    rule = judge.get("rule", "")
    if former_type != kind:
        criterion["options"] = deepcopy(_SCALE) if kind == "scale" else []
        if rule in KNOWN_RULES and KNOWN_RULES[rule].answers != kind:
            rule = ""
    if former_rule != rule:
        judge = {"rule": rule, "parameters": _shipped_parameters(rule, shipped)}
    conditions = criterion.get("appliesWhen", {})
    if "campaignIds" in conditions:
        conditions["campaignIds"] = [*filter(None, conditions["campaignIds"])]
    return {**criterion, "judge": judge}


def _shipped_parameters(rule: str, shipped: Mapping[str, Any]) -> dict[str, Any]:
    judges = (criterion["judge"] for criterion in shipped["criteria"])
    parameters = (
        judge.get("parameters", {}) for judge in judges if rule and judge.get("rule") == rule
    )
    return dict(next(parameters, {}))


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
        raise InvalidInput.field(path, "This must be a list of strings.", location="form")


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
        items = [_without_empty(item) for item in value]
        while items and _is_empty(items[-1]):
            items.pop()
        return items
    return value


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})
