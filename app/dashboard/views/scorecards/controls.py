"""Controls of the editor for the parameters of a rule."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.ai.dialogue.friction import WEIGHTS
from app.ai.scorecard.metric_names import METRICS_OF
from app.ai.scorecard.schema import KNOWN_RULES, NUMBER
from app.dashboard.views.formatting import MISSING
from app.dashboard.views.scorecards.draft_form import STATEMENT_LISTS
from app.dashboard.words import WORDS, text_of

_BOUNDS = {"atLeast": "at least", "atMost": "at most"}
_PARTS: Mapping[str, Mapping[str, str]] = {
    "full": _BOUNDS,
    "half": _BOUNDS,
    "within": {"firstTurns": "first turns", "lastTurns": "last turns"},
    "weights": {name: name for name in WEIGHTS},
}
_YES_NO = {"true": "yes", "false": "no"}


@dataclass(frozen=True, slots=True)
class ParameterControl:
    """A field of the form: `kind` is number, text, lines, choice or hidden."""

    name: str
    label: str
    kind: str
    value: str
    options: Mapping[str, str] = field(default_factory=dict)


def rules_for(criterion_type: str) -> dict[str, str]:
    """Return the rules that answer criteria of a type, with their texts; empty: no rule."""
    fitting = (name for name, rule in KNOWN_RULES.items() if rule.answers == criterion_type)
    return {"": "A language model alone", **{name: text_of("rule", name) for name in fitting}}


def parameter_controls(path: str, judge: Mapping[str, Any], channel: str) -> list[ParameterControl]:
    """Return the controls of the parameters of a criterion's rule, none without a known rule."""
    rule = KNOWN_RULES.get(judge.get("rule", ""))
    if rule is None:
        return []
    given = judge.get("parameters", {})
    return [
        control
        for name, kind in {**rule.parameters, **rule.optional}.items()
        for control in _controls(f"{path}.{name}", name, kind, given.get(name), channel)
    ]


def _controls(
    path: str, name: str, kind: Any, value: Any, channel: str
) -> Iterator[ParameterControl]:
    label = text_of("parameter", name)
    if name in STATEMENT_LISTS:
        yield from _statements(path, value or [])
    elif name in _PARTS:
        for part, text in _PARTS[name].items():
            number = _text((value or {}).get(part))
            yield ParameterControl(f"{path}.{part}", f"{label}: {text}", "number", number)
    elif kind is list:
        yield ParameterControl(path, f"{label}, one a line", "lines", "\n".join(value or []))
    elif kind is bool:
        yield ParameterControl(path, label, "choice", _text(value), {"": MISSING, **_YES_NO})
    elif kind is str:
        options = WORDS["speaker"] if name == "by" else _metrics(channel)
        yield ParameterControl(path, label, "choice", _text(value), {"": MISSING, **options})
    elif kind in (int, NUMBER):
        yield ParameterControl(path, label, "number", _text(value))


def _statements(path: str, statements: list[Mapping[str, Any]]) -> Iterator[ParameterControl]:
    """Yield the fields of each statement, and of one more to fill in."""
    for index, statement in enumerate([*statements, {}]):
        place, number = f"{path}[{index}]", index + 1
        yield ParameterControl(f"{place}.key", "", "hidden", statement.get("key", ""))
        title = statement.get("title", "")
        yield ParameterControl(f"{place}.title", f"Statement {number}", "text", title)
        phrases = "\n".join(statement.get("anyOf", []))
        label = f"Phrases of statement {number}, of which any counts, one a line"
        yield ParameterControl(f"{place}.anyOf", label, "lines", phrases)


def _metrics(channel: str) -> dict[str, str]:
    return {name: name for name in sorted(METRICS_OF[channel])}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
