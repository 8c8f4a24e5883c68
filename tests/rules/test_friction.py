import pytest

from app.ai.dialogue.cues import find_cues
from app.ai.dialogue.friction import Friction, friction_of
from app.ai.dialogue.turns import Exchanges, dialogue_of, exchanges_of
from app.ai.facts.model_input import model_input_of
from app.ai.transcript import Transcript
from app.ai.weights import model_document
from tests.talks import GOOD_CHAT, chat


def written(*lines: tuple[str, str]) -> Transcript:
    return chat(*((letter, None, text) for letter, text in lines))


def friction(*lines: tuple[str, str]) -> Friction:
    dialogue = dialogue_of(written(*lines), channel="chat", language="en")
    return friction_of(dialogue, find_cues(dialogue))


def exchanges(*lines: tuple[str, str]) -> Exchanges:
    return exchanges_of(dialogue_of(written(*lines), channel="chat", language="en"))


ASKS = ("c", "Please book a table for two at the harbour inn.")
BYE = ("c", "Thanks, bye.")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("I could not book the table.", ["failure"]),
        ("The reservation did not go through.", ["failure"]),
        ("There are no tables on Friday.", ["no_result"]),
        ("I apologize. It was unsuccessful.", ["failure"]),
        ("Your table is booked.", []),
        ("I cannot wait to see you there.", []),
        ("If I cannot find it, I will write.", []),
    ],
)
def test_an_obstacle_is_found_where_it_is_said(text, kinds) -> None:
    measured = friction(ASKS, ("a", text), BYE)
    assert sorted(cue.kind for cue in measured.obstacles) == kinds


def test_more_obstacles_mean_less_ease() -> None:
    one = friction(ASKS, ("a", "I could not book it."), BYE)
    two = friction(ASKS, ("a", "I could not book it."), ("a", "Sorry, that failed."), BYE)
    assert 1 > one.ease > two.ease > 0


def test_a_conversation_without_obstacles_is_all_ease() -> None:
    assert friction(ASKS, ("a", "Your table is booked."), BYE).ease == 1


@pytest.mark.parametrize(
    "text",
    [
        "I cannot change it because our policy forbids it.",
        "Sadly, I cannot change it: it is past the 24 hour window.",
        "Unfortunately I cannot change it, the fare does not allow that.",
    ],
)
def test_a_refusal_that_names_its_ground_is_no_failure(text) -> None:
    measured = friction(ASKS, ("a", text), BYE)
    assert measured.amount == 0


def test_settling_for_something_else_counts_only_after_an_obstacle() -> None:
    asks = ("c", "How about Sunday?")
    assert not friction(("a", "When would it suit you?"), asks, ("a", "Fine."), BYE).concessions
    assert friction(("a", "There are no tables left."), asks, ("a", "Fine."), BYE).concessions


def test_last_words_of_the_customer_are_open_unless_they_are_a_farewell() -> None:
    assert friction(ASKS, ("a", "For when?"), ("c", "Tomorrow at nine.")).ends_open
    assert not friction(ASKS, ("a", "Booked."), BYE).ends_open


def test_a_request_made_again_is_paired_with_the_first() -> None:
    again = ("c", "Book a table for two at the harbour inn!")
    ((later, earlier),) = exchanges(ASKS, ("a", "Hello."), again).repeated_requests
    assert (later.position, earlier.position) == (2, 0)


def test_an_unanswered_last_question_is_open() -> None:
    taken = exchanges(ASKS, ("a", "Yes."), ("c", "Is parking free?"))
    assert [line.text for line in taken.open_questions] == ["Is parking free?"]


def test_every_feature_is_a_finite_number() -> None:
    names = [name for name, *_ in model_document("resolved")["features"]]
    for lines in (GOOD_CHAT, written(), written(("c", "Hm."))):
        dialogue = dialogue_of(lines, channel="chat", language="en")
        values = model_input_of(dialogue, find_cues(dialogue)).features
        assert list(values) == names
        assert all(abs(value) < 1e6 for value in values.values())


GROUND = ("a", "Unfortunately a basic ticket is non-refundable.")


@pytest.mark.parametrize(
    "reply",
    ["Please check again.", "This is ridiculous.", "Let me speak to a supervisor.", "Half, then?"],
)
def test_who_presses_for_what_is_refused_on_its_ground_meets_no_new_obstacle(reply) -> None:
    measured = friction(ASKS, GROUND, ("c", reply))
    assert (measured.amount, measured.ends_open) == (0, False)
    assert [cue.quote for cue in measured.refusals] == ["Unfortunately"]


def test_to_ask_for_the_colleague_that_is_offered_is_no_obstacle() -> None:
    offer = ("a", "I can transfer you to a human agent. Shall I?")
    yes = ("c", "Yes, I want to speak to a human.")
    assert friction(ASKS, offer, yes).amount == 0
    assert friction(ASKS, ("a", "Which evening?"), yes).amount > 0


@pytest.mark.parametrize(
    ("told", "reply", "is_open"),
    [
        ("Have a nice day!", "You too!", False),
        ("Anything else?", "No.", False),
        ("Which evening?", "No.", True),
        ("Anything else?", "Is it far?", True),
    ],
)
def test_the_last_word_is_open_unless_it_answers_a_farewell(told, reply, is_open) -> None:
    assert friction(ASKS, ("a", told), ("c", reply)).ends_open is is_open


def test_abuse_is_an_obstacle_and_nothing_else_moves() -> None:
    lines = [ASKS, ("a", "I could not book it."), ("c", "Oh."), ("a", "It failed."), BYE]
    plain, insulted = (
        model_input_of(dialogue, find_cues(dialogue))
        for given in (lines, [*lines, ("a", "You idiot.")])
        for dialogue in [dialogue_of(written(*given), channel="chat", language="en")]
    )
    moved = {name for name in plain.features if plain.features[name] != insulted.features[name]}
    assert moved == {"friction"}
    assert insulted.grams == plain.grams
    assert insulted.friction.amount > plain.friction.amount
