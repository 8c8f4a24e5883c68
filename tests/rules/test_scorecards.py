from typing import Any

import pytest

from app.core.errors import InvalidInput
from app.judge.context import Context
from app.judge.facts.conversation_facts import facts_of
from app.judge.rules.catalogue import RULES
from app.judge.scorecard.schema import DIMENSIONS, METRICS_OF
from app.judge.scorecard.values import scorecard_from
from app.scorecards.authoring import check
from app.scorecards.schemas.document import ScorecardCreate
from app.web.schemas.base import load_valid
from tests.talks import GOOD_CALL, GOOD_CHAT, document, scorecard

CHANNELS = ["voice", "chat", "voice_bot", "email"]
WEIGHTS = {
    "voice": {
        "opening.greeting": 2,
        "opening.verification": 5,
        "discovery.listening": 11,
        "discovery.probing": 0,
        "resolution.accuracy": 10,
        "resolution.completeness": 36,
        "resolution.confirmed": 8,
        "communication.empathy": 4,
        "communication.courtesy": 7,
        "communication.conduct": 0,
        "communication.clarity": 0,
        "communication.pace": 2,
        "compliance.disclosure": 4,
        "compliance.data_handling": 4,
        "compliance.third_party": 2,
        "compliance.opt_out": 2,
        "control.hold_silence": 3,
        "closing.recap": 0,
    },
    "chat": {
        "opening.greeting": 2,
        "discovery.understanding": 10,
        "discovery.probing": 0,
        "resolution.accuracy": 10,
        "resolution.completeness": 38,
        "resolution.confirmed": 8,
        "communication.empathy": 4,
        "communication.courtesy": 7,
        "communication.conduct": 0,
        "communication.clarity": 0,
        "communication.language": 2,
        "responsiveness.first_response": 6,
        "responsiveness.gaps": 4,
        "compliance.data_handling": 3,
        "compliance.third_party": 2,
        "compliance.opt_out": 2,
        "closing.recap": 2,
    },
    "email": {
        "opening.greeting": 2,
        "discovery.understanding": 10,
        "resolution.accuracy": 10,
        "resolution.completeness": 37,
        "resolution.confirmed": 3,
        "resolution.next_step": 6,
        "communication.empathy": 4,
        "communication.courtesy": 7,
        "communication.conduct": 0,
        "communication.clarity": 0,
        "communication.language": 2,
        "responsiveness.first_response": 6,
        "responsiveness.gaps": 4,
        "compliance.data_handling": 3,
        "compliance.third_party": 2,
        "compliance.opt_out": 2,
        "closing.farewell": 2,
    },
    "voice_bot": {
        "opening.identity": 3,
        "opening.purpose": 3,
        "understanding.intent": 15,
        "understanding.no_repetition": 10,
        "outcome.goal": 33,
        "outcome.accuracy": 8,
        "flow.latency": 4,
        "flow.turn_taking": 3,
        "flow.dead_air": 3,
        "safety.handoff": 6,
        "safety.opt_out": 4,
        "tone.respect": 6,
        "tone.conduct": 0,
        "closing.clean": 2,
    },
}


@pytest.mark.parametrize("channel", CHANNELS)
def test_each_default_has_the_criteria_and_weights_of_its_channel(channel: str) -> None:
    scorecard = scorecard_from(document(channel))
    assert {item.key: item.weight for item in scorecard.criteria} == WEIGHTS[channel]
    assert scorecard.channel == ("chat" if channel == "email" else channel)


@pytest.mark.parametrize("channel", CHANNELS)
def test_every_criterion_of_a_default_tells_its_author_what_it_asks(channel: str) -> None:
    for item in scorecard_from(document(channel)).criteria:
        assert item.question.endswith("?")
        assert item.suggestion.endswith(".")
        assert 2 <= len(item.options) <= 3
        assert item.section == item.key.split(".")[0]


def test_the_critical_criteria_of_a_call_are_those_of_the_table() -> None:
    critical = {
        item.key: item.criticality
        for item in scorecard_from(document("voice")).criteria
        if item.criticality != "none"
    }
    assert critical == {
        "opening.verification": "section",
        "resolution.accuracy": "section",
        "communication.courtesy": "evaluation",
        "compliance.disclosure": "evaluation",
        "compliance.data_handling": "evaluation",
        "compliance.third_party": "evaluation",
        "compliance.opt_out": "pass",
        "communication.conduct": "pass",
    }


def problems_of(draft: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The field, the code and the message of each problem."""
    try:
        loaded = load_valid(ScorecardCreate(), draft, location="json")
    except InvalidInput as error:
        return [(each["field"], each["code"], each["message"]) for each in error.details]
    checked = check(loaded, channel=loaded["channel"])
    return [(each.field, each.code, each.message) for each in checked.errors]


def draft_of(channel: str) -> dict[str, Any]:
    shipped = document(channel)
    return {name: value for name, value in shipped.items() if name not in ("id", "version")}


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_default_is_a_draft_without_problems(channel: str) -> None:
    assert problems_of(draft_of(channel)) == []


def test_weights_must_sum_to_exactly_100() -> None:
    changed = draft_of("voice")
    changed["criteria"][0]["weight"] = 2.01
    assert problems_of(changed) == [("criteria", "RANGE", "The weights sum to 100.01, not to 100.")]


def test_weights_in_tenths_sum_exactly() -> None:
    changed = draft_of("chat")
    for item, weight in zip(changed["criteria"][:3], (2.1, 9.8, 0.1), strict=True):
        item["weight"] = weight
    assert problems_of(changed) == []


def test_every_problem_is_listed_at_once() -> None:
    changed = draft_of("voice")
    changed["criteria"][0]["judge"]["rule"] = "sing"
    changed["criteria"][1]["criticality"] = "somewhat"
    changed["criteria"][2]["judge"]["parameters"] = {"lastTurns": 0, "key": 1}
    changed["criteria"][5]["weight"] = True
    assert {field: code for field, code, _ in problems_of(changed)} == {
        "criteria[0].judge.rule": "ENUM",
        "criteria[1].criticality": "ENUM",
        "criteria[2].judge.parameters.lastTurns": "RANGE",
        "criteria[2].judge.parameters.key": "UNKNOWN",
        "criteria[5].weight": "TYPE",
    }


RULE = {"methods": ["rule"]}


def phrase_rule(**parameters: object) -> dict:
    given = {"anyOf": ["not my job"], **parameters}
    return {**RULE, "rule": "forbidden_phrases", "parameters": given}


def metric_rule(**parameters: object) -> dict:
    given = {"metric": "agentWpm", "full": {"atLeast": 110}, **parameters}
    return {"methods": ["metric"], "rule": "metric_range", "parameters": given}


@pytest.mark.parametrize(
    ("path", "value", "field", "said"),
    [
        (("criteria", 1, "key"), "opening.greeting", "criteria[1].key", "occurs twice"),
        (("criteria", 0, "key"), "Opening!", "criteria[0].key", "words of a-z"),
        (("criteria", 0, "section"), "finale", "criteria[0].section", "finale is not there"),
        (("criteria", 0, "judge", "parameters"), {}, "parameters.agentTurns", "is required"),
        (("criteria", 0, "judge", "parameters", "agentTurn"), 2, "agentTurn", "no such field"),
        (
            ("criteria", 0, "judge", "methods"),
            ["rule", "dice"],
            "methods[1]",
            "must be one of rule",
        ),
        (("criteria", 4, "judge", "methods"), ["rule"], "criteria[4].judge.rule", "is required"),
        (("criteria", 0, "judge", "rule"), "empathy", "judge.rule", "of the type scale only"),
        (("criteria", 0, "judge"), phrase_rule(anyOf=["?!"]), "anyOf[0]", "a letter or a digit"),
        (("criteria", 0, "judge"), phrase_rule(anyOf=["a"] * 201), "anyOf", "1 to 200 entries"),
        (("criteria", 0, "judge"), phrase_rule(by="boss"), "by", "must be one of agent"),
        (("criteria", 0, "judge"), phrase_rule(within={}), "within", "firstTurns, lastTurns"),
        (
            ("criteria", 0, "judge"),
            phrase_rule(within={"lastTurns": 0}),
            "within.lastTurns",
            "between 1 and",
        ),
        (
            ("criteria", 10, "judge"),
            metric_rule(metric="charm"),
            "parameters.metric",
            "must be one of agentTalkMs",
        ),
        (("criteria", 10, "judge"), metric_rule(half={}), "parameters.half", "atLeast and atMost"),
        (
            ("criteria", 10, "judge"),
            metric_rule(full={"atLeast": 9, "atMost": 1}),
            "full.atMost",
            "below atLeast",
        ),
        (("criteria", 0, "appliesWhen"), {"mood": "good"}, "appliesWhen.mood", "no such field"),
        (("criteria", 0, "appliesWhen"), {"events": ["rain"]}, "events[0]", "must be one of"),
        (
            ("criteria", 0, "appliesWhen"),
            {"labels": {"a": 1}},
            "labels.a.value",
            "must be a string",
        ),
        (("criteria", 0, "appliesWhen"), {"said": {"anyOf": []}}, "said.anyOf", "1 to 200 entries"),
        (
            ("criteria", 0, "appliesWhen"),
            {"metric": {"metric": "x"}},
            "appliesWhen.metric.metric",
            "must be one of agentTalkMs",
        ),
        (("criteria", 0, "options"), [], "criteria[0].options", "has two options"),
        (("criteria", 2, "options"), [], "criteria[2].options", "at least two options"),
        (("criteria", 0, "dimension"), "charm", "dimension", "must be one of"),
        (("criteria", 0, "weight"), -5, "criteria[0].weight", "must be between 0"),
        (("criteria", 0, "failsAt"), 1, "criteria[0].failsAt", "below 1"),
        (("metrics", "deadAirMs"), "ten", "metrics.deadAirMs", "must be a whole number"),
        (("metrics", "deadAirMs"), -1, "metrics.deadAirMs", "must be between 0"),
        (("metrics", "fillers"), [3], "metrics.fillers[0]", "must be a string"),
        (("bands",), [{"key": "exceeds", "from": 50}], "bands", "must start at 0"),
        (("bands",), [{"key": "good", "from": 0}], "bands[0].key", "must be one of"),
        (("topics",), "x", "topics", "must be a list"),
        (("topics",), [{"name": "a"}], "topics[0].anyOf", "is required"),
        (("topics",), [{"name": "a", "anyOf": []}], "topics[0].anyOf", "1 to 200 entries"),
        (("channel",), "fax", "channel", "must be one of"),
        (("languages",), ["English!"], "languages[0]", "language tag"),
        (("criteria",), "all", "criteria", "must be a list"),
        (("criteria",), [], "criteria", "1 to 100 entries"),
        (("name",), " ", "name", "at least 1 characters"),
    ],
)
def test_a_scorecard_with_a_mistake_is_refused(
    path: tuple, value: object, field: str, said: str
) -> None:
    changed = draft_of("voice")
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    problems = problems_of(changed)
    assert any(where.endswith(field) and said in text for where, _, text in problems), problems


def test_the_dimensions_are_those_of_the_contract() -> None:
    assert next(iter(DIMENSIONS)) == "resolution"
    assert len(DIMENSIONS) == 7


@pytest.mark.parametrize("channel", METRICS_OF)
def test_the_metrics_that_an_author_may_name_are_those_that_are_measured(channel: str) -> None:
    talk = GOOD_CHAT if channel == "chat" else GOOD_CALL
    measured = facts_of(talk, scorecard(channel), Context()).measures.values
    assert METRICS_OF[channel] == measured.keys()


@pytest.mark.parametrize("channel", CHANNELS)
def test_each_rule_answers_the_type_that_the_defaults_give_it(channel: str) -> None:
    for item in scorecard_from(document(channel)).criteria:
        if item.rule is not None:
            assert RULES[item.rule].answers == item.kind
