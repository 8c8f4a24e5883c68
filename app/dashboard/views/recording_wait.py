"""Sentences about the recordings that wait for their transcription."""

import math
from datetime import timedelta

from app.audio_files.processing.expected_wait import ExpectedWait
from app.dashboard.views.formatting import number
from app.dashboard.views.times import rounded_length


def sentences_of(expected: ExpectedWait) -> str:
    """Say how many recordings wait, how long they are, and when they will be done, if known."""
    is_one = expected.recordings == 1
    subject = "1 recording waits" if is_one else f"{number(expected.recordings)} recordings wait"
    if expected.audio is None:
        return f"{subject} to be transcribed."
    minutes = math.ceil(expected.audio / timedelta(minutes=1))
    unit = "minute" if minutes == 1 else "minutes"
    text = f"{subject} to be transcribed, about {number(minutes)} {unit} of audio."
    if expected.pace is None or expected.wait is None:
        return text
    pace = number(expected.pace, 0 if expected.pace >= 10 else 1)
    return (
        f"{text} The last ones were transcribed {pace} times as fast as they play: at this pace"
        f" it takes about {rounded_length(expected.wait)}."
    )
