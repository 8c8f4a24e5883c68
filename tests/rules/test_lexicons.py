import re
from re import _constants as code
from re import _parser as parser
from unicodedata import category

import pytest

from app.judge.languages.lexicon import LANGUAGES, lexicon_of, stems_in
from app.judge.languages.words import phrase_pattern

# By the word that they end on: texts in which no trigger stands yet, one for each such word.
Texts = dict[str, str]
LETTER = "x"


class Speller:
    """Spells the texts that a pattern matches, each of its choices at least once."""

    def __init__(self, triggers: frozenset[str]) -> None:
        self._triggers = triggers

    def untried(self, pattern: str) -> list[str]:
        """Return texts that a pattern matches and none of the triggers stands in."""
        texts = self._sequence(parser.parse(pattern), {"": ""})
        return [text for end, text in texts.items() if not self._is_trigger(end)]

    def _sequence(self, items, texts: Texts) -> Texts:
        for operator, value in items:
            texts = self._item(operator, value, texts)
        return texts

    def _item(self, operator, value, texts: Texts) -> Texts:
        if operator in (code.AT, code.ASSERT, code.ASSERT_NOT):
            return texts
        if operator is code.SUBPATTERN:
            return self._sequence(value[-1], texts)
        if operator is code.BRANCH:
            matched: Texts = {}
            for branch in value[1]:
                matched |= self._sequence(branch, texts)
            return matched
        if operator in (code.MAX_REPEAT, code.POSSESSIVE_REPEAT):
            least, _, inner = value
            longer = texts
            for _ in range(max(least, 1)):
                longer = self._sequence(inner, longer)
            return longer if least else texts | longer
        return self._letter(_letters(operator, value), texts)

    def _letter(self, letters: set[str], texts: Texts) -> Texts:
        matched: Texts = {}
        for letter in sorted(letters):
            for end, text in texts.items():
                if letter.isalnum() or category(letter).startswith("M"):
                    matched[end + letter] = text + letter
                elif not self._is_trigger(end):
                    matched[""] = text + letter
        return matched

    def _is_trigger(self, end: str) -> bool:
        return not self._triggers.isdisjoint(stems_in(end))


def _letters(operator, value) -> set[str]:
    # Each letter of a choice, one of a class.
    if operator is code.LITERAL:
        return {chr(value).lower()}
    assert operator is code.IN
    if value[0][0] is code.NEGATE:
        return {" "}
    if all(kind is code.LITERAL for kind, _ in value):
        return {chr(number).lower() for _, number in value}
    return {LETTER}


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_phrase_is_tried_where_it_would_match(language: str) -> None:
    first_of_kind = {phrase.kind: phrase for phrase in reversed(lexicon_of(language).phrases)}
    untried = {
        kind: Speller(phrase.triggers).untried(phrase.pattern.pattern)
        for kind, phrase in first_of_kind.items()
    }
    assert {kind: texts for kind, texts in untried.items() if texts} == {}


def test_a_phrase_with_not_is_found_without_its_apostrophe() -> None:
    pattern = re.compile(phrase_pattern("hasn't come in the post", most_between=3))
    for text in (
        "it hasn't come in the post",
        "it hasn\u2019t come in the post",
        "it hasnt come in the post",
    ):
        assert pattern.search(text)
    assert not pattern.search("it has come in the post")
