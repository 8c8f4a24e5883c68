"""Input of the linear models: features of a dialogue, and the n-grams of what each side says."""

import math
import re
from collections.abc import Collection, KeysView, Sequence
from dataclasses import dataclass, replace

from app.ai.dialogue.cues import Cue, Cues
from app.ai.dialogue.friction import Friction, friction_of
from app.ai.dialogue.turns import Dialogue, Exchanges, Line, Side, exchanges_of
from app.ai.facts.sentiment import customer_scores

_NAME, _NUMBER = "@", "0"
_PUNCTUATION = "?!"
_TOKEN = re.compile(rf"\[[A-Z_]{{2,20}}\]|[A-Za-z]+(?:'[a-z]+)?|\d+|[{_PUNCTUATION}]")
_MASKS = {"[NAME]": _NAME, "[ADDRESS]": _NAME, "[EMAIL]": _NAME}
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n]\s{0,3})$")
_MOST_CHARS = 1_000
_SERVICE_KINDS = (
    "failure",
    "no_result",
    "lack",
    "refusal",
    "bad_news",
    "apology",
    "empathy",
    "done",
    "success",
    "alternative",
    "offer",
    "offer_help",
    "asks_confirmation",
    "fallback",
    "hold",
    "commitment",
    "next_step",
    "identity_check",
    "transfer",
    "greeting",
    "closing",
    "recap",
)
_CUSTOMER_KINDS = (
    "correction",
    "concession",
    "asks_again",
    "complaint",
    "problem",
    "praise",
    "thanks",
    "acceptance",
    "rejection",
    "gives_up",
    "nothing_more",
    "solved",
    "still_broken",
    "escalation_request",
    "closing",
    "profanity",
)
_LAST_SERVICE = (
    "failure",
    "no_result",
    "bad_news",
    "apology",
    "done",
    "success",
    "offer",
    "closing",
)
_LAST_CUSTOMER = ("thanks", "praise", "rejection", "acceptance", "gives_up", "complaint", "closing")
_DONE = ("done", "success")
_FAILED = ("failure", "no_result", "refusal")
_LAST_SCORES = 3
_AT_END = 2
_POLITE = ("offer_help", "closing", "thanks")
_SUBSTANTIVE = ("failure", "no_result", "bad_news", "refusal", "apology", "done", "success")


@dataclass(frozen=True, slots=True)
class ModelInput:
    """`features` are finite numbers, `grams` the n-grams of both sides.

    A gram is `a:` or `c:` (agent, customer) or, of the last lines of a side, `A:` or `C:`, and one or
    two to three words. Names and numbers are masked, so that it doesn't matter who speaks of what,
    nor whether a text was masked before.
    """

    exchanges: Exchanges
    friction: Friction
    features: dict[str, float]
    grams: KeysView[str]


def model_input_of(dialogue: Dialogue, cues: Cues) -> ModelInput:
    """Compute the model input of an attributed English dialogue."""
    feelings = customer_scores(dialogue)
    dialogue = _without_abuse(dialogue, cues)
    exchanges = exchanges_of(dialogue)
    friction = friction_of(dialogue, cues)
    end = _end(dialogue, cues)
    return ModelInput(
        exchanges=exchanges,
        friction=friction,
        features=_features(dialogue, cues, exchanges, friction, feelings, end),
        grams=grams_of(dialogue, end),
    )


def _without_abuse(dialogue: Dialogue, cues: Cues) -> Dialogue:
    # Lines of nothing but abuse do not count towards the end or the distance between lines.
    abusive = cues.positions("profanity", side=Side.SERVICE)
    abusive -= cues.positions(*_SUBSTANTIVE)
    if not abusive:
        return dialogue
    return replace(
        dialogue, lines=tuple(line for line in dialogue.lines if line.position not in abusive)
    )


def _end(dialogue: Dialogue, cues: Cues) -> set[int]:
    # The last lines of each side that are more than courtesy, and the courtesies among them.
    polite = cues.positions(*_POLITE) - cues.positions(*_SUBSTANTIVE)
    end: set[int] = set()
    for lines in (dialogue.service, dialogue.customer):
        lines_left = _AT_END
        for line in reversed(lines):
            end.add(line.position)
            if line.position not in polite:
                lines_left -= 1
            if not lines_left:
                break
    return end


def _features(
    dialogue: Dialogue,
    cues: Cues,
    exchanges: Exchanges,
    friction: Friction,
    scores: Sequence[float],
    end: Collection[int],
) -> dict[str, float]:
    """Return the features, always all of them and finite; counts are of lines and grow as a root.

    `scores` are the sentiments of the customer's lines in their order, each -1 to 1; `end` holds
    the positions of the last lines of each side.
    """
    service, customer = dialogue.service, dialogue.customer
    values = {
        "lines": math.log1p(len(dialogue.lines)),
        "agentWords": _mean_words(service),
        "customerWords": _mean_words(customer),
        "agentShare": len(service) / max(1, len(dialogue.lines)),
        "agentQuestions": _share_with(service, "?"),
        "customerQuestions": _share_with(customer, "?"),
        "customerShouts": _share_with(customer, "!"),
    }
    ends = [[line for line in lines if line.position in end] for lines in (service, customer)]
    for part, kinds, side, lines in (
        ("agent", _SERVICE_KINDS, Side.SERVICE, None),
        ("customer", _CUSTOMER_KINDS, Side.CUSTOMER, None),
        ("agentEnd", _LAST_SERVICE, Side.SERVICE, ends[0]),
        ("customerEnd", _LAST_CUSTOMER, Side.CUSTOMER, ends[1]),
    ):
        values |= {f"{part}.{kind}": _root(cues.of(kind, lines=lines, side=side)) for kind in kinds}
    values["agent.apology"] = _root(friction.excuses)
    values["agentEnd.apology"] = _root(
        [cue for cue in friction.excuses if cue.line.position in end]
    )
    values |= _order(cues, ends[0])
    values["leftAsking"] = float(_left_asking(dialogue, cues))
    values["ending"] = _ending(values)
    values |= {
        "repeatedRequests": math.sqrt(len(exchanges.repeated_requests)),
        "repeatedAnswers": math.sqrt(len(exchanges.repeated_answers)),
        "openQuestions": math.sqrt(len(exchanges.open_questions)),
        "answerOverlap": exchanges.overlap or 0.0,
        "customerSpeaksLast": float(
            bool(dialogue.lines) and dialogue.lines[-1].side is Side.CUSTOMER
        ),
        "endsOpen": float(friction.ends_open),
        "friction": math.log1p(friction.amount),
        "concessions": math.sqrt(len(friction.concessions)),
    }
    return values | _feeling(scores)


def _order(cues: Cues, end: Sequence[Line]) -> dict[str, float]:
    done = cues.positions(*_DONE, side=Side.SERVICE)
    failed = sorted(cues.positions(*_FAILED, side=Side.SERVICE))
    last_done, last_failed = max(done, default=-1), max(failed, default=-1)
    longest = run = 0
    for before, position in zip([-9, *failed], failed, strict=False):
        run = run + 1 if position - before <= 2 else 1
        longest = max(longest, run)
    at_end = {line.position for line in end if line.position > last_done}
    return {
        "doneAfterFailure": float(last_done > last_failed >= 0),
        "failureAfterDone": float(last_failed >= 0 and last_failed >= last_done),
        "failuresInRow": math.sqrt(longest),
        "unmetAtEnd": math.sqrt(len(at_end.intersection(failed))),
    }


def _left_asking(dialogue: Dialogue, cues: Cues) -> bool:
    # The customer leaves a question unanswered that is neither courtesy nor a way out.
    last = dialogue.lines[-1:]
    if not last or last[0].side is not Side.SERVICE or "?" not in last[0].text:
        return False
    return not cues.of("offer_help", "closing", *_DONE, *_FAILED, lines=last)


def _ending(values: dict[str, float]) -> float:
    # The rule that needs no training: what worked in the last agent lines less what failed there
    # with nothing done after it, and less what the customer says or leaves of it in the end.
    return (
        values["agentEnd.success"]
        - 3 * values["unmetAtEnd"]
        - 0.3 * values["agent.apology"]
        + values["doneAfterFailure"] / 2
        + float(values["agent.success"] > 0) / 2
        - 2 * values["customerEnd.gives_up"]
        - values["customerEnd.complaint"]
        - 2 * values["leftAsking"]
    )


def _feeling(scores: Sequence[float]) -> dict[str, float]:
    if not scores:
        return dict.fromkeys(
            ("sentimentMean", "sentimentLast", "sentimentShift", "sentimentLowest"), 0.0
        )
    last = sum(scores[-_LAST_SCORES:]) / len(scores[-_LAST_SCORES:])
    first = sum(scores[:_LAST_SCORES]) / len(scores[:_LAST_SCORES])
    return {
        "sentimentMean": sum(scores) / len(scores),
        "sentimentLast": last,
        "sentimentShift": last - first,
        "sentimentLowest": min(scores),
    }


def _root(cues: Sequence[Cue]) -> float:
    return math.sqrt(len({cue.line.position for cue in cues}))


def _mean_words(lines: tuple[Line, ...]) -> float:
    return math.log1p(sum(len(line.text.split()) for line in lines) / max(1, len(lines)))


def _share_with(lines: tuple[Line, ...], sign: str) -> float:
    return sum(sign in line.text for line in lines) / max(1, len(lines))


def grams_of(dialogue: Dialogue, end: Collection[int]) -> KeysView[str]:
    """Return the distinct grams of both sides; `end` holds the positions of their last lines."""
    # Kept in their order: reading strings in the order of a hash is twice as slow.
    grams: list[str] = []
    for letter, lines in (("a", dialogue.service), ("c", dialogue.customer)):
        for line in lines:
            words = tokens_of(line.text)
            grams += _grams(letter, words)
            if line.position in end:
                grams += _grams(letter.upper(), words)
    return dict.fromkeys(grams).keys()


def tokens_of(text: str) -> list[str]:
    """Split a text into lower-case words, with names and numbers masked.

    A word with a capital within a sentence is taken for a name, `I` and shouting apart.
    """
    plain = text[:_MOST_CHARS].replace("\u2019", "'")
    tokens = []
    end = 0
    for word in _TOKEN.findall(plain):
        if word.islower() or word in _PUNCTUATION:
            tokens.append(word)
        elif word[0].isdigit():
            tokens.append(_NUMBER)
        else:
            # No other token has capitals, so that the first place after the last one is the word's.
            start = plain.index(word, end)
            end = start + len(word)
            tokens.append(_masked(plain, start, word))
    return tokens


def _masked(text: str, start: int, word: str) -> str:
    if word[0] == "[":
        return _MASKS.get(word, _NUMBER)
    shouted = len(word) > 1 and word.isupper()
    if not start or not word[0].isupper() or shouted or word.split("'")[0] == "I":
        return word.lower()
    return word.lower() if _SENTENCE_START.search(text, max(0, start - 4), start) else _NAME


def _grams(prefix: str, words: list[str]) -> list[str]:
    framed = ["^", *words, "$"]
    ones = [f"{prefix}:{word}" for word in framed]
    twos = [f"{one} {word}" for one, word in zip(ones, framed[1:], strict=False)]
    threes = [f"{two} {word}" for two, word in zip(twos, framed[2:], strict=False)]
    return ones[:-1] + twos + threes
