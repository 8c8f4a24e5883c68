"""What a language model reads of a conversation: its ledger decides the page, if its quotes are true."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.judge.context import Context
from app.judge.judge import Judgement
from app.judge.judges import build_judge
from app.judge.rule_judge import RuleJudge
from app.transcript import Transcript
from tests.model_server import ModelServer, model_settings
from tests.talks import chat, scorecard
from tests.walks.test_language_model_judge import Shelf

CARD = scorecard("chat")
Read = Callable[..., Judgement]
Step = tuple[str, int, str]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.close()


@pytest.fixture
def read(server: ModelServer, tmp_path: Path) -> Read:
    def read(talk: Transcript, reading: dict[str, Any], **changes: Any) -> Judgement:
        server.answer_with(server.judged(reading=reading))
        judge = build_judge(model_settings(server, tmp_path, **changes), Shelf())
        return judge.judge(talk, CARD, Context())

    return read


def quoted(talk: Transcript, number: int, **more: Any) -> dict[str, Any]:
    """A statement with a true quote of a message; its number counts from 1."""
    return {"message": number, "quote": talk.segments[number - 1].text, **more}


def asked(
    talk: Transcript, number: int, request: str, *course: Step, kind: str = "action"
) -> dict[str, Any]:
    steps = [
        quoted(talk, at, what=what, words=words, confidence="high") for what, at, words in course
    ]
    return quoted(talk, number, request=request, kind=kind, course=steps)


def reading(*requests: Any, feelings: Any = (), rude: Any = ()) -> dict[str, Any]:
    return {"requests": [*requests], "feelings": [*feelings], "rude": [*rude]}


WOULD_HAVE = chat(
    ("c", 0, "My kettle leaks and I want my money back, please."),
    ("a", 20, "I would have refunded it gladly, had you written within thirty days."),
    ("c", 40, "So is there really nothing that you can do for me about the kettle?"),
    ("a", 60, "No, the period is over. I am afraid that I cannot refund it."),
    ("c", 80, "Wonderful. Thanks for nothing, really great service."),
)
NOT_YET = chat(
    ("c", 0, "Hello, the internet is down in the whole house since the morning."),
    ("a", 20, "I have restarted the line from here. Is it working now?"),
    ("c", 60, "Not yet, the light on the box is still red."),
    ("a", 80, "A technician will come tomorrow between nine and eleven."),
    ("c", 90, "Alright, I will be at home then. Thank you, bye."),
)


def test_every_output_follows_from_what_the_model_has_shown(read: Read) -> None:
    request = asked(
        WOULD_HAVE,
        1,
        "The customer wanted the money back for a leaking kettle.",
        ("refused", 2, "The agent said that it was too late for a refund."),
        ("repeated", 3, "The customer asked whether nothing could be done."),
        ("refused", 4, "The agent refused the refund because the period was over."),
        ("gave_up", 5, "The customer gave up."),
    )
    sarcasm = quoted(WOULD_HAVE, 5, feeling="sarcastic")
    results = read(WOULD_HAVE, reading(request, feelings=[sarcasm])).results
    assert results["resolution"]["status"] == "unresolved"
    assert results["summary"]["issue"] == "The customer wanted the money back for a leaking kettle."
    assert results["summary"]["outcome"] == "The customer gave up."
    assert results["sentiment"]["customer"]["end"] < 0
    assert results["dimensions"]["resolution"] <= 0.5
    assert not any(moment["type"] == "rudeness" for moment in results["moments"])
    for piece in results["resolution"]["evidence"]:
        texts = {segment.id: segment.text for segment in WOULD_HAVE.segments}
        assert piece["quote"] in texts[piece["segmentId"]]


def test_a_promise_is_what_is_still_to_be_done(read: Read) -> None:
    request = asked(
        NOT_YET,
        1,
        "The customer reported that the internet was down.",
        ("denied", 3, "The customer said that it did not work yet."),
        ("promised", 4, "The agent promised a technician for the next day, nine to eleven."),
    )
    judgement = read(NOT_YET, reading(request))
    assert judgement.resolution not in ("resolved", "escalated")
    assert judgement.results["resolution"]["followUpPromised"] is True
    [action] = judgement.results["summary"]["actionItems"]
    assert action == "The agent promised a technician for the next day, nine to eleven."
    assert [m["type"] for m in judgement.results["moments"]] == ["commitment"]


def test_what_the_rules_say_of_manners_gives_way(read: Read) -> None:
    talk = chat(
        ("c", 0, "Can you please send me the invoice of March again?"),
        ("a", 20, "What a stupid system, it hid your invoice. I have sent it to you just now."),
        ("c", 40, "Ha, no problem, I have got it. Thank you very much."),
    )
    request = asked(
        talk,
        1,
        "The customer wanted the invoice of March.",
        ("done", 2, "The agent sent the invoice."),
        ("confirmed", 3, "The customer had received it."),
    )
    thanks = quoted(talk, 3, feeling="grateful")
    judgement = read(talk, reading(request, feelings=[thanks]))
    assert judgement.resolution == "resolved"
    rude = [
        entry
        for entry in judgement.results["coaching"]["improvements"]
        if entry["criterionKey"] is None
    ]
    assert rude == []
    insulted = read(talk, reading(request, rude=[quoted(talk, 2, how="mocks")]))
    assert any(moment["type"] == "rudeness" for moment in insulted.results["moments"])


LIE = {"message": 2, "quote": "I have refunded it.", "confidence": "high", "words": "It was done."}


@pytest.mark.parametrize(
    "told",
    [
        reading(
            {"message": 1, "quote": "I love it", "request": "x", "kind": "action", "course": [LIE]}
        ),
        reading(feelings=[{"message": 9, "quote": "great", "feeling": "pleased"}]),
        reading(rude=[quoted(WOULD_HAVE, 1, how="insults")]),
        reading(quoted(WOULD_HAVE, 2, request="x", kind="action", course=[])),
        reading("nonsense", feelings=[None, 7], rude=[{}]),
        {"requests": None, "feelings": {}, "rude": "none"},
        reading(),
    ],
    ids=[
        "false quotes",
        "no such message",
        "wrong side",
        "not asked",
        "shapeless",
        "none",
        "empty",
    ],
)
def test_a_reading_without_true_quotes_changes_nothing(read: Read, told: dict[str, Any]) -> None:
    results = read(WOULD_HAVE, told).results
    by_rules = RuleJudge().judge(WOULD_HAVE, CARD, Context()).results
    for part in ("resolution", "summary", "sentiment", "moments"):
        assert results[part] == by_rules[part], part


def test_false_steps_fall_away_and_true_ones_stay(read: Read) -> None:
    request = asked(
        WOULD_HAVE,
        1,
        "The customer wanted the money back.",
        ("refused", 2, "The agent refused."),
        ("refused", 4, "The agent refused again."),
    )
    request["course"].append({**LIE, "what": "done"})
    judgement = read(WOULD_HAVE, reading(request))
    assert judgement.resolution == "unresolved"
    assert judgement.results["quality"]["unverifiedEvidenceCount"] >= 1


def test_a_model_that_is_less_sure_is_noted_for_reviewers(read: Read) -> None:
    talk = chat(
        ("c", 0, "Please cancel my subscription."),
        ("a", 20, "I have cancelled your subscription, you will not be charged again."),
        ("c", 40, "Perfect, that is solved then. Thank you!"),
    )
    denied = asked(talk, 1, "The customer wanted to cancel.", ("failed", 2, "It failed."))
    denied["course"][0]["confidence"] = "medium"
    judgement = read(talk, reading(denied))
    assert judgement.resolution == "resolved"
    assert judgement.results["resolution"]["otherwise"]["status"] == "unresolved"
    assert judgement.results["resolution"]["otherwise"]["judgedBy"] == "model"


GERMAN = chat(
    ("c", 0, "Guten Tag, mein Paket ist seit zwei Wochen überfällig."),
    ("a", 20, "Das tut mir leid. Ich habe Ihnen soeben ein neues Paket geschickt."),
    ("c", 40, "Super, die Bestätigung ist schon da. Damit ist es erledigt, danke!"),
)
SPANISH = chat(
    ("c", 0, "Hola, quiero que me devuelvan el dinero del billete."),
    ("a", 20, "Lo siento, ese billete no se puede devolver."),
    ("c", 40, "Pues vaya servicio. Me voy a otra compañía."),
)
ITALIAN = chat(
    ("c", 0, "Buongiorno, il mio pacco è in ritardo da due settimane."),
    ("a", 20, "Mi dispiace. Le ho appena spedito un nuovo pacco."),
    ("c", 40, "Perfetto, la conferma è già qui. Tutto risolto, grazie!"),
)


@pytest.mark.parametrize(
    ("talk", "course", "feeling", "status"),
    [
        (ITALIAN, ("done", "confirmed"), "grateful", "resolved"),
        (GERMAN, ("done", "confirmed"), "grateful", "resolved"),
        (SPANISH, ("refused", "gave_up"), "angry", "unresolved"),
    ],
    ids=["Italian", "German", "Spanish"],
)
def test_another_language_is_judged_from_its_own_words(
    read: Read, talk: Transcript, course: tuple[str, str], feeling: str, status: str
) -> None:
    steps = [(what, number, f"It was {what}.") for number, what in enumerate(course, start=2)]
    request = asked(talk, 1, "The customer wanted something.", *steps)
    feelings = [quoted(talk, 3, feeling=feeling)]
    judgement = read(talk, reading(request, feelings=feelings))
    results = judgement.results
    assert judgement.resolution == status
    assert results["summary"]["issue"] == "The customer wanted something."
    assert (results["sentiment"]["customer"]["end"] > 0) is (feeling == "grateful")
    [piece, *_] = results["resolution"]["evidence"]
    assert any(piece["quote"] in segment.text for segment in talk.segments)
    # Quotes stay in the language of the conversation; a translated one counts for nothing.
    request["quote"] = "I want my money back."
    assert read(talk, reading(request)).resolution == "unknown"
