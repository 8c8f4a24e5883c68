"""Reading of a conversation by a language model: requests with their course, feelings and rude lines.

Each statement counts only with a quote that is found in its message, of the side that it is about.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.judge.acts.catalogue import Act
from app.judge.dialogue.evidence import Evidence
from app.judge.dialogue.turns import Side
from app.judge.language_model.answers import clean
from app.judge.language_model.questions import (
    CONFIDENCE,
    TEXT,
    Question,
    answers_schema,
    is_quote,
    json_object,
    one_of,
)
from app.judge.ledger.entries import RequestKind, State

# A reading of which less is verified says nothing.
_LEAST_VERIFIED = 0.5
_MOST_REQUESTS, _MOST_STEPS, _MOST_LINES = 8, 30, 60
LISTS = ("requests", "feelings", "rude")
QUOTE = {"message": {"type": "integer"}, "quote": TEXT}


class Meaning(NamedTuple):
    """Meaning of a word of the reading: its state, its act, and the cue that a phrase would give."""

    side: Side
    act: Act
    cue: str = ""
    state: State | None = None


_SERVICE, _CUSTOMER = Side.SERVICE, Side.CUSTOMER
_SIDE_OF = {"customer": _CUSTOMER, **dict.fromkeys(("agent", "bot", "supervisor"), _SERVICE)}
STEPS: Mapping[str, Meaning] = {
    "asked_back": Meaning(_SERVICE, Act.ASK, "", State.ASKED_BACK),
    "answered": Meaning(_SERVICE, Act.INFORM, "", State.ANSWERED),
    "instructed": Meaning(_SERVICE, Act.INSTRUCT, "", State.INSTRUCTED),
    "proposed": Meaning(_SERVICE, Act.PROPOSE, "", State.PROPOSED),
    "promised": Meaning(_SERVICE, Act.PROMISE, "commitment", State.PROMISED),
    "done": Meaning(_SERVICE, Act.DONE, "done", State.DONE),
    "refused": Meaning(_SERVICE, Act.REFUSE, "refusal", State.REFUSED),
    "failed": Meaning(_SERVICE, Act.CANNOT, "failure", State.FAILED),
    "put_off": Meaning(_SERVICE, Act.STALL, "", State.PUT_OFF),
    "sent_elsewhere": Meaning(_SERVICE, Act.ELSEWHERE, "", State.SENT_ELSEWHERE),
    "handed_over": Meaning(_SERVICE, Act.TRANSFER, "transfer", State.TRANSFERRED),
    "taken_back": Meaning(_SERVICE, Act.RETRACT, "", State.TAKEN_BACK),
    "accepted": Meaning(_CUSTOMER, Act.YES, "acceptance", State.TAKEN),
    "repeated": Meaning(_CUSTOMER, Act.REPEAT, "restates", State.OPEN),
    "confirmed": Meaning(_CUSTOMER, Act.SOLVED, "solved", State.CONFIRMED),
    "partly_confirmed": Meaning(_CUSTOMER, Act.PARTLY, "", State.PARTLY),
    "denied": Meaning(_CUSTOMER, Act.UNSOLVED, "still_broken", State.DENIED),
    "gave_up": Meaning(_CUSTOMER, Act.GIVE_UP, "gives_up", State.GIVEN_UP),
}
REQUESTS: Mapping[RequestKind, Meaning] = {
    RequestKind.ACTION: Meaning(_CUSTOMER, Act.REQUEST),
    RequestKind.QUESTION: Meaning(_CUSTOMER, Act.REQUEST),
    RequestKind.PERSON: Meaning(_CUSTOMER, Act.ASK_PERSON, "escalation_request"),
    RequestKind.OPT_OUT: Meaning(_CUSTOMER, Act.OPT_OUT, "opt_out"),
}
FEELINGS: Mapping[str, Meaning] = {
    "angry": Meaning(_CUSTOMER, Act.ANGRY, "complaint"),
    "disappointed": Meaning(_CUSTOMER, Act.DISAPPOINTED),
    "confused": Meaning(_CUSTOMER, Act.CONFUSED),
    "sarcastic": Meaning(_CUSTOMER, Act.SARCASTIC),
    "complaining": Meaning(_CUSTOMER, Act.COMPLAIN, "complaint"),
    "grateful": Meaning(_CUSTOMER, Act.THANK, "thanks"),
    "pleased": Meaning(_CUSTOMER, Act.PRAISE, "praise"),
}
RUDE: Mapping[str, Meaning] = {
    "insults": Meaning(_SERVICE, Act.INSULT),
    "mocks": Meaning(_SERVICE, Act.MOCK),
    "blames": Meaning(_SERVICE, Act.BLAME),
    "threatens": Meaning(_SERVICE, Act.THREATEN),
    "presses": Meaning(_SERVICE, Act.PRESS),
}


@dataclass(frozen=True, slots=True)
class ShownClaim:
    """A verified statement about a line; `words` say it in a sentence."""

    meaning: Meaning
    evidence: Evidence
    words: str = ""
    confidence: float = CONFIDENCE["high"]


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request of the customer and its course."""

    kind: RequestKind
    claim: ShownClaim
    course: tuple[ShownClaim, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """Statements of a model about a conversation; `dropped` counts the statements without a valid quote."""

    requests: tuple[ReadRequest, ...]
    feelings: tuple[ShownClaim, ...]
    rude: tuple[ShownClaim, ...]
    dropped: int

    @property
    def claims(self) -> tuple[ShownClaim, ...]:
        courses = (claim for request in self.requests for claim in (request.claim, *request.course))
        return (*courses, *self.feelings, *self.rude)

    @property
    def trusted(self) -> bool:
        """Tell whether enough of it is verified for the rest to be left out in good faith."""
        count = len(self.claims)
        return count > 0 and count >= _LEAST_VERIFIED * (count + self.dropped)


def answer_schema(questions: Sequence[Question]) -> dict[str, Any]:
    """Write the JSON Schema of the whole answer, within the limits of strict structured outputs."""
    step = json_object(
        what=one_of(tuple(STEPS)), **QUOTE, words=TEXT, confidence=one_of(tuple(CONFIDENCE))
    )
    request = json_object(
        request=TEXT, kind=one_of(tuple(REQUESTS)), **QUOTE, course={"type": "array", "items": step}
    )
    feeling = json_object(**QUOTE, feeling=one_of(tuple(FEELINGS)))
    rude = json_object(**QUOTE, how=one_of(tuple(RUDE)))
    items = zip(LISTS, (request, feeling, rude), strict=True)
    listed = {name: {"type": "array", "items": item} for name, item in items}
    return json_object(**listed, answers=answers_schema(questions))


def reading_of(
    document: Mapping[str, Any],
    evidence_of: Callable[[Mapping[str, Any]], Evidence | None],
) -> Reading | None:
    """Verify what a model has read; None where the document holds no reading.

    Args:
        evidence_of: finds a quote in its message.
    """
    if not all(isinstance(document.get(name), list) for name in LISTS):
        return None
    reader = _Reader(evidence_of)
    requests = [reader.request(item) for item in document["requests"][:_MOST_REQUESTS]]
    feelings = reader.claims(document["feelings"][:_MOST_LINES], "feeling", FEELINGS)
    rude = reader.claims(document["rude"][:_MOST_LINES], "how", RUDE)
    return Reading(tuple(filter(None, requests)), feelings, rude, reader.dropped)


class _Reader:
    """Verifies statements and counts those that it drops."""

    def __init__(self, evidence_of: Callable[[Mapping[str, Any]], Evidence | None]) -> None:
        self._evidence_of = evidence_of
        self.dropped = 0

    def request(self, item: Any) -> ReadRequest | None:
        """Verify a request; without its quote nothing of it counts."""
        claims = self.claims([item], "kind", REQUESTS, words="request")
        course = item.get("course") if isinstance(item, Mapping) else None
        steps = course[:_MOST_STEPS] if isinstance(course, list) else []
        if not claims:
            self.dropped += len(steps)
            return None
        sure = self.claims(steps, "what", STEPS)
        kept = tuple(claim for claim in sure if claim.confidence > CONFIDENCE["low"])
        return ReadRequest(RequestKind(item["kind"]), claims[0], kept)

    def claims(
        self, items: Sequence[Any], name: str, known: Mapping[Any, Meaning], words: str = "words"
    ) -> tuple[ShownClaim, ...]:
        """Verify statements whose word has this name."""
        claims = [self._claim(item, name, known, words) for item in items]
        verified = tuple(claim for claim in claims if claim is not None)
        self.dropped += len(claims) - len(verified)
        return verified

    def _claim(
        self, item: Any, name: str, known: Mapping[Any, Meaning], words: str
    ) -> ShownClaim | None:
        if not is_quote(item) or not isinstance(item.get(name), str):
            return None
        meaning, evidence = known.get(item[name]), self._evidence_of(item)
        if meaning is None or evidence is None or _SIDE_OF.get(evidence.role) is not meaning.side:
            return None
        text = item.get(words)
        sure = CONFIDENCE.get(str(item.get("confidence", "high")), CONFIDENCE["low"])
        return ShownClaim(meaning, evidence, clean(text) if isinstance(text, str) else "", sure)
