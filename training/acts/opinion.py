"""Fits the opinion of a reader: what a reader answered and rated, from the acts and the answers of the rules."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.judge.acts.reading import Readers
from app.judge.context import Context
from app.judge.facts.conversation_facts import Facts, facts_of
from app.judge.insights.outcome import stated_resolution
from app.judge.ledger.opinion import LIMIT, NO, YES, opinion_values
from app.judge.ledger.spoken import spoken_lines
from app.judge.rules.catalogue import RULES
from app.judge.rules.closing import ending_parts
from app.judge.rules.opening import opening_parts
from app.judge.rules.second_look import ENDING, OPENING, QUESTIONS, own_answer
from app.judge.scorecard.values import Scorecard, scorecard_from
from app.scorecards.default_scorecards import document_of
from training.acts.labelled import STATUSES, Talk
from training.examples import transcript_of

_PENALTY, _PENALTY_OF_RATINGS = 100.0, 1_000.0
# Conversations whose lines the readers of acts were not fitted to are as hard as new ones, and weigh more.
_WEIGHT = {"read": 3.0}
_RATINGS = ("satisfaction", "effectiveness", "manner")
# How much the judge's own answer counts beside a value one scale away from its mean.
_OWN = 3.0
_LEAST_SCALE = 0.02
_CARDS = {"voice": "voice", "bot": "voice_bot"}
ANSWERS = {
    **dict.fromkeys(
        ("probing", "understanding", "completeness", "empathy"), ("0", "1", "2", "none")
    ),
    **dict.fromkeys(("courtesy", "clarity"), ("0", "1", "2")),
    "confirmed": (YES, NO, "none"),
    **dict.fromkeys((*OPENING.values(), *ENDING.values()), (YES, NO)),
    "status": STATUSES,
}

Numbers = NDArray[np.float64]


class Look(NamedTuple):
    """A conversation as the judge sees it: its facts and values, and its own answer to each question."""

    talk: Talk
    facts: Facts
    values: Mapping[str, float]
    own: Mapping[str, str]


def opinion_document(
    talks: Sequence[Talk], answers: Mapping[str, Mapping[str, str]], readers: Readers
) -> dict[str, Any]:
    """Fit the models to the conversations with answers; `app.judge.ledger.opinion` reads the document."""
    looks = list(looks_at([talk for talk in talks if talk.id in answers], readers))
    shares = np.array([_WEIGHT.get(look.talk.source, 1.0) for look in looks])
    names = sorted(looks[0].values)
    rows = np.array([[look.values[name] for name in names] for look in looks])
    means = np.average(rows, axis=0, weights=shares)
    spread = np.sqrt(np.average((rows - means) ** 2, axis=0, weights=shares))
    scales = np.maximum(spread, _LEAST_SCALE)
    distances = np.clip((rows - means) / scales, -LIMIT, LIMIT)
    given = [
        {**answers.get(look.talk.id, {}), "status": look.talk.outcome["status"]} for look in looks
    ]
    return {
        "values": [
            [name, round(float(mean), 4), round(float(scale), 4)]
            for name, mean, scale in zip(names, means, scales, strict=True)
        ],
        "questions": {
            question: _question(question, distances, shares, looks, given) for question in ANSWERS
        },
        "ratings": {name: _rating(name, distances, shares, looks) for name in _RATINGS},
    }


def looks_at(talks: Sequence[Talk], readers: Readers) -> Iterator[Look]:
    """Yield what the judge sees in each conversation that takes its course."""
    cards = {name: scorecard_from(document_of(name)) for name in ("chat", "voice", "voice_bot")}
    for talk in talks:
        card = cards[_CARDS.get(talk.channel, "chat")]
        facts = facts_of(_transcript(talk), card, Context(), readers=readers)
        if not facts.course_values:
            continue
        facts = replace(facts, opinion=None)
        lines, manners = spoken_lines(facts.acts), facts.readings.manners
        values = opinion_values(lines, facts.ledger, facts.course_values, manners)
        yield Look(talk, facts, values, dict(_own_answers(facts, card)))


def _rating(
    name: str, distances: Numbers, shares: Numbers, looks: Sequence[Look]
) -> dict[str, Any]:
    from sklearn.linear_model import Ridge  # noqa: PLC0415 - it takes a second

    given = np.array([float(look.talk.outcome[name]) for look in looks])
    model = Ridge(_PENALTY_OF_RATINGS)
    model.fit(distances, given, shares)
    # A penalty draws ratings towards the middle; readers use the whole scale.
    read = model.predict(distances)
    stretch = _spread(given, shares) / _spread(read, shares)
    middle = float(np.average(given, weights=shares) - stretch * np.average(read, weights=shares))
    return {
        "bias": round(stretch * float(model.intercept_) + middle, 4),
        "weights": [round(float(stretch * weight), 4) for weight in model.coef_],
    }


def _spread(values: Numbers, shares: Numbers) -> float:
    mean = np.average(values, weights=shares)
    return float(np.sqrt(np.average((values - mean) ** 2, weights=shares)))


def _question(
    question: str,
    distances: Numbers,
    shares: Numbers,
    looks: Sequence[Look],
    given: Sequence[Mapping[str, str]],
) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - it takes a second

    asked = [
        place
        for place, look in enumerate(looks)
        if question in look.own and question in given[place]
    ]
    own = np.array(
        [[looks[place].own[question] == answer for answer in ANSWERS[question]] for place in asked]
    )
    model = LogisticRegression(C=1 / _PENALTY, max_iter=3_000)
    model.fit(
        np.hstack([distances[asked], _OWN * own]),
        [given[place][question] for place in asked],
        shares[asked],
    )
    weights, biases = model.coef_, model.intercept_
    if len(model.classes_) == 2:
        # One row tells the second answer from the first.
        weights, biases = np.vstack([-weights, weights]) / 2, np.array([-biases[0], biases[0]]) / 2
    width = distances.shape[1]
    return {
        str(answer): {
            "bias": round(float(bias), 3),
            "weights": [round(float(weight), 3) for weight in row[:width]],
            "own": {
                name: round(_OWN * float(weight), 3)
                for name, weight in zip(ANSWERS[question], row[width:], strict=True)
            },
        }
        for answer, bias, row in zip(model.classes_, biases, weights, strict=True)
    }


def _own_answers(facts: Facts, card: Scorecard) -> Iterator[tuple[str, str]]:
    yield "status", stated_resolution(facts).status
    for criterion in card.criteria:
        rule = criterion.rule or ""
        if rule in QUESTIONS:
            yield QUESTIONS[rule], own_answer(RULES[rule].judge(facts, criterion))
        found = {}
        if rule == "greeting":
            opening = facts.opening(criterion.parameters["agentTurns"])
            found = {OPENING[part]: cues for part, cues in opening_parts(facts, opening).items()}
        elif rule == "recap":
            ending = facts.ending(criterion.parameters["lastTurns"])
            found = {ENDING[part]: cues for part, cues in ending_parts(facts, ending).items()}
        for question, cues in found.items():
            yield question, YES if cues else NO


def _transcript(talk: Talk) -> Any:
    service = "bot" if talk.channel == "bot" else "agent"
    return transcript_of(
        [
            {"role": "customer" if line.by_customer else service, "text": line.text}
            for line in talk.lines
        ]
    )
