from typing import Any
from unicodedata import normalize

import pytest

from app.judge.context import Context
from app.judge.dialogue.clauses import clause_spans
from app.judge.facts.conversation_facts import facts_of, quoted
from app.judge.insights.summary import issue_of
from app.judge.insights.topics import topics_of
from app.judge.rule_judge import RuleJudge
from app.judge.scorecard.values import Topic, scorecard_from
from app.transcript import Transcript
from tests.talks import GOOD_CALL, GOOD_CHAT, call, chat, document, scorecard

CHAT = scorecard("chat")
NOTHING: dict[str, Any] = {"overview": None, "issue": None, "outcome": None, "actionItems": []}


def summary(talk: Transcript, channel: str = "chat") -> dict[str, Any]:
    summed: dict[str, Any] = (
        RuleJudge().judge(talk, scorecard(channel), Context()).results["summary"]
    )
    return summed


def test_a_summary_quotes_the_issue_the_outcome_and_what_is_promised() -> None:
    assert summary(GOOD_CHAT) == {
        "overview": "The customer said \u201cmy parcel has not arrived and I am a little worried.\u201d "
        "The agent said \u201cThe driver missed you; I have scheduled a new delivery for you.\u201d "
        "The request was resolved. "
        "The agent promised \u201cWe will bring it by Tuesday.\u201d",
        "issue": "my parcel has not arrived and I am a little worried.",
        "outcome": "The driver missed you; I have scheduled a new delivery for you.",
        "actionItems": ["We will bring it by Tuesday."],
    }


def test_every_sentence_of_a_summary_is_in_the_transcript() -> None:
    shown = summary(GOOD_CALL, "voice")
    said = [segment.text for segment in GOOD_CALL.segments]
    for sentence in (shown["issue"], shown["outcome"], *shown["actionItems"]):
        assert any(sentence in text for text in said)


@pytest.mark.parametrize(
    ("lines", "issue"),
    [
        (("c: Hello! I need help getting to my interview", "a: Sure."), "I need help getting to my interview"),
        (("c: Hi. My name is Maria Gomez.", "a: Hi.", "c: The kettle is broken."), "The kettle is broken."),
        (("c: This is awful.", "c: Where is the parcel of last week?"), "Where is the parcel of last week?"),
        (
            ("a: Hello, this is Nora. I am calling about your delivery.", "c: I am at work on Monday."),
            "I am calling about your delivery.",
        ),
        (("a: How can I help you?", "c: I want to return a rug"), "I want to return a rug"),
        (("c: Hello.", "a: Hello."), None),
        (("a: hello this is sam how can i help", "c: my parcel is late"), "my parcel is late"),
    ],
)  # fmt: skip
def test_the_issue_is_why_the_service_calls_or_what_the_customer_wants(lines, issue) -> None:
    said = [(line[0], None, line[3:]) for line in lines]
    assert issue_of(facts_of(chat(*said), CHAT, Context())) == issue


def test_a_dot_within_a_number_ends_no_sentence_and_what_has_no_end_gets_one() -> None:
    said = [("c", None, "I want my money back"), ("a", None, "Well. I have refunded 64.90 pounds.")]
    shown = summary(chat(*said))
    assert shown["outcome"] == "I have refunded 64.90 pounds."
    assert shown["overview"].startswith(
        "The customer said \u201cI want my money back.\u201d "
        "The agent said \u201cI have refunded 64.90 pounds.\u201d"
    )


CALL = (
    "i take this over myself i read it today and then he gets a formal warning if its as you say that i have "
    "to check first i ring you tomorrow before noon on the number ending four four"
)


def test_a_call_without_full_stops_is_cut_between_clauses() -> None:
    cut = [CALL[start:end] for start, end in clause_spans(CALL, english=True)]
    assert " ".join(cut) == CALL
    assert cut[0] == "i take this over myself"
    assert cut[-1] == "i ring you tomorrow before noon on the number ending four four"


def test_an_open_promise_is_quoted_to_its_end_and_belongs_to_the_outcome() -> None:
    said = [
        ("c", None, "he drills every night and nobody answers my mails about the noise"),
        ("a", None, CALL),
        ("c", None, "yes okay tomorrow before noon i count on that"),
    ]
    shown = summary(chat(*said))
    promise = "i ring you tomorrow before noon on the number ending four four"
    assert shown["actionItems"][-1].endswith(promise)
    assert promise in shown["outcome"]


def test_a_refusal_and_a_proposal_that_is_declined_are_no_to_do() -> None:
    said = [
        ("c", None, "I want my 80 pounds back for the concert."),
        ("a", None, "I can't pay that back, the concert was not cancelled."),
        ("a", None, "You can put the tickets on our resale page."),
        ("c", None, "No thanks, I would rather not do that."),
    ]
    assert summary(chat(*said))["actionItems"] == []


PARKING = (
    "a: public order office", "c: good day i have a parking fine for the ninth but i have a resident permit",
    "a: file number", "c: p o three three eight", "a: yes thirty five euro payable within two weeks",
    "c: but i have a permit", "a: the fine stands", "c: can i object to it then",
    "a: its on the back of the letter", "c: right thank you so much for the information", "a: goodbye",
)  # fmt: skip
ROAMING = (
    "c: Please put the roaming off",
    "a: Roaming is off now. If you go to Switzerland, put it on in the app under Settings.",
    "c: ok thanks",
)
LATE = (
    "c: your man was supposed to come today. It is half past one.",
    "a: He is stuck.",
    "c: is he coming or not?",
    "a: He will not make it before 6. He'd come after 6 if that's ok, otherwise I have tomorrow at 7:30 "
    "as the first job, so it can't slip.",
    "c: tomorrow 7:30",
    "a: It's booked as first job, and he rings you when he leaves the yard.",
    "c: fine. let's see tomorrow",
)


@pytest.mark.parametrize("lines", [PARKING, ROAMING, LATE])
def test_where_something_is_a_free_choice_and_a_settled_offer_are_no_to_do(lines) -> None:
    assert summary(chat(*((line[0], None, line[3:]) for line in lines)))["actionItems"] == []


MATTERS = (
    "The mould in the back bedroom is back again. And the fan in the bathroom has been dead since December "
    "last year."
)
LONG = (
    "I was with you from the 6th to the 8th of May. My card was charged on the 6th and again on the 8th.",
    "Also I think that a green jacket of mine still hangs on the back of the bathroom door. Colm Hartigan",
)


@pytest.mark.parametrize(
    ("opening", "issue"),
    [(f"Flat 9 Tanner Wharf\n\nHi, two things. {MATTERS}", MATTERS), (" ".join(LONG), LONG[0])],
)
def test_an_address_or_a_date_alone_is_no_issue(opening: str, issue: str) -> None:
    said = [("c", None, opening), ("a", None, "Good morning, I look into it.")]
    assert issue_of(facts_of(chat(*said), CHAT, Context())) == issue


def test_the_outcome_is_named_where_no_line_states_it() -> None:
    said = [("c", None, "Where is my parcel?"), ("a", None, "Hello."), ("c", None, "Hello?")]
    assert summary(chat(*said))["outcome"] == "It remained open whether the request was resolved."


def test_nothing_is_summed_up_where_the_words_or_the_speakers_are_unknown() -> None:
    italian = chat(("c", None, "Il mio ordine non è arrivato."), language="it")
    assert summary(italian) == NOTHING
    mixed = call(("u", 0, 900, "My parcel has not arrived."), speaker_attribution="none")
    assert summary(mixed, "voice") == NOTHING


def test_a_topic_needs_two_lines_and_a_topic_of_the_scorecard_one() -> None:
    facts = facts_of(GOOD_CHAT, CHAT, Context())
    assert topics_of(facts, (), issue_of(facts)) == ("delivery",)
    own = (Topic("drivers", ("the driver",)), Topic("pets", ("dog",)))
    assert topics_of(facts, own, issue_of(facts)) == ("drivers", "delivery")
    french = chat(("c", 0, normalize("NFD", "Mon café est brûlé")), ("a", 5, "Désolé"))
    own = (Topic("coffee", ("café",)), Topic("caf", ("cafe",)))
    assert topics_of(facts_of(french, CHAT, Context()), own, None) == ("coffee",)


def test_a_scorecard_may_bring_its_own_topics() -> None:
    topics = [{"name": "drivers", "anyOf": ["the driver"]}]
    card = scorecard_from({**document("chat"), "topics": topics})
    assert card.topics == (Topic("drivers", ("the driver",)),)


def test_a_topic_of_ours_may_be_the_issue_itself() -> None:
    said = [("c", None, "Where is my parcel?"), ("a", None, "It comes today by train.")]
    facts = facts_of(chat(*said), CHAT, Context())
    assert topics_of(facts, (), issue_of(facts)) == ("delivery",)


def test_strengths_were_done_and_improvements_say_what_was_missed() -> None:
    said = [
        ("c", 0, "Hello, there were no screws in the package of my shelf."),
        ("a", 20, "Hello. Just type the full card number and I will see what I can do for you."),
        ("c", 40, "This is terrible service."),
        ("a", 60, "I can't help you with that."),
    ]
    coaching = RuleJudge().judge(chat(*said), CHAT, Context()).results["coaching"]
    strong = [strength["criterionKey"] for strength in coaching["strengths"]]
    assert "responsiveness.first_response" in strong
    assert not {"communication.courtesy", "opening.greeting"} & set(strong)
    weak = {
        improvement["criterionKey"]: improvement["text"] for improvement in coaching["improvements"]
    }
    assert weak["resolution.completeness"] == (
        "The agent refused the request without naming a reason (“I can't help you with that.”). "
        "Say why not, and what is possible instead."
    )


COLD = (
    ("c", 0, "My parcel has not arrived and I am really worried about it."),
    ("a", 20, "Calm down, it's only a parcel. You people never read the terms."),
    ("c", 40, "Excuse me?"),
    ("a", 60, "I have told you already, look it up yourself."),
)


def test_rude_conduct_comes_first_and_is_quoted() -> None:
    results = RuleJudge().judge(chat(*COLD), CHAT, Context()).results
    first = results["coaching"]["improvements"][0]
    assert first["criterionKey"] is None
    assert first["text"].startswith("The agent mocked or belittled the customer")
    assert {quote["role"] for quote in first["evidence"]} == {"agent"}
    rude = [moment["label"] for moment in results["moments"] if moment["type"] == "rudeness"]
    assert set(rude) == {"The agent was rude or dismissive to the customer."}


@pytest.mark.parametrize(
    ("reply", "ignored"),
    [
        ("Would Tuesday suit you for the meter reading?", True),
        ("Please open the windows, leave the house and call the emergency line.", False),
    ],
)
def test_an_unanswered_danger_comes_before_everything(reply: str, ignored: bool) -> None:
    said = [("c", 0, "Hello, there is a smell of gas in my kitchen."), ("a", 20, reply)]
    coaching = RuleJudge().judge(chat(*said), CHAT, Context()).results["coaching"]
    found = [
        improvement["text"]
        for improvement in coaching["improvements"]
        if improvement["criterionKey"] is None
    ]
    assert bool(found) is ignored
    if ignored:
        assert found == [
            "The customer reported a danger, and the agent did not react to it (“Hello, there is "
            "a smell of gas in my kitchen.”). Say first how to get to safety and whom to call; "
            "everything else can wait."
        ]


def test_what_is_found_in_one_sentence_is_quoted_once() -> None:
    facts = facts_of(chat(("a", None, "Sorry, I could not complete the booking.")), CHAT, Context())
    cues = [facts.said(kind)[0] for kind in ("apology", "bad_news", "failure")]
    assert [cue.quote for cue in cues] == ["Sorry", "Sorry, I", "I could not complete"]
    assert [cue.quote for cue in quoted(cues)] == ["Sorry, I could not complete the booking."]
