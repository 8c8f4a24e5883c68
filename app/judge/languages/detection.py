"""Language detection of each line: as declared, otherwise by script and common words.

What nothing speaks for stays unknown; it is never taken for the language that suits.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.judge.languages.words import MARKS
from app.transcript import Segment, Transcript

UNKNOWN = "und"
ENGLISH, HINDI, ROMANISED_HINDI = "en", "hi", "hi-Latn"
# Who speaks one of these may change to another in the middle of a conversation, whatever the
# declaration says.
_SWITCHED = frozenset({ENGLISH, HINDI, ROMANISED_HINDI})
_DATA = json.loads((Path(__file__).parent / "languages.json").read_text("utf-8"))
_COMMON = {code: frozenset(words.split()) for code, words in _DATA["latin"].items()}
_FOREIGN = (
    frozenset(word for code, words in _COMMON.items() if code != ENGLISH for word in words)
    - (_COMMON[ENGLISH])
)
_SPEAKING_FOR = {
    word: tuple(code for code, words in _COMMON.items() if word in words)
    for word in _FOREIGN | _COMMON[ENGLISH]
}
_SCRIPTS = [
    (
        re.compile(f"[{script['letters']}]"),
        {code: frozenset(words.split()) for code, words in script["languages"].items()},
    )
    for script in _DATA["scripts"]
]
_WORD = re.compile(rf"(?:[^\W\d_]|[{MARKS}])++(?:'[a-z]+)?")
_PLAIN_WORD = re.compile(r"[a-z']+")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_BEYOND_LATIN = re.compile(r"[\u0370-\u1dff\u1f00-\u1fff\u2c00-\ud7ff\uf900-\ufdff\ufe70-\ufefc]")
_SAMPLE_CHARS = 20_000
_ENOUGH_SHARE = 0.15
_LEAST_HITS = 2
_HITS_OF_OTHERS = 3
# Confidence of a guess: by the share and number of common words, or by letters.
_SURE_SHARE, _SURE_HITS, _SURE_LETTERS = 0.25, 6, 40
_SCRIPT_ALONE = 0.6
_JARGON = frozenset(_DATA["englishJargon"].split())
_JARGON_CONFIDENCE = 0.3


@dataclass(frozen=True, slots=True)
class Languages:
    """`main` is a language tag, or `und`; `confidence`, 0 to 1, is 1 where it was declared.

    `of_texts` gives each text its own language: `en`, `hi-Latn` and the like, or `und`.
    """

    main: str
    confidence: float
    of_texts: tuple[str, ...]


def languages_of(
    texts: Sequence[str], *, declared: str | None, known: Sequence[str | None] = ()
) -> Languages:
    """Tell the language of the texts together and of each one.

    What is declared, for all texts or for single ones (`known`), is believed. Texts in another script go by their
    script; in Latin letters, texts are told apart only in English, Hindi and undeclared conversations, since people
    switch between these. Without a declaration the first 20,000 characters decide.
    """
    main = language_key(declared)
    keys = {tag: language_key(tag) for tag in set(known)}
    sample = " ".join(texts)[:_SAMPLE_CHARS]
    if {ENGLISH, UNKNOWN}.issuperset((main, *keys.values())):
        sure = _plainly_english(texts, sample, declared=main == ENGLISH)
        if sure is not None:
            return Languages(ENGLISH, sure, (ENGLISH,) * len(texts))
    main, confidence = (main, 1.0) if main != UNKNOWN else _guess(sample)
    own = [keys[tag] for tag in known] or [UNKNOWN] * len(texts)
    of_texts = tuple(
        _of_text(text, main if key == UNKNOWN else key)
        for text, key in zip(texts, own, strict=True)
    )
    return Languages(main, confidence, of_texts)


def languages_of_segments(segments: Sequence[Segment], declared: str | None) -> Languages:
    """Tell the language of segments; what is declared for single ones is believed too."""
    return languages_of(
        [segment.text for segment in segments],
        declared=declared,
        known=[segment.language for segment in segments],
    )


def with_languages(transcript: Transcript) -> Transcript:
    """Give each segment its language, and the transcript its main one where none was declared.

    What nothing speaks for stays None.
    """
    languages = languages_of_segments(transcript.segments, transcript.language)
    segments = tuple(
        _tagged(segment, code, transcript.language)
        for segment, code in zip(transcript.segments, languages.of_texts, strict=True)
    )
    if language_key(transcript.language) != UNKNOWN:
        return replace(transcript, segments=segments)
    main = None if languages.main == UNKNOWN else languages.main
    return replace(
        transcript, segments=segments, language=main, language_confidence=languages.confidence
    )


def _tagged(segment: Segment, code: str, declared: str | None) -> Segment:
    # A declared tag says more than its key: en-GB, not en.
    for tag in (segment.language, declared):
        if tag and language_key(tag) == code != UNKNOWN:
            return replace(segment, language=tag)
    return replace(segment, language=None if code == UNKNOWN else code)


def language_key(tag: str | None) -> str:
    """Reduce a BCP-47 tag to a language key: `en-GB` to `en`; `und` without one."""
    parts = (tag or UNKNOWN).replace("_", "-").lower().split("-")
    primary: str = _DATA["threeLetters"].get(parts[0], parts[0])
    return f"{primary}-Latn" if primary == HINDI and "latn" in parts[1:] else primary


def primary_language(tag: str | None) -> str:
    """Reduce a BCP-47 tag to its language, whatever the region and script; `und` without one."""
    return language_key(tag).split("-")[0]


def name_of(tag: str) -> str:
    """Name a language in English; a tag whose language has no name here stays a tag."""
    name: str = _DATA["names"].get(language_key(tag), tag)
    return name


def _plainly_english(texts: Sequence[str], sample: str, *, declared: bool) -> float | None:
    # The usual case, and cheap: no other script, and hardly a common word of another language.
    if not sample.isascii() and _BEYOND_LATIN.search(sample):
        return None
    words = _PLAIN_WORD.findall(sample.lower())
    if sum(map(len, texts)) > _SAMPLE_CHARS or len(_FOREIGN.intersection(words)) >= _LEAST_HITS:
        return None
    if declared:
        return 1.0
    hits = sum(map(_COMMON[ENGLISH].__contains__, words))
    return _sureness(hits, len(words)) or None


def _sureness(hits: int, words: int) -> float:
    share = hits / words if words else 0.0
    if share < _ENOUGH_SHARE:
        return 0.0
    return round(min(1.0, share / _SURE_SHARE) * min(1.0, hits / _SURE_HITS), 2)


def _of_text(text: str, hint: str) -> str:
    if not text.isascii() and _BEYOND_LATIN.search(text):
        letters, script = _main_script(text)
        if script is not None and 2 * letters >= len(_LATIN.findall(text)):
            return hint if hint in script else _among(script, text)[0]
    if hint not in _SWITCHED and hint != UNKNOWN:
        return hint
    latin = ROMANISED_HINDI if hint == HINDI else hint
    # Each word once: a timetable says EST in every row, and is not French for it.
    all_hits = _hits(set(_words_of(text)))
    hits = Counter({code: count for code, count in all_hits.items() if count >= _LEAST_HITS})
    ours = hits.get(latin, 0)
    for code, count in hits.most_common():
        least = _LEAST_HITS if hint == UNKNOWN or code in _SWITCHED else _HITS_OF_OTHERS
        if code != latin and count >= least and count > ours:
            return code
    return latin


def _guess(sample: str) -> tuple[str, float]:
    letters, script = _main_script(sample)
    if script is not None and letters >= len(_LATIN.findall(sample)):
        return _among(script, sample)
    hits = _hits(_words_of(sample))
    words = len(_WORD.findall(sample))
    ranked = sorted(hits.items(), key=lambda pair: (-pair[1], pair[0] != ENGLISH, pair[0]))
    (code, best), (_, second) = ranked[:2]
    sure = _sureness(best, words)
    if not sure and _is_jargon(sample, hits):
        return ENGLISH, _JARGON_CONFIDENCE
    return (code, round(sure * (best - second) / best, 2)) if sure else (UNKNOWN, 0.0)


def _is_jargon(sample: str, hits: Mapping[str, int]) -> bool:
    # Names and jargon leave little room for common words; those of no other language may be there.
    if any(count for code, count in hits.items() if code != ENGLISH):
        return False
    jargon_words = sum(word in _JARGON for word in _words_of(sample))
    return hits[ENGLISH] + jargon_words >= _LEAST_HITS


def _words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def _hits(words: Iterable[str]) -> dict[str, int]:
    hits = dict.fromkeys(_COMMON, 0)
    for word in words:
        for code in _SPEAKING_FOR.get(word, ()):
            hits[code] += 1
    return hits


def _main_script(text: str) -> tuple[int, dict[str, frozenset[str]] | None]:
    if text.isascii() or not _BEYOND_LATIN.search(text):
        return 0, None
    # Japanese counts Han characters too, so that it has more than Chinese wherever there is kana.
    letter_counts = [
        (len(pattern.findall(text)), index) for index, (pattern, _) in enumerate(_SCRIPTS)
    ]
    letters, index = max(letter_counts, key=lambda pair: pair[0])
    return (letters, _SCRIPTS[index][1]) if letters else (0, None)


def _among(script: dict[str, frozenset[str]], text: str) -> tuple[str, float]:
    sure = min(1.0, len(text) / _SURE_LETTERS)
    if len(script) == 1:
        return next(iter(script)), round(sure, 2)
    words = _WORD.findall(text)
    hits = {code: sum(word in common for word in words) for code, common in script.items()}
    code = max(hits, key=lambda key: hits[key])
    backed = _SCRIPT_ALONE + (1 - _SCRIPT_ALONE) * min(1.0, hits[code] / _SURE_HITS)
    return code, round(sure * backed, 2)
