"""Criteria that an author writes: phrases, metrics, and the conditions under which they apply."""

from dataclasses import replace
from typing import Any, Literal
from unicodedata import normalize

import pytest

from app.judge.context import Context
from app.judge.judge import Judgement
from app.judge.rule_judge import RuleJudge
from app.judge.scorecard.values import scorecard_from
from app.scorecards.authoring import check
from app.scorecards.schemas.document import ScorecardCreate
from app.transcript import Role, Transcript
from app.web.schemas.base import details_of
from tests.talks import GOOD_CALL, GOOD_CHAT, call, chat, worth

Form = Literal["NFC", "NFD"]


def own(*criteria: dict[str, Any], channel: str = "chat", **more: Any) -> dict[str, Any]:
    """A scorecard of these criteria alone, of equal weight unless they say theirs."""
    shown = [
        {
            "key": f"own.{index}",
            "title": f"Own {index}",
            "section": "own",
            "question": "Is it so?",
            "type": "binary",
            "weight": 100 / len(criteria),
            **criterion,
        }
        for index, criterion in enumerate(criteria)
    ]
    return {
        "name": "Ours",
        "sections": [{"key": "own", "title": "Own"}],
        "criteria": shown,
        "minimum": {"words": 1, "judgedWeightPercent": 0},
        **more,
    }


def judged(
    talk: Transcript, *criteria: dict[str, Any], channel: str = "chat", **known: Any
) -> Judgement:
    checked = check(own(*criteria), channel=channel)
    assert checked.errors == []
    return RuleJudge().judge(talk, scorecard_from(checked.document), Context(**known))


def criteria_of(judgement: Judgement) -> list[dict[str, Any]]:
    return judgement.results["criteria"]


def says(*phrases: str, **more: Any) -> dict[str, Any]:
    statements = [
        {"key": f"s{index}", "title": phrase, "anyOf": [phrase]}
        for index, phrase in enumerate(phrases)
    ]
    parameters = {"statements": statements, **more}
    return {"judge": {"rule": "required_phrases", "parameters": parameters}}


def never_says(*phrases: str, **more: Any) -> dict[str, Any]:
    parameters = {"anyOf": list(phrases), **more}
    return {"judge": {"rule": "forbidden_phrases", "parameters": parameters}}


def measures(metric: str, **ranges: Any) -> dict[str, Any]:
    parameters = {"metric": metric, **ranges}
    return {"type": "metric", "judge": {"rule": "metric_range", "parameters": parameters}}


def quotes(criterion: dict[str, Any], talk: Transcript) -> list[str]:
    texts = {segment.id: segment.text for segment in talk.segments}
    for quote in criterion["evidence"]:
        assert texts[quote["segmentId"]][quote["charStart"] : quote["charEnd"]] == quote["quote"]
    return [quote["quote"] for quote in criterion["evidence"]]


MORNING = "Good morning! I am sorry to hear that."
ELSE = "Is there anything else I can help with?"
PARCEL = "Hello, my parcel has not arrived and I am a little worried."
DRIVER = "The driver missed you; I have scheduled a new delivery for you."
# Where nothing is found, the turns in which it was looked for are shown.
AGENT_TURNS = [segment.text for segment in GOOD_CHAT.segments if segment.role is Role.AGENT]


@pytest.mark.parametrize(
    ("criterion", "answer", "evidence"),
    [
        (says("good morning", "anything else"), "yes", [MORNING, ELSE]),
        (says("good morning", "welcome aboard"), "no", [MORNING]),
        (says("GOOD, morning!", within={"firstTurns": 1}), "yes", [MORNING]),
        (says("anything else", within={"firstTurns": 2}), "no", AGENT_TURNS[:2]),
        (says("anything else", within={"lastTurns": 1}), "yes", [ELSE]),
        (says("my parcel"), "no", AGENT_TURNS),
        (says("my parcel", by="customer"), "yes", [PARCEL]),
        (says("is there anything", by="anyone"), "yes", [ELSE]),
        (says("good morning", "anything else", inOrder=True), "yes", [MORNING, ELSE]),
        (says("anything else", "good morning", inOrder=True), "no", [ELSE]),
        (says("driver missed you I have scheduled"), "yes", [DRIVER]),
        (says("anyth"), "no", AGENT_TURNS),
        (never_says("not my job"), "yes", AGENT_TURNS),
        (never_says("not my job", "the driver missed you"), "no", [DRIVER]),
        (never_says("great", by="customer"), "no", ["Great, thank you very much!"]),
    ],
)
def test_phrases_are_looked_for_where_the_author_says(
    criterion: dict[str, Any], answer: str, evidence: list[str]
) -> None:
    result = criteria_of(judged(GOOD_CHAT, criterion))[0]
    assert result["answer"] == answer
    assert result["judgedBy"] == "rule"
    assert quotes(result, GOOD_CHAT) == evidence


def test_a_phrase_may_go_over_two_messages_and_any_script() -> None:
    talk = chat(("a", 0, "Your call may be"), ("a", 5, "recorded. नमस्ते जी!"), ("c", 9, "ठीक है"))
    split, hindi = criteria_of(judged(talk, says("may be recorded"), says("नमस्ते")))
    chinese = chat(("a", 0, "您好，请稍等一下。WiFi密码是什么？"), ("c", 5, "好的"))
    wait, password = criteria_of(judged(chinese, says("请稍等"), says("wifi密码")))
    assert (quotes(wait, chinese), quotes(password, chinese)) == (
        ["您好，请稍等一下。WiFi密码是什么？"],
        ["您好，请稍等一下。WiFi密码是什么？"],
    )
    assert quotes(split, talk) == ["Your call may be", "recorded. नमस्ते जी!"]
    assert quotes(hindi, talk) == ["recorded. नमस्ते जी!"]


@pytest.mark.parametrize("spoken", ["NFC", "NFD"])
@pytest.mark.parametrize("asked", ["NFC", "NFD"])
def test_a_phrase_is_found_however_its_accents_are_spelled(asked: Form, spoken: Form) -> None:
    pairs = [
        ("tschüß déjà", "TSCHÜSS, Déjà"),
        ("phải", "phải"),
        ("감사합니다", "감사합니다"),
        ("ありがとう", "ありがとう"),
        ("रिफ़ंड", "रिफ़ंड"),
        ("रिफंड", "रिफ़ंड"),
        ("ज़रूर", "ज\u093cरूर"),
    ]
    for phrase, said in pairs:
        talk = chat(("a", 0, normalize(spoken, f"Na dann {said}, vu!")), ("c", 5, "ok"))
        [criterion] = criteria_of(judged(talk, says(normalize(asked, phrase))))
        assert quotes(criterion, talk) == [normalize(spoken, f"Na dann {said}, vu!")]


def test_a_letter_without_its_mark_is_another_letter() -> None:
    talk = chat(("a", 0, normalize("NFD", "リモがだ。 café")), ("c", 5, "ok"))
    for phrase in ("リモか", "cafe"):
        assert criteria_of(judged(talk, says(phrase)))[0]["answer"] == "no"


def test_statements_out_of_order_differ_from_missing_ones() -> None:
    criterion = says("anything else", "good morning", "welcome aboard", inOrder=True)
    told = criteria_of(judged(GOOD_CHAT, criterion))[0]["explanation"]
    assert told == "Not said: “welcome aboard”. Said too early: “good morning”."


def test_with_unknown_speakers_nothing_is_said_of_the_agent() -> None:
    talk = call(("u", 0, 5_000, "That is not my job."), speaker_attribution="none")
    criteria = criteria_of(
        judged(
            talk,
            never_says("not my job"),
            never_says("not my job", by="anyone"),
            says("not my job", within={"firstTurns": 1}),
            never_says("rubbish"),
            channel="voice",
        )
    )
    assert [criterion["answer"] for criterion in criteria] == [None, "no", None, "yes"]
    assert criteria[0]["applicable"] is False


@pytest.mark.parametrize(
    ("ranges", "score"),
    [
        ({"full": {"atMost": 60}}, 1),
        ({"full": {"atLeast": 30, "atMost": 30}}, 1),
        ({"full": {"atMost": 20}, "half": {"atMost": 40}}, 0.5),
        ({"full": {"atMost": 20}}, 0),
        ({"full": {"atLeast": 60}, "half": {"atLeast": 31}}, 0),
    ],
)
def test_a_metric_is_held_against_its_ranges(ranges: dict[str, Any], score: float) -> None:
    criterion = criteria_of(judged(GOOD_CHAT, measures("firstResponseSeconds", **ranges)))[0]
    assert (criterion["answer"], criterion["normalizedScore"], criterion["judgedBy"]) == (
        30,
        score,
        "metric",
    )


def test_a_metric_that_is_missing_is_not_a_failure() -> None:
    talk = chat(("c", None, "Hello, is anybody there?"), ("a", None, "Yes, how can I help?"))
    criterion = criteria_of(judged(talk, measures("firstResponseSeconds", full={"atMost": 60})))[0]
    assert (criterion["applicable"], criterion["normalizedScore"]) == (False, None)
    assert criterion["explanation"] == (
        "The time to the first reply in seconds was not measured. The transcript has no times."
    )


@pytest.mark.parametrize(
    ("conditions", "known", "applies"),
    [
        ({}, {}, True),
        ({"languages": ["en-GB", "hi"]}, {}, True),
        ({"languages": ["hi"]}, {}, False),
        ({"directions": ["inbound"]}, {"direction": "inbound"}, True),
        ({"directions": ["inbound"]}, {}, False),
        ({"campaignIds": ["camp_a"]}, {"campaign_id": "camp_a"}, True),
        ({"campaignIds": ["camp_a"]}, {"campaign_id": "camp_b"}, False),
        ({"labels": {"team": "north"}}, {"labels": {"team": "north", "shift": "late"}}, True),
        ({"labels": {"team": "north"}}, {"labels": {"team": "south"}}, False),
        ({"said": {"anyOf": ["not arrived"]}}, {}, True),
        ({"said": {"anyOf": ["not arrived"], "by": "agent"}}, {}, False),
        ({"notSaid": {"anyOf": ["refund"]}}, {}, True),
        ({"notSaid": {"anyOf": ["my parcel"], "by": "customer"}}, {}, False),
        ({"events": ["profanity"]}, {}, False),
        ({"metric": {"metric": "turnCount"}}, {}, True),
        ({"metric": {"metric": "turnCount", "atLeast": 8}}, {}, False),
        ({"metric": {"metric": "agentWpm"}}, {}, False),
        ({"languages": ["en"], "labels": {"team": "north"}}, {}, False),
    ],
)
def test_a_criterion_applies_where_all_its_conditions_hold(
    conditions: dict[str, Any], known: dict[str, Any], applies: bool
) -> None:
    plain, conditional = says("good morning"), {**says("welcome aboard"), "appliesWhen": conditions}
    judgement = judged(GOOD_CHAT, plain, conditional, **known)
    criterion = criteria_of(judgement)[1]
    assert criterion["applicable"] is applies
    # What does not apply takes its weight away with it.
    assert judgement.score == (50 if applies else 100)
    assert applies or criterion["explanation"].startswith("Applies only ")


def test_a_criterion_may_apply_to_an_event_only() -> None:
    talk = chat(("c", 0, "I want to speak to a manager!"), ("a", 9, "I am sorry about that."))
    criterion = says("sorry")
    criteria = criteria_of(
        judged(
            talk,
            {**criterion, "appliesWhen": {"events": ["escalation_request", "long_hold"]}},
            {**criterion, "appliesWhen": {"events": ["long_hold"]}},
        )
    )
    assert [criterion["applicable"] for criterion in criteria] == [True, False]


def test_a_criterion_for_a_language_model_is_not_guessed_by_rules() -> None:
    scale = [
        {"answer": level, "score": level / 2, "anchor": f"Level {level}."} for level in (0, 1, 2)
    ]
    criterion = criteria_of(
        judged(GOOD_CHAT, says("good morning"), {"type": "scale", "options": scale})
    )[1]
    assert (criterion["applicable"], criterion["answer"]) == (False, None)
    assert criterion["explanation"]


def test_a_scorecard_for_other_languages_judges_nothing() -> None:
    checked = check({**own(says("good morning")), "languages": ["hi"]}, channel="chat")
    judgement = RuleJudge().judge(GOOD_CHAT, scorecard_from(checked.document), Context())
    assert judgement.problem is not None
    assert judgement.problem.code == "UNSUPPORTED_LANGUAGE"
    assert judgement.score is None
    checked = check({**own(says("good morning")), "languages": ["eng"]}, channel="chat")
    judgement = RuleJudge().judge(GOOD_CHAT, scorecard_from(checked.document), Context())
    assert judgement.problem is None


def test_a_critical_criterion_fails_its_section_or_everything() -> None:
    harmless = says("good morning")
    section = judged(GOOD_CHAT, harmless, {**says("nay"), "criticality": "section"})
    assert (section.score, section.raw_score, section.auto_failed) == (0, 50, False)
    whole = judged(GOOD_CHAT, harmless, {**says("nay"), "criticality": "evaluation"})
    assert (whole.score, whole.raw_score, whole.auto_failed) == (0, 50, True)


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"question": "Is the agent friendly?"}, "criteria[0].question", "'friendly'"),
        ({"question": "Is it so? Was it so?"}, "criteria[0].question", "two questions"),
        ({"question": "Is it said, and is it meant?"}, "criteria[0].question", "two questions"),
        ({"question": "It is so."}, "criteria[0].question", "not a question"),
        ({"appliesWhen": {"events": ["dead_air"]}}, "criteria[0].appliesWhen.events", "In a chat"),
        ({"appliesWhen": {"directions": ["inbound"]}}, "appliesWhen.directions", "a chat is"),
        ({"appliesWhen": {"languages": ["fr"]}}, "appliesWhen.languages", "other languages"),
        (
            {"appliesWhen": {"metric": {"metric": "agentWpm"}}},
            "criteria[0].appliesWhen.metric",
            "not measured on the channel chat",
        ),
        (measures("talkRatio", full={"atMost": 1}), "parameters.metric", "not measured"),
        (
            measures("turnCount", full={"atMost": 9}, half={"atMost": 8}),
            "criteria[0].judge.parameters.half",
            "nothing is ever half",
        ),
        ({"judge": {}}, "criteria", "Only a language model can judge 100 %"),
        (
            {
                "type": "scale",
                "judge": {},
                "options": [
                    {"answer": level, "score": level / 3, "anchor": "Level."} for level in range(4)
                ],
            },
            "criteria[0].options",
            "more than three options",
        ),
    ],
)
def test_the_linter_warns(change: dict[str, Any], field: str, said: str) -> None:
    checked = check(own({**says("hello"), **change}, languages=["en", "hi"]), channel="chat")
    assert checked.errors == []
    warnings = [warning for warning in checked.warnings if said in warning.message]
    assert [warning.field.endswith(field) for warning in warnings] == [True], checked.warnings


def test_a_plain_scorecard_has_no_warnings_and_an_unused_section_has_one() -> None:
    assert check(own(says("hello")), channel="chat").warnings == []
    sections = [{"key": "own", "title": "Own"}, {"key": "more", "title": "More"}]
    unused = check({**own(says("hello")), "sections": sections}, channel="chat").warnings
    assert [row.field for row in unused] == ["sections[1]"]


def test_a_draft_takes_over_what_it_does_not_say() -> None:
    draft = {
        "name": "Ours",
        "criteria": [
            {
                "use": "opening.greeting",
                "weight": 40,
                "title": "Hello",
                "judge": {"parameters": {"agentTurns": 1}},
            },
            {"use": "closing.recap", "weight": 60},
        ],
        "metrics": {"deadAirMs": 4_000},
    }
    document = check(draft, channel="voice").document
    greeting, recap = document["criteria"]
    assert greeting["judge"]["parameters"] == {
        "agentTurns": 1,
        "requires": ["greeting", "brand", "name"],
    }
    assert (greeting["title"], greeting["weight"], recap["title"]) == ("Hello", 40, "Recap")
    assert [section["key"] for section in document["sections"]] == ["opening", "closing"]
    assert document["metrics"]["deadAirMs"] == 4_000
    assert document["metrics"]["nonTalkGapMs"] == 3_000
    shipped = check(
        {"name": "x", "criteria": [{"use": "closing.recap", "weight": 100}]}, channel="voice"
    )
    assert shipped.document["criteria"][0]["weight"] == 100
    assert judged(GOOD_CALL, says("thank you"), channel="voice").score == 100


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"weights": 5}, "weights"),
        ({"halfAt": 0}, "halfAt"),
    ],
)
def test_invalid_weights_are_refused(parameters: dict[str, Any], field: str) -> None:
    criterion = {
        "use": "resolution.completeness",
        "weight": 100,
        "judge": {"parameters": parameters},
    }
    errors = ScorecardCreate().validate({"name": "x", "channel": "chat", "criteria": [criterion]})
    assert [error["field"] for error in details_of({"json": errors})] == [
        f"criteria[0].judge.parameters.{field}"
    ]


@pytest.mark.parametrize("turns", [0, -1, 1_001])
def test_at_least_one_turn_is_looked_at(turns: int) -> None:
    judge = {"parameters": {"lastTurns": turns}}
    criterion = {"use": "closing.recap", "weight": 100, "judge": judge}
    errors = ScorecardCreate().validate({"name": "x", "channel": "chat", "criteria": [criterion]})
    [error] = details_of({"json": errors})
    assert error["field"] == "criteria[0].judge.parameters.lastTurns"


def test_a_criterion_that_is_not_there_cannot_be_taken_over() -> None:
    checked = check({"name": "x", "criteria": [{"use": "no.such", "weight": 100}]}, channel="chat")
    assert [(error.field, error.code) for error in checked.errors] == [("criteria[0].use", "ENUM")]


def test_what_obstacles_weighed_in_earlier_releases_is_accepted_and_changes_nothing() -> None:
    talk = chat(
        ("c", 0, "Please book a table for two at the harbour inn."),
        ("a", 9, "I could not book the table. I apologize."),
        ("c", 20, "Thanks, bye."),
        ("a", 25, "Goodbye."),
    )
    scores = [
        worth(
            criteria_of(judged(talk, {"use": "resolution.completeness", "type": "scale", **more}))[
                0
            ]
        )
        for more in (
            {},
            {"judge": {"parameters": {"halfAt": 30}}},
            {"judge": {"parameters": {"weights": {"apology": 0, "failure": 0}}}},
        )
    ]
    assert scores[0] == scores[1] == scores[2] <= 0.5


def counts(**parameters: Any) -> dict[str, Any]:
    return {"judge": {"rule": "act", "parameters": parameters}}


def answers(criterion: dict[str, Any], *lines: tuple[str, str]) -> str | None:
    talk = chat(*((letter, None, text) for letter, text in lines))
    return criteria_of(judged(talk, criterion))[0]["answer"]


@pytest.mark.parametrize(
    ("phrase", "said", "not_said"),
    [
        ("in <number> days", "You get it in three days.", "You get it in some days."),
        ("it costs <amount>", "So it costs $1,200.50 in all.", "So it costs 12 in all."),
        ("a fee of <amount>", "There is a fee of twenty euros.", "There is a fee of some kind."),
        ("by <date>", "It is there by next week.", "It is there by car."),
        ("on <date>", "I will call on 3 March.", "I will call on your landline."),
        ("at <time>", "He comes at half past two.", "He comes at once."),
        ("before <time>", "Be there before 9:30 am.", "Be there before him."),
        ("thanks <name>", "Thanks, Priya!", "Thanks, all!"),
        ("thank you <name>", "Thank you, [NAME].", "Thank you, dear customer."),
        ("that is <letters>", "So that is B-Y-R-N-E?", "So that is a TV."),
        ("spelled <letter> <letter>", "It is spelled C, K.", "It is spelled like this."),
        ("<nothing>", "There is nothing.", "There is something."),
    ],
)
def test_slots_stand_for_many_words(phrase: str, said: str, not_said: str) -> None:
    for text, expected in ((said, "yes"), (not_said, "no")):
        assert answers(says(phrase), ("c", "Hello there."), ("a", text)) == expected, text


def test_phrases_are_said_as_statements_or_questions_and_denied_or_not() -> None:
    told = ("a", "There is no fee. Would the fee matter to you? It is not the courier's fault.")
    for more, expected in (
        ({}, 2),
        ({"said": "statement"}, 1),
        ({"said": "question"}, 1),
        ({"negated": "never"}, 1),
        ({"negated": "only"}, 1),
        ({"said": "statement", "negated": "never"}, 0),
    ):
        found = counts(anyOf=["fee"], atLeast=expected, atMost=expected, **more)
        assert answers(found, ("c", "And the price?"), told) == "yes", more
    blamed = never_says("the courier's fault", negated="never")
    assert answers(blamed, ("c", "And?"), told) == "yes"
    assert answers(blamed, ("c", "And?"), ("a", "It was the courier's fault.")) == "no"
    spoken = counts(anyOf=["anything else"], said="question")
    assert answers(spoken, ("c", "okay"), ("a", "is there anything else i can do")) == "yes"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I cannot see your ticket number.", "no"),
        ("I don't have a ticket number for you yet.", "no"),
        ("There is no ticket number.", "no"),
        ("I cannot see it here, but your ticket number is 4711.", "yes"),
        ("no problem your ticket number is 4711", "yes"),
        ("Please don't forget your ticket number: 4711.", "yes"),
    ],
)
def test_a_required_phrase_that_is_denied_is_not_said(text: str, answer: str) -> None:
    talk = (("c", "Hello."), ("a", text))
    assert answers(says("ticket number"), *talk) == answer
    assert answers(says("ticket number", negated="either"), *talk) == "yes"


def test_an_explanation_tells_that_a_phrase_is_denied() -> None:
    talk = chat(("c", 0, "Hello."), ("a", 5, "There is no ticket number."))
    [criterion] = criteria_of(judged(talk, says("ticket number", "goodbye")))
    assert criterion["explanation"] == "Not said: “goodbye”. Said, but denied: “ticket number”."


def test_acts_are_counted_before_and_after_others() -> None:
    sorry = ("a", "I am very sorry about that, I apologise.")
    complaint = ("c", "This is the worst service ever, I am furious and I want to complain.")
    other = ("a", "Your parcel is at the depot.")
    right_after = counts(acts=["apologise"], after={"acts": ["complain", "angry"], "turns": 1})
    assert answers(right_after, ("c", "Hello."), other, complaint, sorry) == "yes"
    assert answers(right_after, complaint, other, ("c", "So?"), sorry) == "no"
    assert answers(right_after, ("c", "Hello."), sorry) is None
    before = counts(acts=["apologise"], before={"anyOf": ["depot"], "by": "agent"})
    assert answers(before, complaint, sorry, ("c", "And?"), other) == "yes"
    assert answers(before, complaint, other, ("c", "And?"), sorry) == "no"
    twice = counts(acts=["apologise"], atLeast=2)
    assert answers(twice, complaint, sorry, ("c", "Really?"), sorry) == "yes"
    assert answers(twice, complaint, sorry) == "no"


def test_an_act_needs_something_to_count() -> None:
    checked = check(own(counts(atLeast=1)), channel="chat")
    assert [(error.field, error.code) for error in checked.errors] == [
        ("criteria[0].judge.parameters.acts", "REQUIRED")
    ]
    checked = check(own(counts(acts=["solved"])), channel="chat")
    assert "Only the other side says that it is solved" in checked.warnings[0].message
    checked = check(own(counts(anyOf=["a fee of <money>"])), channel="chat")
    assert checked.warnings[0].message.startswith("<money> matches only its own word")


LOYALTY = {
    "like": ["Would you like to join our rewards programme?", "You can collect points with us."],
    "unlike": ["Would you like a refund or a new one?"],
}


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ("Would you like to join our rewards programme today?", True),
        ("You could collect points with our loyalty card.", True),
        ("It is 20 euros. By the way, do you want to join the rewards programme?", True),
        ("Would you like a refund, or a new one?", False),
        ("Your parcel arrives tomorrow.", False),
    ],
)
def test_lines_count_that_are_like_the_examples(said: str, counts: bool) -> None:
    talk = chat(("c", 0, "Hello, how much is it?"), ("a", 5, said), ("c", 9, "Thanks."))
    rule = {"judge": {"rule": "act", "parameters": LOYALTY}}
    assert criteria_of(judged(talk, rule))[0]["answer"] == ("yes" if counts else "no")


def test_only_the_first_or_last_messages_may_count() -> None:
    talk = chat(
        ("a", 0, "Hello."), ("a", 1, "This is Mia."), ("c", 5, "Hi."), ("a", 9, "How can I help?")
    )
    asked = [{"firstMessages": 1}, {"firstMessages": 2}, {"lastMessages": 2}, {"lastMessages": 1}]
    answers = [criteria_of(judged(talk, says("Mia", within=w)))[0]["answer"] for w in asked]
    counted = {"anyOf": ["Mia"], "within": {"firstMessages": 1}}
    [act] = criteria_of(judged(talk, {"judge": {"rule": "act", "parameters": counted}}))
    assert answers == ["no", "yes", "yes", "no"]
    assert act["answer"] == "no"


@pytest.mark.parametrize(
    ("asked", "answer"),
    [("thanks, {customerName}", "yes"), ("{agentName} here", "yes"), ("{agentName}, thanks", "no")],
)
def test_phrases_may_name_what_is_known_of_the_conversation(asked: str, answer: str) -> None:
    talk = chat(
        ("c", 0, "Good morning, my name is maria lopez."),
        ("a", 5, "Thanks, Maria. Agent here, your loan is paid off."),
    )
    talk = replace(
        talk,
        participants=tuple(
            replace(person, display_name="Agent") if person.role is Role.AGENT else person
            for person in talk.participants
        ),
    )
    assert criteria_of(judged(talk, says(asked)))[0]["answer"] == answer
