"""The lexicons: for each language that is read, the phrases that mark the events of a conversation.

They are data, `lexicons/<language>.json`, all of one structure. Precise rather than many: a phrase
that is as often something else is left out.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.ai.languages.phrases import NUKTA, PLAIN, Phrase, phrase_from

_FOLDER = Path(__file__).parent / "lexicons"
LANGUAGES = frozenset(path.stem for path in _FOLDER.glob("*.json"))


@dataclass(frozen=True, slots=True)
class Feelings:
    """The words of a sentiment lexicon; `negations` reverse the words near them."""

    words: Mapping[str, float]
    negations: frozenset[str]
    boosters: frozenset[str]


@dataclass(frozen=True)
class Lexicon:
    """The phrases of one language; those of the language that it builds on come after its own.

    `unmeasured` marks a lexicon that has not been measured on conversations of others. `feelings` is
    None where the sentiment is scored in another way. `back_channels` say no more than "go on".
    The phrases of a `sounded` lexicon are known by their sound, those that it builds on are not.
    """

    language: str
    name: str
    unmeasured: bool
    sounded: bool
    builds_on: str | None
    phrases: tuple[Phrase, ...]
    of_trigger: Mapping[str, tuple[int, ...]]
    feelings: Feelings | None
    back_channels: frozenset[str]

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(phrase.kind for phrase in self.phrases)


@cache
def lexicon_of(language: str) -> Lexicon | None:
    """Return the lexicon of a language (`en`, `hi`, `hi-Latn`); None where there is none."""
    if language not in LANGUAGES:
        return None
    document = json.loads((_FOLDER / f"{language}.json").read_text("utf-8"))
    fragments = document["fragments"]
    sounded = document.get("sounded", False)
    phrases = [
        # A kind that several speakers say in different words is there once for each: kind.speaker.
        phrase_from(key.partition(".")[0], entry, fragments, sounded=sounded)
        for key, entry in document["kinds"].items()
    ]
    base = document.get("buildsOn", {"language": "", "without": []})
    built_on = lexicon_of(base["language"])
    if built_on is not None:
        phrases += [phrase for phrase in built_on.phrases if phrase.kind not in base["without"]]
    of_trigger = defaultdict(list)
    for index, phrase in enumerate(phrases):
        for word in phrase.triggers:
            of_trigger[word].append(index)
    return Lexicon(
        language=language,
        name=document["name"],
        unmeasured=document["first"],
        sounded=sounded,
        builds_on=base["language"] or None,
        phrases=tuple(phrases),
        of_trigger={word: tuple(indexes) for word, indexes in of_trigger.items()},
        feelings=_feelings(document.get("feelings")),
        back_channels=frozenset(_words(document.get("backChannels", ""))),
    )


def _feelings(document: Mapping[str, str] | None) -> Feelings | None:
    if document is None:
        return None
    weights = {"delight": 3.0, "good": 2.0, "bad": -2.0, "anger": -3.0}
    return Feelings(
        words={word: weight for key, weight in weights.items() for word in _words(document[key])},
        negations=frozenset(_words(document["negations"])),
        boosters=frozenset(_words(document["boosters"])),
    )


def _words(text: str) -> list[str]:
    return text.translate(PLAIN).replace(NUKTA, "").split()
