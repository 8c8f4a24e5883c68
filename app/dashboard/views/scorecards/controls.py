"""Form of a draft as its editor shows it: sections, criteria, and the controls of rules, conditions and metrics."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.dashboard.views.formatting import MISSING
from app.dashboard.words import WORDS, text_of
from app.judge.rules.catalogue import RULES
from app.judge.scorecard.parameters import METRIC, Parameter
from app.judge.scorecard.schema import METRICS_OF
from app.scorecards.schemas.document_fields import METRICS

_BOUNDS = {"atLeast": "at least", "atMost": "at most"}
_YES_NO = {"true": "yes", "false": "no"}


@dataclass(frozen=True, slots=True)
class FormControl:
    """A field of the form.

    Attributes:
        kind: number, text, lines, choice, checks, campaign or hidden.
        chosen: the options that are on, of `checks`.
    """

    name: str
    label: str
    kind: str
    value: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    chosen: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class EditedCriterion:
    """A criterion of the form.

    Attributes:
        path: its path in the document, with which the names of its fields begin.
        parameters: the controls of the parameters of its rule.
        conditions: the controls of its conditions.
        was: its type and its rule, so that another choice is noticed.
        methods: the methods of its judge, one a line.
    """

    index: int
    path: str
    document: Mapping[str, Any]
    parameters: Sequence[FormControl]
    conditions: Sequence[FormControl]
    was: str
    methods: str


@dataclass(frozen=True, slots=True)
class EditedSection:
    """A section of the form; criteria of unknown sections have one without index."""

    index: int | None
    document: Mapping[str, Any]
    criteria: Sequence[EditedCriterion]


def edited_sections(
    document: Mapping[str, Any], channel: str, campaigns: Mapping[str, str]
) -> list[EditedSection]:
    """Return the sections in their order, then the criteria whose section is unknown.

    Args:
        campaigns: the names of campaigns, by id.
    """
    criteria = [
        _edited(index, criterion, channel, campaigns)
        for index, criterion in enumerate(document["criteria"])
    ]
    known = [section.get("key") for section in document["sections"]]
    groups = [
        EditedSection(index, section, _of_section(criteria, section.get("key")))
        for index, section in enumerate(document["sections"])
    ]
    unknown = [item for item in criteria if item.document.get("section") not in known]
    return [*groups, EditedSection(None, {}, unknown)] if unknown else groups


def named_campaigns(document: Mapping[str, Any]) -> set[str]:
    conditions = (criterion.get("appliesWhen", {}) for criterion in document["criteria"])
    return {campaign_id for named in conditions for campaign_id in named.get("campaignIds", [])}


def rules_for(criterion_type: str, *, has_model: bool) -> dict[str, str]:
    """Return the rules that answer criteria of a type, with their texts; empty: no rule.

    Args:
        has_model: whether the service has a language model.
    """
    alone = "A language model alone"
    if not has_model:
        alone += ": this service has none, so never"
    # Those for criteria of an author's own first.
    known = [*reversed(RULES.items())]
    fitting = (name for name, rule in known if rule.answers == criterion_type)
    return {"": alone, **{name: text_of("rule", name) for name in fitting}}


def _parameter_controls(path: str, judge: Mapping[str, Any], channel: str) -> list[FormControl]:
    """Return the controls of the parameters of a criterion's rule, none without a known rule."""
    rule = RULES.get(judge.get("rule", ""))
    values = judge.get("parameters", {})
    return [
        control
        for parameter in (rule.parameters if rule else ())
        for control in _controls(path, parameter, values.get(parameter.name), channel)
    ]


def _condition_controls(
    path: str, conditions: Mapping[str, Any], channel: str, campaigns: Mapping[str, str]
) -> list[FormControl]:
    """Return the controls of the conditions of a criterion.

    Args:
        campaigns: the names of the campaigns that the conditions of the draft name, by id.
    """
    measured = conditions.get("metric", {})
    labels = conditions.get("labels", {})
    lines = labels if isinstance(labels, str) else "\n".join(f"{k}={v}" for k, v in labels.items())
    languages = " ".join(conditions.get("languages", []))
    metrics = {"": MISSING, **_metrics(channel)}
    return [
        FormControl(f"{path}.languages", "Languages, such as en hi", "text", languages),
        *_campaigns(f"{path}.campaignIds", conditions.get("campaignIds", []), campaigns),
        FormControl(f"{path}.labels", "Labels, one a line, such as team=north", "lines", lines),
        *_checks(path, "directions", "Directions", "direction", conditions),
        *_checks(path, "events", "One of these happens", "event", conditions),
        *_said(f"{path}.said", "Said", conditions.get("said", {})),
        *_said(f"{path}.notSaid", "Not said", conditions.get("notSaid", {})),
        FormControl(
            f"{path}.metric.metric",
            "Metric",
            "choice",
            measured.get("metric", ""),
            metrics,
        ),
        *(
            FormControl(
                f"{path}.metric.{name}", f"Metric {text}", "number", _text(measured.get(name))
            )
            for name, text in _BOUNDS.items()
        ),
    ]


def metric_controls(metrics: Mapping[str, Any]) -> list[FormControl]:
    controls = []
    for name, shape in METRICS.items():
        path, label = f"metrics.{name}", shape.label
        if shape.kind == "list":
            words = ", ".join(metrics.get(name, []))
            controls.append(FormControl(path, f"{label}, separated by commas", "lines", words))
        else:
            controls.append(FormControl(path, label, "number", _text(metrics.get(name))))
    return controls


def _of_section(criteria: Sequence[EditedCriterion], key: str | None) -> list[EditedCriterion]:
    return [item for item in criteria if item.document.get("section") == key]


def _edited(
    index: int, criterion: Mapping[str, Any], channel: str, campaigns: Mapping[str, str]
) -> EditedCriterion:
    path, judge = f"criteria[{index}]", criterion.get("judge", {})
    conditions = criterion.get("appliesWhen", {})
    return EditedCriterion(
        index=index,
        path=path,
        document=criterion,
        parameters=_parameter_controls(f"{path}.judge.parameters", judge, channel),
        conditions=_condition_controls(f"{path}.appliesWhen", conditions, channel, campaigns),
        was=f"{criterion.get('type', '')} {judge.get('rule', '')}",
        methods="\n".join(judge.get("methods", [])),
    )


def _checks(
    path: str, name: str, label: str, words: str, conditions: Mapping[str, Any]
) -> Iterator[FormControl]:
    options, chosen = WORDS[words], conditions.get(name, ())
    yield FormControl(f"{path}.{name}", label, "checks", options=options, chosen=chosen)


def _campaigns(path: str, ids: Sequence[str], names: Mapping[str, str]) -> Iterator[FormControl]:
    """Yield the field of each campaign, and of one more to choose."""
    for index, campaign_id in enumerate([*ids, ""]):
        label = f"Campaign: {names.get(campaign_id, 'not known')}" if campaign_id else "Campaign"
        yield FormControl(f"{path}[{index}]", label, "campaign", campaign_id)


def _said(path: str, label: str, said: Mapping[str, Any]) -> Iterator[FormControl]:
    phrases = "\n".join(said.get("anyOf", []))
    yield FormControl(f"{path}.anyOf", f"{label}: phrases, one a line", "lines", phrases)
    speakers = {"": MISSING, **WORDS["speaker"]}
    yield FormControl(f"{path}.by", f"{label} by", "choice", said.get("by", ""), speakers)


def _controls(
    path: str, parameter: Parameter, value: Any, channel: str, label: str = ""
) -> Iterator[FormControl]:
    """Yield the controls of a parameter; of a list of choices, one more to choose."""
    label, place = f"{label}{parameter.label}", f"{path}.{parameter.name}"
    options = {"": MISSING, **_options(parameter, channel)}
    match parameter.kind:
        case "object":
            for member in parameter.members:
                inner = (value or {}).get(member.name)
                yield from _controls(place, member, inner, channel, f"{label}: ")
        case "statements":
            yield from _statements(place, value or [])
        case "choices":
            for index, chosen in enumerate([*(value or []), ""]):
                text = f"{label}, or" if index else label
                yield FormControl(f"{place}[{index}]", text, "choice", chosen, options)
        case "phrases":
            yield FormControl(place, f"{label}, one a line", "lines", "\n".join(value or []))
        case "choice" | "flag":
            yield FormControl(place, label, "choice", _text(value), options)
        case _:
            yield FormControl(place, label, "number", _text(value))


def _statements(path: str, statements: list[Mapping[str, Any]]) -> Iterator[FormControl]:
    """Yield the fields of each statement, and of one more to fill in."""
    for index, statement in enumerate([*statements, {}]):
        place, number = f"{path}[{index}]", index + 1
        yield FormControl(f"{place}.key", "", "hidden", statement.get("key", ""))
        title = statement.get("title", "")
        yield FormControl(f"{place}.title", f"Statement {number}", "text", title)
        phrases = "\n".join(statement.get("anyOf", []))
        label = f"Phrases of statement {number}, of which any counts, one a line"
        yield FormControl(f"{place}.anyOf", label, "lines", phrases)


def _options(parameter: Parameter, channel: str) -> Mapping[str, str]:
    if parameter.name == METRIC.name:
        return _metrics(channel)
    return _YES_NO if parameter.kind == "flag" else parameter.options


def _metrics(channel: str) -> dict[str, str]:
    return {name: name for name in sorted(METRICS_OF[channel])}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
