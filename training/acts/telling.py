"""Fits which clauses tell what came of a conversation, and what is open, to what readers quoted."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from app.judge.acts.reading import Readers
from app.judge.insights.outcome import outcome_of
from app.judge.insights.summary import issue_of
from app.judge.insights.telling import LIMIT, OPEN, OUTCOME, Quotable, clause_values
from app.judge.ledger.opinion import OpinionModel
from training.acts.labelled import quotes_in, talks_in
from training.acts.opinion import looks_at

_PENALTY = 33.0
# A clause is quoted where so much of it, or of the quote, is the same.
_SAME = 0.5
_LEAST_SCALE = 0.05


def telling_document(quoted: Path, opinion: OpinionModel, readers: Readers) -> dict[str, Any]:
    """Fit the heads to the conversations of a file; `app.judge.insights.telling` reads the document.

    Args:
        opinion: tells how each conversation ended, as it does when the judge works.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - it takes a second

    rows: list[dict[str, float]] = []
    given: dict[str, list[bool]] = {OUTCOME: [], OPEN: []}
    quotes = quotes_in(quoted)
    for look in looks_at(talks_in(quoted), readers):
        facts = replace(look.facts, opinion=opinion.opinion(look.values))
        for clause, of_clause in clause_values(facts, outcome_of(facts).status, issue_of(facts)):
            rows.append(of_clause)
            for purpose, told in given.items():
                told.append(_is_quoted(clause, quotes[look.talk.id][purpose]))
    names = sorted(rows[0])
    values = np.array([[row[name] for name in names] for row in rows])
    means, scales = values.mean(axis=0), np.maximum(values.std(axis=0), _LEAST_SCALE)
    distances = np.clip((values - means) / scales, -LIMIT, LIMIT)
    heads = {}
    for purpose, told in given.items():
        model = LogisticRegression(C=1 / _PENALTY, max_iter=3_000)
        model.fit(distances, told)
        heads[purpose] = {
            "bias": round(float(model.intercept_[0]), 3),
            "weights": [round(float(weight), 3) for weight in model.coef_[0]],
        }
    return {
        "values": [
            [name, round(float(mean), 4), round(float(scale), 4)]
            for name, mean, scale in zip(names, means, scales, strict=True)
        ],
        "heads": heads,
    }


def _is_quoted(clause: Quotable, quotes: Iterable[tuple[int, str]]) -> bool:
    for position, quote in quotes:
        if position == clause.position:
            start = clause.line.line.text.index(quote)
            end = start + len(quote)
            shared = min(end, clause.end) - max(start, clause.start)
            if shared > _SAME * min(len(quote), clause.end - clause.start):
                return True
    return False
