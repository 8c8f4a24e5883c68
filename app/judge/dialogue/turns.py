"""A transcript seen as a dialogue: its sides and turns, and what is repeated or left open."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import groupby, islice
from operator import attrgetter

from app.judge.languages.detection import (
    ENGLISH,
    UNKNOWN,
    Languages,
    languages_of_segments,
    name_of,
)
from app.judge.languages.lexicon import LANGUAGES, Lexicon, lexicon_of
from app.judge.languages.words import is_unspaced
from app.judge.wording import in_quotes, sentence
from app.transcript import Role, Segment, Transcript

_WORD = re.compile(r"[a-z0-9']{2,30}")
# Words that carry no subject.
_STOP_WORDS = """
the and you for that your have can of my what are this with please yes thank thanks is be we
will would like how was there not don't that's hello need to in at on it an me do does did
so any all but if or as by from up out no hi hey ok okay just get also some one i'm i'd i'll
im us our they them he she his her its it's has had been could should may might about want
looking find help know give tell let see sure great good right
"""
_STOP = frozenset(_STOP_WORDS.split())
_SAME_SHARE = 0.7
_LEAST_WORDS = 3
_RECENT = 8
_PEOPLE = frozenset({Role.AGENT, Role.SUPERVISOR})
# With less of the words in a known language, what is not found might be in the rest.
_READABLE_SHARE = 0.8
_SHOWN_WORDS = 8


class Side(StrEnum):
    """`service` is whom the scorecard judges: the agent or, where none takes part, the bot."""

    SERVICE = "agent"
    CUSTOMER = "customer"
    OTHER = "other"
    UNKNOWN = "unknown"


# The sides by the words of scorecards.
SIDES = {"agent": Side.SERVICE, "customer": Side.CUSTOMER}


@dataclass(frozen=True, slots=True)
class Line:
    """One spoken or written segment; `position` counts the lines of the dialogue from 0.

    `language` is a key of `app.judge.languages.detection`: `en`, `hi`, `hi-Latn` and the like, or
    `und`.
    """

    position: int
    segment: Segment
    side: Side
    by_human: bool
    language: str

    @property
    def text(self) -> str:
        return self.segment.text


@dataclass(frozen=True, slots=True)
class Turn:
    """Consecutive lines of one side."""

    side: Side
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Dialogue:
    """The lines that carry words, without those of the system.

    `attributed` says whether the side of each line is known. In a call of a voice bot the
    service side is the bot alone, and a person who takes over is `other`. `language` is the
    declared tag or what the words tell, `und` where they don't; `language_confidence` is 0 to 1.
    """

    transcript: Transcript
    channel: str
    language: str
    language_confidence: float
    attributed: bool
    lines: tuple[Line, ...]

    @cached_property
    def service(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.side is Side.SERVICE)

    @cached_property
    def customer(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.side is Side.CUSTOMER)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        by_side = groupby(self.lines, key=attrgetter("side"))
        return tuple(Turn(side, tuple(lines)) for side, lines in by_side)

    @cached_property
    def service_turns(self) -> tuple[Turn, ...]:
        return tuple(turn for turn in self.turns if turn.side is Side.SERVICE)

    @cached_property
    def language_shares(self) -> dict[str, float]:
        """Map each language to its share of the words, the largest first."""
        if not self.lines:
            return {self.language: 1.0}
        words: Counter[str] = Counter()
        for line in self.lines:
            words[line.language] += len(line.text.split())
        return {code: count / words.total() for code, count in words.most_common()}

    @cached_property
    def english(self) -> bool:
        """Tell whether nearly all of it is in English, which the trained models need."""
        return self.language_shares.get(ENGLISH, 0.0) >= _READABLE_SHARE

    @cached_property
    def readable(self) -> bool:
        """Tell whether nearly all of it is in languages whose phrases are known."""
        return sum(self.language_shares.get(code, 0.0) for code in LANGUAGES) >= _READABLE_SHARE

    @cached_property
    def unmeasured_lexicons(self) -> tuple[Lexicon, ...]:
        """List the dialogue's lexicons that were not measured on real conversations, largest share first."""
        lexicons = (lexicon_of(code) for code in self.language_shares)
        return tuple(lexicon for lexicon in lexicons if lexicon is not None and lexicon.unmeasured)

    @property
    def unread_reason(self) -> str:
        """Explain why the words cannot be judged; meaningful only if not `readable`."""
        foreign = [code for code in self.language_shares if code not in LANGUAGES]
        if foreign and foreign[0] != UNKNOWN:
            return sentence("not_judged.language", language=name_of(foreign[0]))
        words = dict.fromkeys(word for line in self.lines for word in line.text.split())
        if not words:
            return sentence("not_judged.unknown_language_wordless")
        return sentence(
            "not_judged.unknown_language", words=in_quotes(" ".join(islice(words, _SHOWN_WORDS)))
        )

    @cached_property
    def unspaced(self) -> bool:
        """Tell whether its script has no spaces, so that its words cannot be counted by splitting."""
        return is_unspaced("".join(line.text for line in self.lines))

    @property
    def word_count(self) -> int:
        return sum(len(line.text.split()) for line in self.lines)


@dataclass(frozen=True, slots=True)
class Exchanges:
    """`repeated_requests` and `repeated_answers` pair a line with the earlier one it repeats.

    `open_questions` are the customer's questions that the next turn of the service side, if any,
    takes up with no word and no act of answering.
    """

    repeated_requests: tuple[tuple[Line, Line], ...]
    repeated_answers: tuple[tuple[Line, Line], ...]
    open_questions: tuple[Line, ...]

    def said_again(self) -> set[int]:
        """Return the positions of answers that only leave out or add to what was said before."""
        return {
            line.position
            for line, earlier in self.repeated_answers
            if _is_contained(content_of(line.text), content_of(earlier.text))
        }


def dialogue_of(transcript: Transcript, *, channel: str, language: str | None) -> Dialogue:
    """Read a transcript as a dialogue; `language` overrides the transcript's own."""
    bots = {person.id for person in transcript.participants if person.kind == "bot"}
    segments = [
        segment
        for segment in transcript.segments
        if segment.role is not Role.SYSTEM and segment.text.strip()
    ]
    roles = [_role(segment, bots) for segment in segments]
    service = _service_roles(channel, frozenset(roles))
    languages = _languages(transcript, segments, language)
    lines = tuple(
        Line(position, segment, _side(role, service), role in _PEOPLE, code)
        for position, (segment, role, code) in enumerate(
            zip(segments, roles, languages.of_texts, strict=True)
        )
    )
    attributed = transcript.speaker_attribution != "none" and any(
        line.side in (Side.SERVICE, Side.CUSTOMER) for line in lines
    )
    return Dialogue(
        transcript=transcript,
        channel=channel,
        language=languages.main,
        language_confidence=languages.confidence,
        attributed=attributed,
        lines=lines
        if attributed
        else tuple(replace(line, side=Side.UNKNOWN, by_human=False) for line in lines),
    )


def _languages(
    transcript: Transcript, spoken: Sequence[Segment], language: str | None
) -> Languages:
    languages = languages_of_segments(spoken, language or transcript.language)
    if language is None and transcript.language_confidence is not None:
        return replace(languages, confidence=transcript.language_confidence)
    return languages


def _role(segment: Segment, bots: set[str]) -> Role:
    if segment.role is Role.AGENT and segment.participant_id in bots:
        return Role.BOT
    return segment.role


def _service_roles(channel: str, present: frozenset[Role]) -> frozenset[Role]:
    bot = frozenset({Role.BOT})
    if channel == "voice_bot":
        return bot if Role.BOT in present else _PEOPLE
    return _PEOPLE if present & _PEOPLE else bot


def _side(role: Role, service: frozenset[Role]) -> Side:
    if role in service:
        return Side.SERVICE
    if role is Role.CUSTOMER:
        return Side.CUSTOMER
    return Side.UNKNOWN if role is Role.UNKNOWN else Side.OTHER


def exchanges_of(dialogue: Dialogue) -> Exchanges:
    """Work out the exchanges of an attributed dialogue; empty where the sides are unknown."""
    if not dialogue.attributed:
        return Exchanges((), (), ())
    content = {line.position: content_of(line.text) for line in dialogue.lines}
    turns = [turn for turn in dialogue.turns if turn.side in (Side.SERVICE, Side.CUSTOMER)]
    return Exchanges(
        repeated_requests=_repeats(dialogue.customer, content),
        repeated_answers=_repeats(dialogue.service, content),
        open_questions=_open_questions(turns),
    )


def content_of(text: str) -> frozenset[str]:
    """Return the words of a text that carry its subject, in lower case."""
    return frozenset(_WORD.findall(text.lower())) - _STOP


def _is_contained(words: frozenset[str], other_words: frozenset[str]) -> bool:
    return words <= other_words or other_words <= words


def _repeats(
    lines: Sequence[Line], content: dict[int, frozenset[str]]
) -> tuple[tuple[Line, Line], ...]:
    pairs = []
    for index, line in enumerate(lines):
        words = content[line.position]
        if len(words) < _LEAST_WORDS:
            continue
        for earlier in reversed(lines[max(0, index - _RECENT) : index]):
            before = content[earlier.position]
            least_words, most_words = sorted((len(words), len(before)))
            if (
                least_words >= _SAME_SHARE * most_words
                and len(words & before) >= _SAME_SHARE * most_words
            ):
                pairs.append((line, earlier))
                break
    return tuple(pairs)


def _open_questions(turns: Sequence[Turn]) -> tuple[Line, ...]:
    # Only what is asked in the last turn of the two sides is left open.
    if not turns or turns[-1].side is not Side.CUSTOMER:
        return ()
    asking = [line for line in turns[-1].lines if line.text.rstrip().endswith("?")]
    return tuple(asking[-1:])
