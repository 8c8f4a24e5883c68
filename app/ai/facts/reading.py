"""Input of the linear models: exchanges, friction, features and n-grams of a dialogue."""

from collections.abc import KeysView
from dataclasses import dataclass, replace

from app.ai.dialogue.cues import Cues
from app.ai.dialogue.exchanges import Exchanges, exchanges_of
from app.ai.dialogue.friction import Friction, friction_of
from app.ai.dialogue.turns import Dialogue, Side
from app.ai.facts.features import features_of
from app.ai.facts.ngrams import grams_of
from app.ai.facts.sentiment import customer_scores

_AT_END = 2
_COURTESIES = ("offer_help", "closing", "thanks")
_SUBSTANTIVE = ("failure", "no_result", "bad_news", "refusal", "apology", "done", "success")


@dataclass(frozen=True, slots=True)
class ModelInput:
    """`features` are those of `app.ai.facts.features`, `grams` those of `app.ai.facts.ngrams`."""

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
        features=features_of(dialogue, cues, exchanges, friction, feelings, end),
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
    polite = cues.positions(*_COURTESIES) - cues.positions(*_SUBSTANTIVE)
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
