"""Detection of all entities of a conversation; words that announce none skip a detector."""

import re
from collections.abc import Iterator

from app.ai.redaction import addresses, birth_dates, emails, names, personal_numbers
from app.ai.redaction.conversation_text import ConversationText, SpeakerText
from app.ai.redaction.digit_runs import NUMBER_WORDS, DigitRun, NumberCue, cue_after, digit_runs
from app.ai.redaction.entities import EntitySpan, merged_spans

_MIN_DIGITS = 3
_DIGIT = re.compile(r"\d")


def detect(conversation: ConversationText) -> dict[int, list[EntitySpan]]:
    """Return the entities by turn, in order and without overlaps; other turns are left out."""
    spans: dict[int, list[EntitySpan]] = {}
    turns_with_numbers = [
        turn for turn in range(len(conversation.turns)) if _has_number(conversation, turn)
    ]
    for speaker_text in conversation.speaker_texts(turns_with_numbers):
        for span in _number_spans(conversation, speaker_text):
            for turn, start, end in speaker_text.parts_by_turn(span.start, span.end):
                spans.setdefault(turn, []).append(EntitySpan(start, end, span.entity))
    numbered = frozenset(turns_with_numbers)
    for turn in range(len(conversation.turns)):
        for span in _text_spans(conversation, turn, turn in numbered):
            spans.setdefault(turn, []).append(span)
    names.add_repeated(conversation, spans)
    return {turn: merged_spans(turn_spans) for turn, turn_spans in spans.items()}


def _has_number(conversation: ConversationText, turn: int) -> bool:
    if _DIGIT.search(conversation.turns[turn].text):
        return True
    return not conversation.words(turn).isdisjoint(NUMBER_WORDS)


def _number_spans(
    conversation: ConversationText, speaker_text: SpeakerText
) -> Iterator[EntitySpan]:
    for run in digit_runs(speaker_text.text):
        if len(run.digits) < _MIN_DIGITS:
            continue
        cue = _cue_of(conversation, speaker_text, run)
        yield from personal_numbers.find(run, cue, speaker_text.text)


def _cue_of(
    conversation: ConversationText, speaker_text: SpeakerText, run: DigitRun
) -> NumberCue | None:
    turn, position = speaker_text.turn_at(run.start)
    return cue_after(speaker_text.text, run.end) or conversation.cue_at(turn, position)


def _text_spans(
    conversation: ConversationText, turn: int, has_number: bool
) -> Iterator[EntitySpan]:
    text, words = conversation.turns[turn].text, conversation.words(turn)
    if "@" in text or "at" in words:
        yield from emails.find(text, words)
    if has_number:
        yield from emails.find_ip_addresses(text)
        yield from personal_numbers.find_codes(text)
        yield from addresses.find(conversation, turn)
    if has_number or not words.isdisjoint(birth_dates.MONTHS):
        yield from birth_dates.find(conversation, turn)
    if not words.isdisjoint(personal_numbers.PASSWORD_WORDS):
        yield from personal_numbers.find_passwords(text)
    yield from names.find(conversation, turn)
