"""No regular expression of the service takes quadratic time, whatever text it is given."""

import re
from collections.abc import Iterator

import pytest

from tests.growth import is_linear
from tests.hostile_texts import makers
from tests.patterns import Known, Patterns

_LENGTH = 500
_ENOUGH_S = 0.001
# Patterns built while the service runs. They are texts that were escaped, or pieces that are read
# elsewhere: the fields of the schemas and the lexicons are searched as objects.
_BUILT_LATER = {
    "app.judge.facts.slots._known_spans",
    "app.judge.insights.topics._any_of",
    "app.judge.languages.lexicon._compiled",
    "app.judge.languages.lexicon.phrase_from",
    "app.judge.rules.compliance._any_of",
    "app.judge.rules.opening._brand",
    "app.imports.formats.file_names.__init__",
    "app.intake.service._checked",
    "app.intake.signatures.require",
    "app.people.team_rows.__init__",
    "app.people.team_rows._locking",
    "app.web.schemas.fields.__init__",
}


@pytest.fixture(scope="module")
def patterns() -> Patterns:
    return Patterns()


def test_no_pattern_escapes_the_search(patterns: Patterns) -> None:
    assert len(patterns.known) > 250
    assert patterns.unreadable == _BUILT_LATER


def test_every_pattern_is_linear(patterns: Patterns) -> None:
    slow = [text for known in patterns.known.values() for text in _slow(known)]
    assert slow == []


def test_a_quadratic_pattern_is_found() -> None:
    for pattern, way in ((r"a+b", "finditer"), (r"x\s*\s*y", "match"), (r"(a|b)*c", "finditer")):
        assert any(_slow(Known("here", re.compile(pattern), {way}))), pattern


def _slow(known: Known) -> Iterator[str]:
    def run(text: str) -> None:
        if "finditer" in known.ways:
            for _ in known.pattern.finditer(text):
                pass
        if "match" in known.ways:
            known.pattern.match(text)
        if "fullmatch" in known.ways:
            known.pattern.fullmatch(text)

    for make in makers(known.pattern):
        if not is_linear(run, make, _LENGTH, enough_s=_ENOUGH_S):
            yield f"{known.where} on {make(40)!r}"
