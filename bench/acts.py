"""Measures labels, models and the ledger of acts: python -m bench.acts.

First how far two readers agree on the acts of the same lines; then how often what the ledger states is
what the reader of the conversation found, by acts as labelled; then how well the shipped models read
the acts of three trades and one source that nothing was fitted to, and the ledger by these acts; last how
many answers of the rules to each question a reader gave, too, and how many of those that stand after the
second look.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import SHOWN, Mark, read_lines, shipped_readers
from app.judge.ledger.entries import ledger_of
from app.judge.ledger.opinion import shipped_opinion_model
from app.judge.ledger.spoken import Spoken
from app.judge.ledger.status import stated_status
from training.acts.labelled import (
    STATUSES,
    Talk,
    acts_of_side,
    agreement,
    answers_in,
    talks_in,
)
from training.acts.opinion import ANSWERS, looks_at
from training.acts.spoken import spoken_as_labelled, spoken_with
from training.measures import area_under_curve

_SIDES = {False: "service side", True: "customer"}
_LEAST_LINES = 5
_BINS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 1.01)


def main() -> None:
    talks = talks_in()
    held_out = [talk for talk in talks if talk.held_out]
    print(f"{len(talks)} conversations, {sum(len(talk.lines) for talk in talks)} lines")
    for customer, side in _SIDES.items():
        print(f"\nAgreement of two readers, {side}: kappa (times given)")
        for act, given, kappa in agreement(customer=customer):
            print(f"  {act:14} {'-' if kappa is None else f'{kappa:.2f}'} ({given})")
    print_statuses("acts as labelled, all", talks, spoken_as_labelled)
    print_statuses("acts as labelled, held out", held_out, spoken_as_labelled)
    for name, fast in (("fast", True), ("default", False)):
        readers = shipped_readers(fast=fast)
        began = time.process_time()
        read = {
            talk.id: [_likely(marks) for marks, _, _ in read_lines(talk.lines, readers)]
            for talk in held_out
        }
        spent = time.process_time() - began
        count = sum(len(talk.lines) for talk in held_out)
        print(f"\nReader {name}: {25_000 * spent / count:.1f} ms of CPU for 25 lines")
        for customer, side in _SIDES.items():
            print_acts(side, held_out, read, customer=customer)
        print_statuses(
            f"acts as read, held out, {name}",
            held_out,
            partial(_spoken, read),
        )
    print_answers(held_out)


def _spoken(read: Mapping[str, Sequence[Mapping[Act, float]]], talk: Talk) -> list[Spoken]:
    return spoken_with(talk, read[talk.id])


def _likely(marks: Mapping[Act, Mark]) -> dict[Act, float]:
    return {act: mark.probability for act, mark in marks.items()}


def print_statuses(
    name: str, talks: Iterable[Talk], spoken: Callable[[Talk], list[Spoken]]
) -> None:
    """Print what the ledger states beside what the readers found."""
    pairs = Counter(
        (talk.outcome["status"], stated_status(ledger_of(spoken(talk)))) for talk in talks
    )
    stated = sum(count for (_, ours), count in pairs.items() if ours is not None)
    right = sum(count for (theirs, ours), count in pairs.items() if theirs == ours)
    print(
        f"\nStatus by the ledger, {name}: stated in {stated} of {pairs.total()}, {right} as found"
    )
    print(f"  {'found':20}" + "".join(f"{ours or 'nothing':>20}" for ours in (*STATUSES[:4], None)))
    for theirs in STATUSES:
        print(
            f"  {theirs:20}"
            + "".join(f"{pairs[theirs, ours]:20}" for ours in (*STATUSES[:4], None))
        )


def print_acts(
    side: str,
    talks: Iterable[Talk],
    read: Mapping[str, Sequence[Mapping[Act, float]]],
    *,
    customer: bool,
) -> None:
    """Print the area under the curve of each act and its F1 at even chances, over lines."""
    lines = [
        (acts, found)
        for talk in talks
        for line, acts, found in zip(talk.lines, talk.acts, read[talk.id], strict=True)
        if line.by_customer is customer and line.sentences
    ]
    print(f"\nActs of the {side} on held-out trades: AUC, F1 (lines with it)")
    figures = []
    for act in acts_of_side(customer=customer):
        figure = _measured(act, lines)
        if figure is not None:
            figures.append(figure)
            print(f"  {act:14} {figure[0]:.3f} {figure[1]:.2f} ({figure[2]})")
    areas, scores, _ = zip(*figures, strict=True)
    print(f"  {'mean':14} {np.mean(areas):.3f} {np.mean(scores):.2f}")


def print_answers(talks: Sequence[Talk]) -> None:
    """Print how many of the judge's own answers are a reader's, before and after the second look."""
    given = answers_in()
    asked = [talk for talk in talks if talk.id in given]
    looks = list(looks_at(asked, shipped_readers(fast=False)))
    print(f"\nAnswers on {len(looks)} held-out conversations: right, stand, right of those, AUC")
    every: list[tuple[float, bool]] = []
    for question in ANSWERS:
        pairs = []
        for look in looks:
            theirs = {**given[look.talk.id], "status": look.talk.outcome["status"]}.get(question)
            if question in look.own and theirs is not None:
                own = look.own[question]
                likely = shipped_opinion_model().opinion(look.values).of(question, own)
                pairs.append((likely.get(own, 0.0), own == theirs))
        every += pairs
        chances, right = (np.array(column, float) for column in zip(*pairs, strict=True))
        stands = chances >= SHOWN
        area = area_under_curve(chances, right)
        print(
            f"  {question:14} {right.mean():.2f} {stands.mean():.2f} {right[stands].mean():.2f}"
            f" {'-' if area is None else f'{area:.2f}'}"
        )
    print_reliability(every)


def print_reliability(pairs: Sequence[tuple[float, bool]]) -> None:
    """Print how many answers are right beside how likely they were taken to be, and the AUC over all."""
    chances, right = (np.array(column, float) for column in zip(*pairs, strict=True))
    print(
        f"\nReliability: answers, their mean probability, right; AUC {area_under_curve(chances, right):.3f}"
    )
    for low, high in pairwise(_BINS):
        within = (chances >= low) & (chances < high)
        mean, share = chances[within].mean(), right[within].mean()
        print(f"  {low:.1f} to {min(high, 1):.1f} {within.sum():5} {mean:.2f} {share:.2f}")


def _measured(
    act: Act, lines: Sequence[tuple[frozenset[Act], Mapping[Act, float]]]
) -> tuple[float, float, int] | None:
    given = np.array([float(act in acts) for acts, _ in lines])
    read = np.array([found.get(act, 0.0) for _, found in lines])
    area = area_under_curve(read, given)
    if area is None or given.sum() < _LEAST_LINES:
        return None
    right = float(given[read >= SHOWN].sum())
    return area, 2 * right / float((read >= SHOWN).sum() + given.sum()), int(given.sum())


if __name__ == "__main__":
    main()
