"""Sample of a long search that each commit tries, with a fixed seed; `make nightly` tries all of it."""

import os
import random
from collections.abc import Sequence

NIGHTLY = os.environ.get("CQE_TEST_NIGHTLY") == "1"


def examples(whole: int) -> int:
    """Return how many examples of a search to try."""
    return whole if NIGHTLY else max(1, whole // 4)


def sample(cases: Sequence[str]) -> list[str]:
    """Return all cases, or a fourth of them, always the same and in their order."""
    places = random.Random(1).sample(range(len(cases)), examples(len(cases)))
    return [cases[place] for place in sorted(places)]
