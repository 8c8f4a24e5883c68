"""Masking of texts: every entity that is found gives way to its placeholder.

Pure and fast: `mask` for one text, `mask_turns` for a conversation, whose turns explain each other
("Your date of birth?", "The fourth of July"), and `app.ai.redaction.transcripts` for a transcript.
What is masked once is masked for good: masking it again changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from app.ai.redaction.entities import Entity, Found, united
from app.ai.redaction.finding import found_in
from app.ai.redaction.service_names import is_kept, kept_words
from app.ai.redaction.talk import Talk, Turn
from app.ai.transcript import Redaction

# Taking something out moves what stands around it together, so that more may be found.
_MOST_ROUNDS = 6


class Masked(NamedTuple):
    """A masked text, what stands in it for what, and what it stood for in the original text."""

    text: str
    redactions: tuple[Redaction, ...]
    originals: tuple[Found, ...]


def mask(text: str) -> Masked:
    """Mask a text that stands alone."""
    return mask_turns([Turn("", text)])[0]


def mask_turns(turns: Sequence[Turn]) -> list[Masked]:
    """Mask the turns of one conversation, in their order."""
    masked = [Masked(turn.text, (), ()) for turn in turns]
    talk, kept = Talk(turns), kept_words(turns)
    for _ in range(_MOST_ROUNDS):
        found = _without_kept(talk, found_in(talk), kept)
        if not found:
            break
        for place, entities in found.items():
            before = masked[place]
            entities = [_widened(each, before) for each in entities]
            originals = united([*before.originals, *(_original(each, before) for each in entities)])
            masked[place] = _masked(turns[place].text, originals)
        talk = talk.changed({place: masked[place].text for place in found})
    return masked


def _without_kept(
    talk: Talk, found: Mapping[int, list[Found]], kept: frozenset[str]
) -> dict[int, list[Found]]:
    """Leave out the names of the service side, which are nobody's secret."""
    left = {
        turn: [
            entity
            for entity in entities
            if entity.entity is not Entity.NAME or not is_kept(talk.turns[turn].text, entity, kept)
        ]
        for turn, entities in found.items()
    }
    return {turn: entities for turn, entities in left.items() if entities}


def _masked(text: str, originals: Sequence[Found]) -> Masked:
    parts: list[str] = []
    redactions: list[Redaction] = []
    done = length = 0
    for each in originals:
        kept, placeholder = text[done : each.start], each.entity.placeholder
        length += len(kept)
        redactions.append(Redaction(each.entity.value, length, length + len(placeholder)))
        length += len(placeholder)
        parts += [kept, placeholder]
        done = each.end
    parts.append(text[done:])
    return Masked("".join(parts), tuple(redactions), tuple(originals))


def _widened(found: Found, masked: Masked) -> Found:
    """Take in whole the placeholders that what was found reaches into."""
    start, end = found.start, found.end
    for each in masked.redactions:
        if each.char_start < end and start < each.char_end:
            start, end = min(start, each.char_start), max(end, each.char_end)
    return Found(start, end, found.entity)


def _original(found: Found, masked: Masked) -> Found:
    """Move what was found in a masked text to its place in the original.

    No entity begins or ends within a placeholder (see `_widened`).
    """
    shift_start = shift_end = 0
    for stand_in, original in zip(masked.redactions, masked.originals, strict=True):
        shift = original.end - stand_in.char_end
        if stand_in.char_end <= found.start:
            shift_start = shift
        if stand_in.char_end <= found.end:
            shift_end = shift
    return Found(found.start + shift_start, found.end + shift_end, found.entity)


def entities_of(redactions: Iterable[Redaction]) -> dict[str, int]:
    """Count redactions by their type."""
    counts: dict[str, int] = {}
    for each in redactions:
        counts[each.entity_type] = counts.get(each.entity_type, 0) + 1
    return dict(sorted(counts.items()))
