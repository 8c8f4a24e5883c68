"""Sentences that tell what came of a conversation, and those that tell what is open at its end.

A linear model, fitted to what readers quoted, tells for each line of the service side how likely it is
quoted; the acts that speak for it tell which sentence of the line.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import mul
from typing import Any, NamedTuple

from app.judge.acts.catalogue import CUSTOMER_ACTS, SERVICE_ACTS, Act
from app.judge.acts.reading import LineActs
from app.judge.dialogue.evidence import (
    Evidence,
    evidence_at,
    quotable_span,
    sentence_spans,
    whole_sentences,
)
from app.judge.dialogue.turns import Side, content_of
from app.judge.facts.conversation_facts import Facts
from app.judge.ledger.status import ESCALATED, PARTLY, RESOLVED, UNRESOLVED
from app.judge.weights import model_document

OUTCOME, OPEN = "outcome", "open"
LIMIT = 3.0
_STATUSES = (RESOLVED, PARTLY, UNRESOLVED, ESCALATED)
# What a line can say of the matter; together with the status it tells more.
_BEARING = (
    *(Act.INFORM, Act.INSTRUCT, Act.PROPOSE, Act.DONE, Act.DOING, Act.PROMISE, Act.PROMISE_BY),
    *(Act.HYPOTHETICAL, Act.UNDONE, Act.RETRACT, Act.REFUSE, Act.REFUSE_REASON, Act.CANNOT),
    *(Act.STALL, Act.ELSEWHERE, Act.TRANSFER, Act.RECAP, Act.NEXT),
)
# The customer's lines count that are at most so many lines away.
_NEAR = 3
_MANY_WORDS, _FEW_WORDS, _MANY_SHARED, _MANY_NUMBERS = 60, 8, 4, 4
_NUMBER = re.compile(r"\d+")
# How likely a reader quotes a sentence at least, how many are quoted at most, and the words of one at least.
_QUOTED = {OUTCOME: 0.4, OPEN: 0.3}
_MOST_QUOTED, _LEAST_WORDS = 2, 3
# Where no line is as likely: the first that surely does one of these acts, how likely it does and is quoted.
_DEEDS = (Act.DONE, Act.TRANSFER, Act.REFUSE, Act.REFUSE_REASON, Act.CANNOT, Act.ELSEWHERE)
_SURELY, _HARDLY = 0.65, 0.08
# So many words at most make an exclamation.
_EXCLAMATION = 3
# A question tells less than what is stated next to it.
_OFF_QUESTION = 0.5


class Quotable(NamedTuple):
    """A sentence of a line of the service side, and how likely a reader quotes the line."""

    likely: float
    line: LineActs
    start: int
    end: int

    @property
    def position(self) -> int:
        return self.line.line.position

    @property
    def quote(self) -> str:
        return self.line.line.text[self.start : self.end]

    @property
    def evidence(self) -> Evidence:
        return evidence_at(self.line.line.segment, self.start, self.end)


@dataclass(frozen=True, slots=True)
class TellingModel:
    """`scales` holds the mean and the scale of each value, `heads` a bias and the weights by purpose."""

    scales: Mapping[str, tuple[float, float]]
    heads: Mapping[str, tuple[float, tuple[float, ...]]]

    def quotable(
        self, facts: Facts, status: str, issue: str | None, purpose: str
    ) -> list[Quotable]:
        """Return a sentence of each line of the service side, the likeliest first."""
        bias, weights = self.heads[purpose]
        acts = self._weights_of_acts(weights, status)
        found = []
        for line, values in zip(facts.acts.service, line_values(facts, status, issue), strict=True):
            distances = (
                min(LIMIT, max(-LIMIT, (values[name] - mean) / scale))
                for name, (mean, scale) in self.scales.items()
            )
            likely = 1 / (1 + math.exp(-bias - math.fsum(map(mul, weights, distances))))
            found.append(Quotable(likely, line, *_span_of(line, acts, whole=purpose == OUTCOME)))
        return sorted(found, key=lambda item: (-item.likely, item.position))

    def _weights_of_acts(self, weights: Sequence[float], status: str) -> dict[Act, float]:
        """Return how much each act in a sentence speaks for it."""
        by_name = {
            name: weight / scale
            for (name, (_, scale)), weight in zip(self.scales.items(), weights, strict=True)
        }
        return {
            act: by_name[f"act.{act}"] + by_name.get(f"{status}.{act}", 0.0) for act in SERVICE_ACTS
        }


def line_values(facts: Facts, status: str, issue: str | None) -> list[dict[str, float]]:
    """Return what the model goes by for each line of the service side: the same names, all finite.

    Args:
        status: how the conversation ended, as far as that is known.
        issue: what it is about.
    """
    lines = facts.acts.lines
    wanted = content_of(issue or "").union(*(entry.content for entry in facts.ledger.matters))
    asks = [i for i, line in enumerate(lines) if line.shows(Act.REQUEST, Act.REPEAT)]
    return [
        {
            **{f"act.{act}": line.of(act) for act in SERVICE_ACTS},
            **_of_customer("next", lines[place + 1 : place + 1 + _NEAR]),
            **_of_customer("before", lines[max(0, place - _NEAR) : place][::-1]),
            **{
                f"{of_status}.{act}": line.of(act) * (status == of_status)
                for of_status in _STATUSES
                for act in _BEARING
            },
            **_places(lines, place, asks),
            "shared": min(_MANY_SHARED, len(wanted & content_of(line.line.text))),
        }
        for place, line in enumerate(lines)
        if line.line.side is Side.SERVICE
    ]


def _of_customer(name: str, near: Sequence[LineActs]) -> dict[str, float]:
    line = next((line for line in near if line.line.side is Side.CUSTOMER), None)
    acts = {f"{name}.{act}": line.of(act) if line else 0.0 for act in CUSTOMER_ACTS}
    return {**acts, f"{name}.none": float(line is None)}


def _places(lines: Sequence[LineActs], place: int, asks: Sequence[int]) -> dict[str, float]:
    text = lines[place].line.text
    words = len(text.split())
    later = sum(line.line.side is Side.SERVICE for line in lines[place + 1 :])
    return {
        "place": place / max(1, len(lines) - 1),
        "first": float(place == 0),
        "last": 1 / (1 + later),
        "words": min(_MANY_WORDS, words),
        "short": min(_FEW_WORDS, words),
        "question": float(text.rstrip().endswith("?")),
        "numbers": min(_MANY_NUMBERS, len(_NUMBER.findall(text))),
        "asked_before": float(any(asked < place for asked in asks)),
        "asked_later": float(any(asked > place for asked in asks)),
    }


def _span_of(line: LineActs, weights: Mapping[Act, float], *, whole: bool) -> tuple[int, int]:
    """Return where the sentence is whose acts speak most for the line.

    Args:
        whole: with the sentences around it, up to questions, and without exclamations at the ends.
    """
    text = line.line.text

    def rank(span: tuple[int, int]) -> float:
        acts = ((act, mark) for act, mark in line.marks.items() if span[0] <= mark.start < span[1])
        told = math.fsum(weights.get(act, 0.0) * mark.probability for act, mark in acts)
        return told - _OFF_QUESTION * text[slice(*span)].endswith("?")

    spans = sentence_spans(text)
    if not spans:
        return quotable_span(text, 0, len(text))
    best = max(spans, key=rank)
    if not whole:
        return quotable_span(text, *best)
    stretches = groupby(spans, key=lambda span: text[slice(*span)].endswith("?"))
    around = next(run for run in (list(group) for _, group in stretches) if best in run)
    telling = [span == best or len(text[slice(*span)].split()) > _EXCLAMATION for span in around]
    first, last = telling.index(True), len(telling) - telling[::-1].index(True)
    return whole_sentences(text, around[first:last], best[0])


def quoted(
    facts: Facts,
    status: str,
    purpose: str,
    issue: str | None = None,
    model: TellingModel | None = None,
) -> list[Quotable]:
    """Return what a reader would quote of how it ended, or of what is open, the most telling first."""
    found: dict[str, Quotable] = {}
    model = model or shipped_telling_model()
    for item in model.quotable(facts, status, issue, purpose):
        if len(found) == _MOST_QUOTED or item.likely < _HARDLY:
            break
        deed = purpose == OUTCOME and not found and max(map(item.line.of, _DEEDS)) >= _SURELY
        if item.likely < _QUOTED[purpose] and not deed:
            continue
        quote = item.quote
        if quote != issue and not quote.endswith("?") and len(quote.split()) >= _LEAST_WORDS:
            found.setdefault(quote, item)
    return list(found.values())


@cache
def shipped_telling_model() -> TellingModel:
    """Return the model of the package."""
    return telling_model_from(model_document("telling"))


def telling_model_from(document: Mapping[str, Any]) -> TellingModel:
    """Read the model from its JSON document."""
    return TellingModel(
        scales={name: (mean, scale) for name, mean, scale in document["values"]},
        heads={
            purpose: (head["bias"], tuple(head["weights"]))
            for purpose, head in document["heads"].items()
        },
    )
