import pytest

from app.ai.rules import RULES
from app.ai.scorecard import scorecard_from
from app.ai.scorecard_shapes import DIMENSIONS, KNOWN_RULES
from tests.talks import document

CHANNELS = ["voice", "chat", "voice_bot"]
WEIGHTS = {
    "voice": {
        "opening.greeting": 5,
        "opening.verification": 5,
        "discovery.listening": 8,
        "discovery.probing": 7,
        "resolution.accuracy": 12,
        "resolution.completeness": 12,
        "resolution.confirmed": 6,
        "communication.empathy": 8,
        "communication.clarity": 7,
        "communication.pace": 5,
        "compliance.disclosure": 8,
        "compliance.data_handling": 7,
        "control.hold_silence": 5,
        "closing.recap": 5,
    },
    "chat": {
        "opening.greeting": 5,
        "discovery.understanding": 8,
        "discovery.probing": 7,
        "resolution.accuracy": 15,
        "resolution.completeness": 14,
        "resolution.confirmed": 6,
        "communication.empathy": 8,
        "communication.clarity": 7,
        "communication.language": 5,
        "responsiveness.first_response": 5,
        "responsiveness.gaps": 5,
        "compliance.data_handling": 10,
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
        "communication.clarity": "evaluation",
        "compliance.disclosure": "evaluation",
        "compliance.data_handling": "evaluation",
    }


def test_every_known_rule_is_one_of_the_engine_and_the_other_way_round() -> None:
    assert set(RULES) == set(KNOWN_RULES)


def test_weights_must_sum_to_exactly_100() -> None:
    changed = document("voice")
    changed["criteria"][0]["weight"] = 5.01
    with pytest.raises(ValueError, match=r"the weights sum to 100\.01, not to 100"):
        scorecard_from(changed)


def test_weights_in_tenths_sum_exactly() -> None:
    changed = document("chat")
    for item, weight in zip(changed["criteria"][:3], (5.1, 7.8, 7.1), strict=True):
        item["weight"] = weight
    assert scorecard_from(changed).criteria[0].weight == 5.1


def test_every_problem_is_listed_at_once() -> None:
    changed = document("voice")
    changed["criteria"][0]["judge"]["rule"] = "sing"
    changed["criteria"][1]["criticality"] = "somewhat"
    changed["criteria"][5]["weight"] = True
    with pytest.raises(ValueError, match="sing") as refused:
        scorecard_from(changed)
    assert len(str(refused.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("criteria", 1, "key"), "opening.greeting", "opening.greeting is there twice"),
        (("criteria", 0, "section"), "finale", "finale is not in sections"),
        (("criteria", 0, "judge", "parameters"), {}, "agentTurns is missing"),
        (("criteria", 0, "judge", "parameters", "agentTurn"), 2, "agentTurn is not known"),
        (("criteria", 0, "judge", "methods"), ["rule", "dice"], "'dice' is not one of"),
        (("criteria", 3, "judge", "methods"), ["rule"], "judge.rule is missing"),
        (("criteria", 0, "options"), [], "a binary criterion has two options"),
        (("criteria", 0, "dimension"), "charm", "dimension is not one of"),
        (("criteria", 0, "weight"), -5, "weight must be over 0"),
        (("criteria", 0, "failsAt"), 1, "failsAt must be"),
        (("metrics", "deadAirMs"), "ten", "metrics.deadAirMs has the wrong type"),
        (("metrics", "fillers"), [3], "metrics.fillers must hold words"),
        (("bands",), [{"key": "good", "from": 50}], "one band must start at 0"),
        (("channel",), "fax", "'fax' is not one of"),
        (("criteria",), "all", "criteria has the wrong type"),
    ],
)
def test_a_scorecard_with_a_mistake_is_refused(path: tuple, value: object, said: str) -> None:
    changed = document("voice")
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ValueError, match=r".") as refused:
        scorecard_from(changed)
    assert said in str(refused.value)


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match="must be an object"):
        scorecard_from([])  # type: ignore[arg-type]


def test_the_dimensions_are_those_of_the_contract() -> None:
    assert DIMENSIONS[0] == "resolution"
    assert len(DIMENSIONS) == 7
