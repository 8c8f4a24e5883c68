"""What is wrong with a scorecard document: every problem at once, in words for its author."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from app.ai.scorecard_shapes import (
    CRITERION,
    DIMENSIONS,
    GREETING_PARTS,
    KNOWN_RULES,
    METRICS,
    MINIMUM,
    NUMBER,
    OPTION,
    SCORECARD,
    STATEMENT,
    TOPIC,
    WORDS,
    Shape,
)


def problems_of(document: Any) -> list[str]:
    """List what keeps the document from being a scorecard; empty when nothing does."""
    found = _shape("scorecard", document, SCORECARD, optional=("id", "description", "topics"))
    if found:
        return found
    found += _word("channel", document["channel"], "channel")
    found += _shape("minimum", document["minimum"], MINIMUM)
    found += _shape("metrics", document["metrics"], METRICS)
    for name in ("backChannels", "fillers"):
        words = document["metrics"].get(name, [])
        if not found and words and not _all_words(words):
            found.append(f"metrics.{name} must hold words")
    found += _topics(document.get("topics", []))
    found += _list_of("bands", document["bands"], {"key": str, "from": int})
    found += _list_of("sections", document["sections"], {"key": str, "title": str})
    for index, criterion in enumerate(document["criteria"]):
        found += _criterion(f"criteria[{index}]", criterion)
    return found or _sums(document)


def _topics(topics: Any) -> list[str]:
    if not isinstance(topics, list):
        return ["topics must be a list"]
    found = _list_of("topics", topics, TOPIC)
    for index, topic in enumerate(topics):
        if not found and not _all_words([topic["name"], *(topic["anyOf"] or [""])]):
            found.append(f"topics[{index}]: name and anyOf must hold words")
    return found


def _sums(document: Mapping[str, Any]) -> list[str]:
    criteria, sections = document["criteria"], document["sections"]
    found = _repeats("criterion", (item["key"] for item in criteria))
    found += _repeats("section", (item["key"] for item in sections))
    found += _repeats("band", (item["key"] for item in document["bands"]))
    if not 0 <= document["passThreshold"] <= 100:
        found.append("passThreshold must be from 0 to 100")
    if 0 not in {band["from"] for band in document["bands"]}:
        found.append("one band must start at 0, so that every score has a band")
    # Decimal of the written number, so that 33.3 + 33.3 + 33.4 is 100 and nothing near it is.
    total = sum((Decimal(str(item["weight"])) for item in criteria), Decimal())
    if total != 100:
        found.append(f"the weights sum to {total}, not to 100")
    titles = {item["key"] for item in sections}
    found += [
        f"{item['key']}: section {item['section']} is not in sections"
        for item in criteria
        if item["section"] not in titles
    ]
    return found


def _criterion(where: str, item: Any) -> list[str]:
    optional = ("notApplicableWhen", "failsAt", "dimension")
    found = _shape(where, item, CRITERION, optional=optional)
    if found:
        return found
    for name in ("type", "criticality", "errorClass"):
        found += _word(f"{where}.{name}", item[name], name)
    if not 0 < item["weight"] <= 100:
        found.append(f"{where}.weight must be over 0 and at most 100")
    if item.get("dimension") not in (None, *DIMENSIONS):
        found.append(f"{where}.dimension is not one of {', '.join(DIMENSIONS)}")
    fails_at = item.get("failsAt", 0)
    if not isinstance(fails_at, (int, float)) or not 0 <= fails_at < 1:
        found.append(f"{where}.failsAt must be from 0 to below 1")
    found += _list_of(f"{where}.options", item["options"], OPTION)
    return found + _options(where, item) + _judge(f"{where}.judge", item["judge"])


def _options(where: str, item: Mapping[str, Any]) -> list[str]:
    scores: list[Any] = [
        option.get("score") for option in item["options"] if isinstance(option, dict)
    ]
    if any(_is_a(score, NUMBER) and not 0 <= score <= 1 for score in scores):
        return [f"{where}.options: a score must be from 0 to 1"]
    if item["type"] == "binary" and scores != [1, 0]:
        return [f"{where}.options: a binary criterion has two options, scored 1 and 0"]
    return []


def _judge(where: str, judge: Mapping[str, Any]) -> list[str]:
    found = [
        f"{where}.{name} is not known"
        for name in judge
        if name not in ("methods", "rule", "parameters")
    ]
    methods = judge.get("methods")
    if not isinstance(methods, list) or not methods:
        return [*found, f"{where}.methods must be a list of {', '.join(WORDS['method'])}"]
    for method in methods:
        found += _word(f"{where}.methods", method, "method")
    rule = judge.get("rule")
    if rule is None:
        return found if "model" in methods else [*found, f"{where}.rule is missing"]
    if not isinstance(rule, str) or rule not in KNOWN_RULES:
        return [*found, f"{where}.rule {rule!r} is not known"]
    parameters = judge.get("parameters", {})
    if not isinstance(parameters, dict):
        return [*found, f"{where}.parameters must be an object"]
    return found + _parameters(f"{where}.parameters", parameters, KNOWN_RULES[rule])


def _parameters(where: str, parameters: Mapping[str, Any], shape: Shape) -> list[str]:
    found = _shape(where, parameters, shape)
    if found:
        return found
    for part in parameters.get("requires", ()):
        if part not in GREETING_PARTS:
            found.append(f"{where}.requires {part!r} is not one of {', '.join(GREETING_PARTS)}")
    statements = parameters.get("requiredStatements", [])
    found += _list_of(f"{where}.requiredStatements", statements, STATEMENT)
    for statement in statements:
        if not found and not _all_words(statement["anyOf"]):
            found.append(f"{where}.requiredStatements: anyOf must hold phrases")
    return found


def _all_words(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, str) and item.strip() for item in items)


def _shape(where: str, item: Any, shape: Shape, optional: tuple[str, ...] = ()) -> list[str]:
    if not isinstance(item, dict):
        return [f"{where} must be an object"]
    found = [f"{where}.{name} is missing" for name in shape if name not in item]
    found += [
        f"{where}.{name} is not known"
        for name in item
        if name not in shape and name not in optional
    ]
    return found + [
        f"{where}.{name} has the wrong type"
        for name, kind in shape.items()
        if name in item and not _is_a(item[name], kind)
    ]


def _list_of(where: str, items: Iterable[Any], shape: Shape) -> list[str]:
    return [
        problem
        for index, item in enumerate(items)
        for problem in _shape(f"{where}[{index}]", item, shape)
    ]


def _is_a(value: Any, kind: type | tuple[type, ...]) -> bool:
    # A bool is an int to Python and never a number to the author of a scorecard.
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _word(where: str, value: Any, kind: str) -> list[str]:
    if value in WORDS[kind]:
        return []
    return [f"{where} {value!r} is not one of {', '.join(WORDS[kind])}"]


def _repeats(what: str, keys: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    found = []
    for key in keys:
        if key in seen:
            found.append(f"{what} {key} is there twice")
        seen.add(key)
    return found
