"""Words of the dashboard: every value that the API knows has its text."""

from collections.abc import Iterable

import pytest

from app.dashboard.words import UNKNOWN, WORDS, text_of
from app.evaluations.enums import ReviewAction
from app.imports.schemas.requests import STATUSES, UPLOAD_FORMATS
from app.judge.rules.catalogue import RULES
from app.scorecards.schemas.document_fields import METRICS


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("reviewForm", ReviewAction),
        ("importFormat", UPLOAD_FORMATS),
        ("dryRunStatus", STATUSES),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_value_has_its_text(name: str, values: Iterable[str]) -> None:
    assert list(WORDS[name]) == [str(value) for value in values]


@pytest.mark.parametrize("name", WORDS)
def test_no_two_values_have_the_same_text(name: str) -> None:
    texts = WORDS[name].values()
    assert all(texts)
    assert len(set(texts)) == len(texts)


def test_a_missing_value_and_one_of_an_older_version_are_readable() -> None:
    assert text_of("channel", None) == UNKNOWN
    assert text_of("resolution", "half_done") == "half done"


def test_every_parameter_and_threshold_has_its_label() -> None:
    declared = (parameter for rule in RULES.values() for parameter in rule.parameters)
    labels = [*(item.label for item in declared), *(item.label for item in METRICS.values())]
    assert all(labels)
