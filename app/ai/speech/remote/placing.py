"""Placing of a server's answer in the recording: each region of speech is a turn of its own."""

from itertools import groupby

from app.ai.speech.recogniser import Utterance
from app.ai.speech.remote.answers import AnsweredSegment, AnsweredTranscription, AnsweredWord
from app.ai.speech.remote.joined_speech import JoinedSpeech
from app.ai.transcript import Word


def placed(answer: AnsweredTranscription, sent: JoinedSpeech) -> list[Utterance]:
    """Return the utterances of an answer, with the times of the recording.

    A segment with words that runs over a pause between two regions becomes one utterance for each;
    one without words stays whole.
    """
    return [
        utterance
        for segment in answer.segments
        for utterance in (_of_words(segment, sent) if segment.words else [_whole(segment, sent)])
    ]


def _whole(segment: AnsweredSegment, sent: JoinedSpeech) -> Utterance:
    start_ms = sent.start_ms(segment.start)
    return Utterance(
        channel=sent.channel,
        start_ms=start_ms,
        end_ms=max(start_ms, sent.end_ms(segment.end)),
        text=segment.text,
        confidence=segment.confidence,
        words=(),
    )


def _of_words(segment: AnsweredSegment, sent: JoinedSpeech) -> list[Utterance]:
    def region_of(word: AnsweredWord) -> int:
        return sent.region_at((word.start + word.end) / 2)

    # Some servers give words without the punctuation of the text.
    texts_with_marks = segment.text.split()
    texts = iter(
        texts_with_marks
        if len(texts_with_marks) == len(segment.words)
        else [word.text for word in segment.words]
    )
    utterances = []
    for index, group in groupby(sorted(segment.words, key=region_of), region_of):
        words = tuple(
            Word(
                text=word.text,
                start_ms=sent.clock_ms(word.start, index),
                end_ms=sent.clock_ms(word.end, index),
                confidence=word.confidence,
            )
            for word in group
        )
        utterances.append(
            Utterance(
                channel=sent.channel,
                start_ms=words[0].start_ms,
                end_ms=words[-1].end_ms,
                text=" ".join(next(texts) for _ in words),
                confidence=segment.confidence,
                words=words,
            )
        )
    return utterances
