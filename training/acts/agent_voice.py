"""Fits what tells the agent's voice from the customer's: signs of labelled conversations."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from app.judge.acts.agent_voice import signs_of
from app.transcript import Participant, Role, Segment, Transcript
from training.acts.labelled import Talk

_STRENGTH = 0.1
_LEAST_SCALE = 0.02
# STAR is large and uniform: its conversations count less than own ones.
_WEIGHT_OF_OTHERS = 0.3
_PEOPLE = (Participant("agent", Role.AGENT), Participant("customer", Role.CUSTOMER))


def agent_voice_document(talks: Sequence[Talk]) -> dict[str, Any]:
    """Fit a logit for the difference of the two sides; `app.judge.acts.agent_voice` reads it."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - it takes a second

    signs = [signs_of(two_voices(talk)) for talk in talks]
    names = sorted({name for found in signs for name in found})
    rows = np.array([[found.get(name, 0.0) for name in names] for found in signs])
    scales = rows.std(axis=0) + _LEAST_SCALE
    # Every difference has the same sign by itself: half of them are turned around.
    turned = np.where(np.arange(len(rows)) % 2, 1, -1)
    counts = [1.0 if talk.source == "own" else _WEIGHT_OF_OTHERS for talk in talks]
    model = LogisticRegression(C=_STRENGTH, fit_intercept=False, max_iter=3_000)
    model.fit(rows / scales * turned[:, None], turned, sample_weight=counts)
    weights = model.coef_[0] / scales
    return {
        "weights": {
            name: round(float(weight), 3)
            for name, weight in zip(names, weights, strict=True)
            if abs(weight) >= 0.001
        }
    }


def two_voices(talk: Talk) -> Transcript:
    """Make a call of two voices of a labelled conversation."""
    segments = tuple(
        Segment(f"seg_{index + 1:04d}", index, role.value, role, line.text)
        for index, line in enumerate(talk.lines)
        for role in (Role.CUSTOMER if line.by_customer else Role.AGENT,)
    )
    return Transcript(segments, _PEOPLE, language="en", speaker_attribution="diarized")
