"""Masking of texts: finds the personal data in them and replaces each entity by its placeholder.

`mask` masks one text, `mask_turns` a conversation, whose turns explain each other ("Your date of
birth?", "The fourth of July"). Masking a masked text again changes nothing.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from app.redaction import addresses, birth_dates, emails, names, personal_numbers
from app.redaction.conversation_text import (
    MAX_TURNS_BETWEEN,
    ConversationText,
    SpeakerText,
    SpeakerTurn,
)
from app.redaction.digit_runs import (
    NUMBER_WORDS,
    DigitRun,
    NumberCue,
    cue_after,
    digit_runs,
    with_near_numbers,
)
from app.redaction.entities import Entity, EntitySpan, merged_spans
from app.redaction.names import is_service_name, service_name_words
from app.transcript import Redaction, Role, Segment, Transcript, Word

# A placeholder brings the texts around it closer together, so that another round may find more.
_MAX_ROUNDS = 6
# A turn may be read differently when one of so many turns before it has changed.
_TURNS_BACK = 3
# Turns with so many characters are read again after the first round.
_MAX_REREAD = 250_000
# After so many cues and numbers, or entities, of a conversation, the rest of it is masked whole.
_MAX_FINDS = 20_000
# So it is when patterns have searched so many characters, dozens of times those of a long conversation.
_MAX_SEARCHED = 2_500_000
SERVICE_ROLES = frozenset({Role.AGENT, Role.SUPERVISOR, Role.BOT})
_MIN_DIGITS = 3
_OF_CARDS = (None, NumberCue.CARD, NumberCue.CVV)
_DIGIT = re.compile(r"\d")


class MaskedTurn(NamedTuple):
    """A masked text; `redactions` are places in it, `originals` places in the original text."""

    text: str
    redactions: tuple[Redaction, ...]
    originals: tuple[EntitySpan, ...]

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the place of `text[start:end]` in the original; a placeholder counts whole."""
        first = bisect_right(self.redactions, start, key=attrgetter("char_end"))
        last = bisect_left(self.redactions, end, key=attrgetter("char_start"))
        if first < last:
            start = min(start, self.redactions[first].char_start)
            end = max(end, self.redactions[last - 1].char_end)
        return start + self._shift_after(first), end + self._shift_after(last)

    def _shift_after(self, count: int) -> int:
        """Return how much further in the original the text after so many redactions is."""
        if not count:
            return 0
        return self.originals[count - 1].end - self.redactions[count - 1].char_end


def mask(text: str) -> MaskedTurn:
    return mask_turns([SpeakerTurn("", text)])[0]


def mask_turns(turns: Sequence[SpeakerTurn]) -> list[MaskedTurn]:
    """Mask the turns of one conversation, in their order."""
    masked = [MaskedTurn(turn.text, (), ()) for turn in turns]
    conversation = ConversationText(turns)
    service_words = service_name_words(conversation)
    changed, left = frozenset(range(len(turns))), _MAX_REREAD
    for _ in range(_MAX_ROUNDS):
        detected = _detect(conversation, changed)
        spans = _without_service_names(conversation, detected, service_words)
        if not spans:
            break
        for turn, turn_spans in spans.items():
            before = masked[turn]
            new = [
                EntitySpan(*before.original_span(span.start, span.end), span.entity)
                for span in turn_spans
            ]
            originals = merged_spans([*before.originals, *new])
            masked[turn] = _masked_turn(turns[turn].text, originals)
        changed = frozenset(spans)
        left -= sum(len(conversation.turns[turn].text) for turn in changed)
        conversation = conversation.with_texts({turn: masked[turn].text for turn in changed})
        if left < 0:
            break
    return masked


def mask_transcript(transcript: Transcript) -> tuple[Transcript, dict[str, Segment]]:
    """Mask every segment; return also the unmasked segments that changed, by their ids.

    A masked transcript is returned unchanged.
    """
    if transcript.redacted:
        return transcript, {}
    segments = transcript.segments
    masked = mask_segments(transcript)
    originals = {
        segment.id: segment
        for segment, turn in zip(segments, masked, strict=True)
        if turn.redactions
    }
    masked_segments = tuple(map(_masked_segment, segments, masked))
    return replace(transcript, segments=masked_segments, redacted=True), originals


def mask_segments(transcript: Transcript) -> list[MaskedTurn]:
    """Mask the texts of the segments, in their order."""
    display_names = {
        participant.id: participant.display_name for participant in transcript.participants
    }
    return mask_turns(
        [
            SpeakerTurn(
                segment.participant_id,
                segment.text,
                is_service=segment.role in SERVICE_ROLES,
                name=display_names.get(segment.participant_id),
            )
            for segment in transcript.segments
        ]
    )


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


def _masked_segment(segment: Segment, masked: MaskedTurn) -> Segment:
    if not masked.redactions:
        return segment
    return replace(
        segment,
        text=masked.text,
        words=_masked_words(segment, masked.originals),
        redactions=masked.redactions,
    )


def _masked_words(segment: Segment, spans: Sequence[EntitySpan]) -> tuple[Word, ...]:
    """Replace the words that an entity overlaps; their times stay."""
    words = []
    position = 0
    for word in segment.words:
        start = max(position, segment.text.find(word.text, position))
        end = position = start + len(word.text)
        place = bisect_right(spans, start, key=attrgetter("end"))
        is_masked = place < len(spans) and spans[place].start < end
        placeholder = spans[place].entity.placeholder if is_masked else None
        words.append(replace(word, text=placeholder) if placeholder else word)
    return tuple(words)


def _detect(
    conversation: ConversationText, changed: Collection[int]
) -> dict[int, list[EntitySpan]]:
    """Return the entities by turn, in order and without overlaps; other turns are left out.

    Words that announce none skip a detector. Only `changed` turns are searched, and those that they
    may explain: the others have nothing more.
    """
    turns = range(len(conversation.turns))
    numbered = [turn for turn in turns if _has_number(conversation, turn)]
    speaker_texts = (
        speaker_text
        for speaker_text in conversation.speaker_texts(numbered)
        if _is_near(changed, speaker_text.turns, MAX_TURNS_BETWEEN, MAX_TURNS_BETWEEN)
    )
    spans: dict[int, list[EntitySpan]] = {turn: [] for turn in turns}
    for turn, span in _number_spans(conversation, speaker_texts):
        spans[turn].append(span)
    numbered_turns, finds = frozenset(numbered), 0
    whole: dict[int, list[EntitySpan]] = {}
    for turn in turns:
        if not _is_near(changed, (turn,), _TURNS_BACK, 0):
            continue
        text = conversation.turns[turn].text
        rest = [_rest(0, len(text))] if text else []
        is_rest = finds > _MAX_FINDS or conversation.searched > _MAX_SEARCHED
        if is_rest or spans[turn] == rest:
            del spans[turn]
            whole[turn] = rest
        else:
            spans[turn] += _text_spans(conversation, turn, turn in numbered_turns)
            finds += len(spans[turn])
    for turn, again in names.repeated(conversation, spans):
        if finds > _MAX_FINDS:
            whole[turn] = [_rest(0, len(conversation.turns[turn].text))]
        else:
            before = len(spans[turn])
            spans[turn] += again
            finds += len(spans[turn]) - before
    spans |= whole
    return {turn: merged_spans(turn_spans) for turn, turn_spans in spans.items() if turn_spans}


def _is_near(changed: Collection[int], turns: Sequence[int], before: int, after: int) -> bool:
    """Return whether one of these turns has changed, or of so many before and after them."""
    return any(turn in changed for turn in range(turns[0] - before, turns[-1] + after + 1))


def _has_number(conversation: ConversationText, turn: int) -> bool:
    if _DIGIT.search(conversation.turns[turn].text):
        return True
    return not conversation.words(turn).isdisjoint(NUMBER_WORDS)


def _number_spans(
    conversation: ConversationText, speaker_texts: Iterable[SpeakerText]
) -> Iterator[tuple[int, EntitySpan]]:
    finds = 0
    for speaker_text in speaker_texts:
        if finds <= _MAX_FINDS:
            finds += sum(len(conversation.cues(turn)) for turn in speaker_text.turns)
        if finds > _MAX_FINDS:
            yield from _by_turn(speaker_text, _rest(0, speaker_text.end))
            continue
        runs: list[DigitRun] = []
        for run in digit_runs(speaker_text.text, speaker_text.end):
            finds += len(run.tokens)
            is_rest = finds > _MAX_FINDS
            runs.append(run)
            spans = (
                [_rest(run.start, speaker_text.end)]
                if is_rest
                else _numbers(conversation, speaker_text, run)
            )
            for span in spans:
                yield from _by_turn(speaker_text, span)
            if is_rest:
                break
        yield from _answers(conversation, speaker_text, runs)


def _numbers(
    conversation: ConversationText, speaker_text: SpeakerText, run: DigitRun
) -> Iterable[EntitySpan]:
    if len(run.digits) < _MIN_DIGITS:
        return ()
    cue = _cue_of(conversation, speaker_text, run)
    return personal_numbers.find(run, cue, speaker_text.text)


def _cue_of(
    conversation: ConversationText, speaker_text: SpeakerText, run: DigitRun
) -> NumberCue | None:
    turn, position = speaker_text.turn_at(run.start)
    return cue_after(speaker_text.text, run.end) or conversation.cue_at(turn, position)


def _answers(
    conversation: ConversationText, speaker_text: SpeakerText, runs: Sequence[DigitRun]
) -> Iterator[tuple[int, EntitySpan]]:
    """Yield what answers a question for a card: from the first to the last digit, however misheard.

    A number that other words announce ends the answer.
    """
    entity = conversation.asked_before(speaker_text.turns[0])
    if entity is None:
        return
    cues = (_cue_of(conversation, speaker_text, run) for run in runs)
    count = next((index for index, cue in enumerate(cues) if cue not in _OF_CARDS), len(runs))
    if sum(len(run.digits) for run in runs[:count]) < _MIN_DIGITS:
        return
    stop = runs[count].start if count < len(runs) else speaker_text.end
    span = with_near_numbers(speaker_text.text, runs[0].start, runs[count - 1].end, stop)
    yield from _by_turn(speaker_text, EntitySpan(*span, entity))


def _by_turn(speaker_text: SpeakerText, span: EntitySpan) -> Iterator[tuple[int, EntitySpan]]:
    for turn, start, end in speaker_text.parts_by_turn(span.start, span.end):
        yield turn, EntitySpan(start, end, span.entity)


def _rest(start: int, end: int) -> EntitySpan:
    """Return the rest of a text as the type that overrides every other."""
    return EntitySpan(start, end, Entity.MASKED)


def _text_spans(
    conversation: ConversationText, turn: int, has_number: bool
) -> Iterator[EntitySpan]:
    words = conversation.words(turn)
    if "@" in conversation.turns[turn].text or "at" in words:
        yield from emails.find(conversation, turn)
    if has_number:
        yield from emails.find_ip_addresses(conversation, turn)
        yield from personal_numbers.find_codes(conversation, turn)
        yield from addresses.find(conversation, turn)
    if has_number or not words.isdisjoint(birth_dates.MONTHS):
        yield from birth_dates.find(conversation, turn)
    if not words.isdisjoint(personal_numbers.PASSWORD_WORDS):
        yield from personal_numbers.find_passwords(conversation, turn)
    yield from names.find(conversation, turn)
