"""Masking of texts: replaces each entity by its placeholder.

`mask` masks one text and `mask_turns` a conversation, whose turns explain each other ("Your date of
birth?", "The fourth of July"). Masking a masked text again changes nothing.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.ai.redaction.conversation_text import ConversationText, SpeakerTurn
from app.ai.redaction.detection import detect
from app.ai.redaction.entities import Entity, EntitySpan, merged_spans
from app.ai.redaction.service_names import is_service_name, service_name_words
from app.ai.transcript import Redaction

# A placeholder brings the texts around it closer together, so that another round may find more.
_MAX_ROUNDS = 6


class MaskedTurn(NamedTuple):
    """A masked text; `redactions` are places in it, `originals` places in the original text."""

    text: str
    redactions: tuple[Redaction, ...]
    originals: tuple[EntitySpan, ...]


def mask(text: str) -> MaskedTurn:
    """Mask a single text."""
    return mask_turns([SpeakerTurn("", text)])[0]


def mask_turns(turns: Sequence[SpeakerTurn]) -> list[MaskedTurn]:
    """Mask the turns of one conversation, in their order."""
    masked = [MaskedTurn(turn.text, (), ()) for turn in turns]
    conversation, service_words = ConversationText(turns), service_name_words(turns)
    for _ in range(_MAX_ROUNDS):
        spans = _without_service_names(conversation, detect(conversation), service_words)
        if not spans:
            break
        for turn, turn_spans in spans.items():
            before = masked[turn]
            new = [_original_span(_widened(span, before), before) for span in turn_spans]
            originals = merged_spans([*before.originals, *new])
            masked[turn] = _masked_turn(turns[turn].text, originals)
        conversation = conversation.with_texts({turn: masked[turn].text for turn in spans})
    return masked


def _without_service_names(
    conversation: ConversationText,
    spans: Mapping[int, list[EntitySpan]],
    service_words: frozenset[str],
) -> dict[int, list[EntitySpan]]:
    kept_spans = {
        turn: [
            span
            for span in turn_spans
            if span.entity is not Entity.NAME
            or not is_service_name(conversation.turns[turn].text, span, service_words)
        ]
        for turn, turn_spans in spans.items()
    }
    return {turn: turn_spans for turn, turn_spans in kept_spans.items() if turn_spans}


def _masked_turn(text: str, originals: Sequence[EntitySpan]) -> MaskedTurn:
    parts: list[str] = []
    redactions: list[Redaction] = []
    position = length = 0
    for span in originals:
        unmasked, placeholder = text[position : span.start], span.entity.placeholder
        length += len(unmasked)
        redactions.append(Redaction(span.entity.value, length, length + len(placeholder)))
        length += len(placeholder)
        parts += [unmasked, placeholder]
        position = span.end
    parts.append(text[position:])
    return MaskedTurn("".join(parts), tuple(redactions), tuple(originals))


def _widened(span: EntitySpan, masked: MaskedTurn) -> EntitySpan:
    """Extend a span over the placeholders that it overlaps."""
    start, end = span.start, span.end
    for redaction in masked.redactions:
        if redaction.char_start < end and start < redaction.char_end:
            start, end = min(start, redaction.char_start), max(end, redaction.char_end)
    return EntitySpan(start, end, span.entity)


def _original_span(span: EntitySpan, masked: MaskedTurn) -> EntitySpan:
    """Move a span of the masked text to its place in the original; it splits no placeholder."""
    shift_start = shift_end = 0
    for redaction, original in zip(masked.redactions, masked.originals, strict=True):
        shift = original.end - redaction.char_end
        if redaction.char_end <= span.start:
            shift_start = shift
        if redaction.char_end <= span.end:
            shift_end = shift
    return EntitySpan(span.start + shift_start, span.end + shift_end, span.entity)
