"""Recognition of the words in one speech region with the Whisper model."""

import math
from dataclasses import dataclass
from typing import Any

from app.ai.speech.decoding.output import SAMPLE_RATE_HZ
from app.ai.speech.errors import ProviderUnavailable
from app.ai.speech.recording import Sound
from app.ai.speech.speech_model import SpeechModel
from app.ai.speech.speech_regions import Region
from app.ai.transcript import Word

# Above this, hold music became "Thank you."; no spoken segment of the measured calls was above.
_NO_SPEECH = 0.5
# Text that compresses better than this repeats itself: the model is in a loop.
_LOOP_RATIO = 2.4
_BEAM_SIZE = 5
# A region begins 250 ms before its speech, and the model tends to put the first word there. On
# composed calls this minimum halved the median error of turn starts (0.19 to 0.11 s).
_LEAD_S = 0.1


@dataclass(frozen=True, slots=True)
class Utterance:
    """About a sentence on one channel; times in ms from the start of the recording."""

    channel: int
    start_ms: int
    end_ms: int
    text: str
    confidence: float
    words: tuple[Word, ...]


def recognise(
    model: SpeechModel, sound: Sound, region: Region, *, language: str, word_timestamps: bool
) -> list[Utterance]:
    """Transcribe a region; segments that the model considers no speech are left out."""
    try:
        segments, _ = model.engine.transcribe(
            sound,
            language=language,
            beam_size=_BEAM_SIZE,
            vad_filter=False,
            condition_on_previous_text=False,
            word_timestamps=True,
        )
        utterances = [
            _placed(segment, region, word_timestamps)
            for segment in segments
            if segment.no_speech_prob <= _NO_SPEECH and segment.compression_ratio <= _LOOP_RATIO
        ]
    except RuntimeError as error:
        raise ProviderUnavailable from error
    return [utterance for utterance in utterances if utterance.text]


def _placed(segment: Any, region: Region, word_timestamps: bool) -> Utterance:
    """Convert a segment of the library: times in the recording, plain Python numbers."""
    earliest_s = _LEAD_S if region.start else 0.0

    def clock_ms(seconds: float) -> int:
        inside = min(max(earliest_s, float(seconds)), region.length / SAMPLE_RATE_HZ)
        return round((region.start / SAMPLE_RATE_HZ + inside) * 1000)

    start_ms = clock_ms(segment.start)
    words = tuple(
        Word(
            text=word.word.strip(),
            start_ms=clock_ms(word.start),
            end_ms=max(clock_ms(word.start), clock_ms(word.end)),
            confidence=round(float(word.probability), 4),
        )
        for word in segment.words or ()
    )
    return Utterance(
        channel=region.channel,
        start_ms=start_ms,
        end_ms=max(start_ms, clock_ms(segment.end)),
        text=segment.text.strip(),
        confidence=round(min(1.0, math.exp(float(segment.avg_logprob))), 4),
        words=words if word_timestamps else (),
    )
