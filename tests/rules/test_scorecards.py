import pytest

from app.ai.context import Context
from app.ai.facts.conversation_facts import facts_of
from app.ai.rules.judging import RULES
from app.ai.scorecard.problems import problems_of
from app.ai.scorecard.schema import DIMENSIONS, KNOWN_RULES, METRICS_OF
from app.ai.scorecard.values import scorecard_from
from tests.talks import GOOD_CALL, GOOD_CHAT, document, scorecard

CHANNELS = ["voice", "chat", "voice_bot"]
WEIGHTS = {
    "voice": {
        "opening.greeting": 5,
        "opening.verification": 5,
        "discovery.listening": 8,
        "discovery.probing": 0,
        "resolution.accuracy": 12,
        "resolution.completeness": 18,
        "resolution.confirmed": 6,
        "communication.empathy": 8,
        "communication.courtesy": 8,
        "communication.clarity": 0,
        "communication.pace": 5,
        "compliance.disclosure": 8,
        "compliance.data_handling": 5,
        "compliance.third_party": 2,
        "control.hold_silence": 5,
        "closing.recap": 5,
    },
    "chat": {
        "opening.greeting": 5,
        "discovery.understanding": 9,
        "discovery.probing": 0,
        "resolution.accuracy": 15,
        "resolution.completeness": 19,
        "resolution.confirmed": 6,
        "communication.empathy": 8,
        "communication.courtesy": 8,
        "communication.clarity": 0,
        "communication.language": 5,
        "responsiveness.first_response": 5,
        "responsiveness.gaps": 5,
        "compliance.data_handling": 8,
        "compliance.third_party": 2,
        "closing.recap": 5,
    },
    "voice_bot": {
        "opening.identity": 5,
        "opening.purpose": 5,
        "understanding.intent": 15,
        "understanding.no_repetition": 10,
        "outcome.goal": 20,
        "outcome.accuracy": 10,
        "flow.latency": 5,
        "flow.turn_taking": 5,
        "flow.dead_air": 5,
        "safety.handoff": 6,
        "safety.opt_out": 4,
        "tone.respect": 5,
        "closing.clean": 5,
    },
}


@pytest.mark.parametrize("channel", CHANNELS)
def test_each_default_has_the_criteria_and_weights_of_its_channel(channel: str) -> None:
    scorecard = scorecard_from(document(channel))
    assert {item.key: item.weight for item in scorecard.criteria} == WEIGHTS[channel]
    assert scorecard.channel == channel


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
    }


def test_every_known_rule_is_one_of_the_engine_and_the_other_way_round() -> None:
    assert set(RULES) == set(KNOWN_RULES)


def test_weights_must_sum_to_exactly_100() -> None:
    changed = document("voice")
    changed["criteria"][0]["weight"] = 5.01
    with pytest.raises(ValueError, match=r"The weights sum to 100\.01, not to 100"):
        scorecard_from(changed)


def test_weights_in_tenths_sum_exactly() -> None:
    changed = document("chat")
    for item, weight in zip(changed["criteria"][:3], (5.1, 8.8, 0.1), strict=True):
        item["weight"] = weight
    assert scorecard_from(changed).criteria[0].weight == 5.1


def test_every_problem_is_listed_at_once() -> None:
    changed = document("voice")
    changed["criteria"][0]["judge"]["rule"] = "sing"
    changed["criteria"][1]["criticality"] = "somewhat"
    changed["criteria"][5]["weight"] = True
    assert {problem.field: problem.code for problem in problems_of(changed)} == {
        "criteria[0].judge.rule": "ENUM",
        "criteria[1].criticality": "ENUM",
        "criteria[5].weight": "TYPE",
    }
    with pytest.raises(ValueError, match="'sing' is not one of"):
        scorecard_from(changed)


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
        (("criteria", 0, "judge", "methods"), ["rule", "dice"], "methods[1]", "'dice' is not one"),
        (("criteria", 4, "judge", "methods"), ["rule"], "criteria[4].judge.rule", "is required"),
        (("criteria", 0, "judge", "rule"), "empathy", "judge.rule", "of the type scale only"),
        (("criteria", 0, "judge"), phrase_rule(anyOf=["?!"]), "anyOf[0]", "a phrase of 1 to 200"),
        (("criteria", 0, "judge"), phrase_rule(anyOf=["a"] * 201), "anyOf", "1 to 200 members"),
        (("criteria", 0, "judge"), phrase_rule(by="boss"), "by", "'boss' is not one of"),
        (("criteria", 0, "judge"), phrase_rule(within={}), "within", "firstTurns and lastTurns"),
        (
            ("criteria", 0, "judge"),
            phrase_rule(within={"lastTurns": 0}),
            "within.lastTurns",
            "between 1 and",
        ),
        (("criteria", 10, "judge"), metric_rule(metric="charm"), "parameters.metric", "'charm'"),
        (("criteria", 10, "judge"), metric_rule(half={}), "parameters.half", "atLeast, atMost"),
        (
            ("criteria", 10, "judge"),
            metric_rule(full={"atLeast": 9, "atMost": 1}),
            "full.atMost",
            "below atLeast",
        ),
        (("criteria", 0, "appliesWhen"), {"mood": "good"}, "appliesWhen.mood", "no such field"),
        (("criteria", 0, "appliesWhen"), {"events": ["rain"]}, "events[0]", "'rain' is not one of"),
        (("criteria", 0, "appliesWhen"), {"labels": {"a": 1}}, "labels", "must hold texts"),
        (("criteria", 0, "appliesWhen"), {"said": {"anyOf": []}}, "said.anyOf", "1 to 200 members"),
        (
            ("criteria", 0, "appliesWhen"),
            {"metric": {"metric": "x"}},
            "appliesWhen.metric.metric",
            "'x'",
        ),
        (("criteria", 0, "options"), [], "criteria[0].options", "has two options"),
        (("criteria", 2, "options"), [], "criteria[2].options", "at least two options"),
        (("criteria", 0, "dimension"), "charm", "dimension", "is not one of"),
        (("criteria", 0, "weight"), -5, "criteria[0].weight", "must be between 0"),
        (("criteria", 0, "failsAt"), 1, "criteria[0].failsAt", "below 1"),
        (("metrics", "deadAirMs"), "ten", "metrics.deadAirMs", "must be a whole number"),
        (("metrics", "deadAirMs"), -1, "metrics.deadAirMs", "must be between 0"),
        (("metrics", "fillers"), [3], "metrics.fillers", "must hold words"),
        (("bands",), [{"key": "exceeds", "from": 50}], "bands", "must start at 0"),
        (("bands",), [{"key": "good", "from": 0}], "bands[0].key", "'good' is not one of"),
        (("channel",), "fax", "channel", "'fax' is not one of"),
        (("languages",), ["English!"], "languages[0]", "language tag"),
        (("criteria",), "all", "criteria", "must be a list"),
        (("criteria",), [], "criteria", "1 to 100 members"),
        (("name",), " ", "name", "1 to 120 characters"),
    ],
)
def test_a_scorecard_with_a_mistake_is_refused(
    path: tuple, value: object, field: str, said: str
) -> None:
    changed = document("voice")
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    problems = [problem for problem in problems_of(changed) if said in problem.message]
    assert problems, [str(problem) for problem in problems_of(changed)]
    assert problems[0].field.endswith(field)


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match="must be an object"):
        scorecard_from([])  # type: ignore[arg-type]


def test_the_dimensions_are_those_of_the_contract() -> None:
    assert DIMENSIONS[0] == "resolution"
    assert len(DIMENSIONS) == 7


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_metrics_that_an_author_may_name_are_those_that_are_measured(channel: str) -> None:
    talk = GOOD_CHAT if channel == "chat" else GOOD_CALL
    measured = facts_of(talk, scorecard(channel), Context()).measures.values
    assert METRICS_OF[channel] == measured.keys()


@pytest.mark.parametrize("channel", CHANNELS)
def test_each_rule_answers_the_type_that_the_defaults_give_it(channel: str) -> None:
    for item in scorecard_from(document(channel)).criteria:
        if item.rule is not None:
            assert KNOWN_RULES[item.rule].answers == item.kind
