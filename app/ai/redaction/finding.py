"""Looks for every kind of entity in a conversation, and only where its words make that worth it."""

import re
from collections.abc import Iterator

from app.ai.redaction import (
    addresses,
    birth_dates,
    cards,
    emails,
    names,
    national_ids,
    numbers_said,
    passwords,
    phones,
)
from app.ai.redaction.cues import Cue, named_after
from app.ai.redaction.digit_runs import WORDS, Run, runs
from app.ai.redaction.entities import Entity, Found, united
from app.ai.redaction.talk import Stream, Talk

_DIGIT = re.compile(r"\d")


def found_in(talk: Talk) -> dict[int, list[Found]]:
    """Map the turns that hold something to what they hold, in order and without overlaps."""
    found: dict[int, list[Found]] = {}
    counted = [turn for turn in range(len(talk.turns)) if _counts(talk, turn)]
    for stream in talk.streams(counted):
        for each in _numbers(talk, stream):
            for turn, start, end in stream.shares(each.start, each.end):
                found.setdefault(turn, []).append(Found(start, end, each.entity))
    with_digits = frozenset(counted)
    for turn in range(len(talk.turns)):
        for each in _words(talk, turn, turn in with_digits):
            found.setdefault(turn, []).append(each)
    _add_names_again(talk, found)
    return {turn: united(each) for turn, each in found.items()}


def _counts(talk: Talk, turn: int) -> bool:
    return _DIGIT.search(talk.turns[turn].text) is not None or not talk.words(turn).isdisjoint(
        WORDS
    )


def _numbers(talk: Talk, stream: Stream) -> Iterator[Found]:
    for run in runs(stream.text):
        if len(run.digits) < 3:
            continue
        cue = _cue_of(talk, stream, run)
        is_dialled = phones.plus_before(run, stream.text) is not None
        found = [] if is_dialled else list(cards.find(run, cue))
        yield from found
        if found and any(each.start <= run.start and run.end <= each.end for each in found):
            continue
        yield from national_ids.find(run, cue)
        yield from numbers_said.find(run, cue, stream.text)
        yield from phones.find(run, cue, stream.text)


def _cue_of(talk: Talk, stream: Stream, run: Run) -> Cue | None:
    turn, position = stream.place(run.start)
    return named_after(stream.text, run.end) or talk.cue_at(turn, position)


def _words(talk: Talk, turn: int, has_digits: bool) -> Iterator[Found]:
    text, words = talk.turns[turn].text, talk.words(turn)
    if "@" in text or "at" in words:
        yield from emails.find(text, words)
    if has_digits:
        yield from emails.find_ip_addresses(text)
        yield from national_ids.find_codes(text)
        yield from addresses.find(talk, turn)
    if has_digits or not words.isdisjoint(birth_dates.MONTHS):
        yield from birth_dates.find(talk, turn)
    if not words.isdisjoint(passwords.TRIGGERS):
        yield from passwords.find(text)
    yield from names.find(talk, turn)


def _add_names_again(talk: Talk, found: dict[int, list[Found]]) -> None:
    """Find the names that were told once wherever they are said in the conversation."""
    known = {
        word
        for turn, entities in found.items()
        for each in entities
        if each.entity is Entity.NAME
        for word in names.learnt(talk.turns[turn].text, each)
    }
    if not known:
        return
    folded = {word.lower() for word in known}
    spellings = names.spellings_of(known)
    for turn in range(len(talk.turns)):
        if not talk.words(turn).isdisjoint(folded):
            found.setdefault(turn, []).extend(names.again(talk.turns[turn].text, spellings))
    for turn in [turn for turn, each in found.items() if not each]:
        del found[turn]
