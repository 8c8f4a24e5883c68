"""The languages of a transcript, told once and kept with it: as declared, else from its words."""

from dataclasses import replace

from app.ai.languages.detection import UNKNOWN, language_key, languages_of
from app.ai.transcript import Segment, Transcript


def with_languages(transcript: Transcript) -> Transcript:
    """Give each segment its language, and the transcript its main one where none was declared.

    What nothing speaks for stays None.
    """
    languages = languages_of(
        [segment.text for segment in transcript.segments],
        declared=transcript.language,
        known=[segment.language for segment in transcript.segments],
    )
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
