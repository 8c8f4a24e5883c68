"""A dialogue as the linear models and the outcome read it: exchanges, friction, features, grams."""

from dataclasses import dataclass

from app.ai.cues import Cues
from app.ai.dialogue import Dialogue
from app.ai.exchanges import Exchanges, exchanges_of
from app.ai.features import features_of
from app.ai.friction import Friction, friction_of
from app.ai.ngrams import grams_of
from app.ai.sentiment import customer_scores


@dataclass(frozen=True, slots=True)
class Reading:
    """`features` are those of `app.ai.features`, `grams` those of `app.ai.ngrams`."""

    exchanges: Exchanges
    friction: Friction
    features: dict[str, float]
    grams: set[str]


def reading_of(dialogue: Dialogue, cues: Cues, scores: list[float] | None = None) -> Reading:
    """Read an attributed English dialogue; `scores` are its customer's sentiments, if known."""
    exchanges = exchanges_of(dialogue)
    friction = friction_of(dialogue, cues)
    feelings = customer_scores(dialogue) if scores is None else scores
    return Reading(
        exchanges=exchanges,
        friction=friction,
        features=features_of(dialogue, cues, exchanges, friction, feelings),
        grams=grams_of(dialogue),
    )
