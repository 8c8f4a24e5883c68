"""Changes to the structure of a draft: parts are added, moved, copied and removed."""

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

from app.core.errors import InvalidInput
from app.dashboard.views.formatting import MISSING, whole_number

Document = dict[str, Any]
_CRITERION = re.compile(r"criteria\[(\d+)\]")
_ROW = re.compile(r"(?:\w+(?:\[\d{1,3}\])?\.)*\w+\[\d{1,3}\]")
_STEP = re.compile(r"\w+")


def changed(document: Document, action: str, shipped: Mapping[str, Any]) -> tuple[Document, str]:
    """Apply an action of the form, such as `criterion-up:3`; return the part to show next, too.

    The part is the id of an element, such as `criterion-2` or `section-0`, or empty. `save` changes nothing.

    Args:
        shipped: the default scorecard of the channel, whose criteria can be added.

    Raises:
        InvalidInput: there is no such action or part.
    """
    if action == "save":
        return document, ""
    verb, _, place = action.partition(":")
    copied = deepcopy(document)
    if verb == "criterion-add":
        return copied, _add_criterion(copied, place, shipped)
    if verb not in _CHANGES:
        raise _unknown()
    return copied, _CHANGES[verb](copied, place)


def weight_text(document: Mapping[str, Any]) -> str:
    """Say how much of the weight is still to give."""
    weights = (criterion.get("weight", 0) for criterion in document["criteria"])
    total = sum(weight for weight in weights if isinstance(weight, int | float))
    rest = round(100 - total, 6)
    if not rest:
        return "weights 100 of 100"
    return f"weights {total:g} of 100: {abs(rest):g} {'to give' if rest > 0 else 'too many'}"


def leaf_changes(theirs: Any, yours: Any, place: str = "") -> list[tuple[str, str, str]]:
    """List where two drafts differ: the path, and the value in each."""
    if isinstance(theirs, dict) and isinstance(yours, dict):
        names = dict.fromkeys([*theirs, *yours])
        parts = [(f"{place}.{name}" if place else name, name) for name in names]
        pairs = [(path, theirs.get(name), yours.get(name)) for path, name in parts]
    elif isinstance(theirs, list) and isinstance(yours, list):
        longest = range(max(len(theirs), len(yours)))
        pairs = [(f"{place}[{n}]", _at(theirs, n), _at(yours, n)) for n in longest]
    else:
        return [] if theirs == yours else [(place, _shown(theirs), _shown(yours))]
    return [change for path, *both in pairs for change in leaf_changes(both[0], both[1], path)]


def _at(items: list[Any], place: int) -> Any:
    return items[place] if place < len(items) else None


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("title") or value.get("key") or "there")
    return MISSING if value is None else str(value)


def _unknown() -> InvalidInput:
    return InvalidInput.field("action", "There is no such part of the draft.", location="form")


def _index(items: list[Any], place: str) -> int:
    index = whole_number(place)
    if index is None or index >= len(items):
        raise _unknown()
    return index


def _add_section(document: Document, _: str) -> str:
    sections = document["sections"]
    sections.append({"key": _free("section", {item.get("key") for item in sections})})
    return f"section-{len(sections) - 1}"


def _move_section(document: Document, place: str, by: int) -> str:
    sections = document["sections"]
    index = _index(sections, place)
    other = max(0, min(len(sections) - 1, index + by))
    sections[index], sections[other] = sections[other], sections[index]
    return f"section-{other}"


def _remove_section(document: Document, place: str) -> str:
    removed = document["sections"].pop(_index(document["sections"], place))
    document["criteria"] = [
        item for item in document["criteria"] if item.get("section") != removed.get("key")
    ]
    return ""


def _add_criterion(document: Document, place: str, shipped: Mapping[str, Any]) -> str:
    """Add the shipped criterion of a key, or an empty one to the section of that number."""
    criteria = document["criteria"]
    keys = {item.get("key") for item in criteria}
    known = {item["key"]: item for item in shipped["criteria"]}
    if place in known:
        criterion = deepcopy(known[place])
        sections = {section.get("key") for section in document["sections"]}
        if criterion["section"] not in sections:
            titles = {item["key"]: item for item in shipped["sections"]}
            document["sections"].append(dict(titles[criterion["section"]]))
        if criterion["key"] in keys:
            criterion["key"] = _free(criterion["key"], keys)
    else:
        section = document["sections"][_index(document["sections"], place)].get("key", "")
        criterion = {"key": _free(f"{section}.criterion", keys), "section": section}
        criterion |= {"type": "binary", "criticality": "none", "errorClass": "none"}
        criterion |= {"judge": {"rule": "act"}}
    criteria.append(criterion)
    return f"criterion-{len(criteria) - 1}"


def _open_criterion(document: Document, place: str) -> str:
    """Change nothing: the page shows the fields of the type and the rule that were chosen."""
    return f"criterion-{_index(document['criteria'], place)}"


def _open_conditions(document: Document, place: str) -> str:
    """Change nothing: the page shows the fields of the conditions."""
    return f"{_open_criterion(document, place)}-conditions"


def _copy_criterion(document: Document, place: str) -> str:
    criteria = document["criteria"]
    index = _index(criteria, place)
    copy = deepcopy(criteria[index])
    copy["key"] = _free(copy.get("key", "criterion"), {item.get("key") for item in criteria})
    criteria.insert(index + 1, copy)
    return f"criterion-{index + 1}"


def _remove_criterion(document: Document, place: str) -> str:
    document["criteria"].pop(_index(document["criteria"], place))
    return ""


def _move_criterion(document: Document, place: str, by: int) -> str:
    """Change places with the criterion before or after it in the same section."""
    criteria = document["criteria"]
    index = _index(criteria, place)
    section = criteria[index].get("section")
    places = [n for n, item in enumerate(criteria) if item.get("section") == section]
    other = places[max(0, min(len(places) - 1, places.index(index) + by))]
    criteria[index], criteria[other] = criteria[other], criteria[index]
    return f"criterion-{other}"


def _add_option(document: Document, place: str) -> str:
    index = _index(document["criteria"], place)
    options = document["criteria"][index].setdefault("options", [])
    options.append({"answer": len(options), "score": 1})
    return f"criterion-{index}"


def _remove_row(document: Document, place: str) -> str:
    """Remove the member of a list by its path, such as `criteria[2].options[1]` or `topics[0]`."""
    if not _ROW.fullmatch(place):
        raise _unknown()
    *steps, index = _STEP.findall(place)
    part: Any = document
    for step in steps:
        if isinstance(part, list):
            part = part[_index(part, step)]
        else:
            part = part.get(step) if isinstance(part, dict) else None
    if not isinstance(part, list):
        raise _unknown()
    part.pop(_index(part, index))
    criterion = _CRITERION.match(place)
    return f"criterion-{criterion[1]}" if criterion else str(steps[0])


def _free(key: str, taken: set[Any]) -> str:
    numbers = range(2, len(taken) + 3)
    return next(free for free in (f"{key}_{n}" for n in numbers) if free not in taken)


_CHANGES: Mapping[str, Callable[[Document, str], str]] = {
    "section-add": _add_section,
    "section-up": partial(_move_section, by=-1),
    "section-down": partial(_move_section, by=1),
    "section-remove": _remove_section,
    "criterion-open": _open_criterion,
    "conditions-open": _open_conditions,
    "criterion-copy": _copy_criterion,
    "criterion-remove": _remove_criterion,
    "criterion-up": partial(_move_criterion, by=-1),
    "criterion-down": partial(_move_criterion, by=1),
    "option-add": _add_option,
    "row-remove": _remove_row,
}
