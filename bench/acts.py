"""Measures labels, classifiers and the ledger of acts: python -m bench.acts [--quick].

First how far two readers agree on the acts of the same lines; then how often what the ledger states is
what the reader of the conversation found, by acts as labelled; then, without --quick, the classifiers
of acts, fitted without three trades and one source, on exactly those, and the ledger by the acts that
they read.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from training.acts.catalogue import Act
from training.acts.classifier import ActClassifier, classifier_of
from training.acts.features import features_of
from training.acts.labelled import STATUSES, Talk, acts_of_side, agreement, talks_in
from training.acts.ledger import SHOWN, Spoken, ledger_of
from training.acts.spoken import spoken_as_labelled, spoken_as_read
from training.acts.status import stated_status
from training.fitting import area_under_curve

_SIDES = {False: "service side", True: "customer"}
_LEAST_LINES = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fit no classifiers")
    options = parser.parse_args()
    talks = talks_in()
    held_out = [talk for talk in talks if talk.held_out]
    print(f"{len(talks)} conversations, {sum(len(talk.lines) for talk in talks)} lines")
    for customer, side in _SIDES.items():
        print(f"\nAgreement of two readers, {side}: kappa (times given)")
        for act, given, kappa in agreement(customer=customer):
            print(f"  {act:14} {'-' if kappa is None else f'{kappa:.2f}'} ({given})")
    print_statuses("acts as labelled, all", talks, spoken_as_labelled)
    print_statuses("acts as labelled, held out", held_out, spoken_as_labelled)
    if options.quick:
        return
    others = [talk for talk in talks if not talk.held_out]
    classifiers = {side: classifier_of(others, customer=side) for side in _SIDES}
    for customer, side in _SIDES.items():
        print_classifier(side, held_out, classifiers[customer], customer=customer)

    def read(talk: Talk) -> list[Spoken]:
        return spoken_as_read(talk, classifiers)

    print_statuses("acts as read, held out", held_out, read)


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


def print_classifier(
    side: str, talks: Iterable[Talk], classifier: ActClassifier, *, customer: bool
) -> None:
    """Print the area under the curve of each act and its F1 at even chances, over lines."""
    lines = [
        (talk.acts[index], classifier.probabilities(features_of(talk.lines, index)))
        for talk in talks
        for index, line in enumerate(talk.lines)
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
