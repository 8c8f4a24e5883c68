"""Measures the naming of the agent's voice, with the roles of true conversations hidden: python -m bench.agent_voice.

Prints for each set how many conversations are answered, and how many of the answers are right. Nothing is
fitted to any of them. `--data` adds a folder of conversations as JSON lines; `--sound` transcribes the
stereo calls of tests/data/audio, whose channels then are two nameless voices.
"""

import argparse
import gzip
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import orjson

from app.core.settings import Settings
from app.judge.acts.agent_voice import with_named_agent
from app.speech.transcriber import TranscriptionOptions
from app.speech.transcribers import transcriber_of
from app.transcript import Participant, Role, Segment, Transcript
from bench.unseen import CONVERSATIONS
from training.acts.agent_voice import two_voices
from training.acts.labelled import LABELLED, talks_in
from training.examples import records_in

_CALLS = Path("tests/data/audio/calls")
_SIDES = (Role.AGENT.value, Role.CUSTOMER.value)
# Of a set of thousands, so many are taken.
_MOST = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of conversations as JSON lines")
    parser.add_argument("--sound", action="store_true", help="transcribe the stereo calls")
    options = parser.parse_args()
    talks = [talk for talk in talks_in() if talk.held_out]
    measure("held-out trades, voice", map(two_voices, (t for t in talks if t.channel == "voice")))
    measure("held-out trades, all", map(two_voices, talks))
    rows = [orjson.loads(row) for row in gzip.decompress(CONVERSATIONS.read_bytes()).splitlines()]
    unseen = [row for row in rows if "of" not in row]
    measure(
        "unseen, voice",
        map(call_of, (row["messages"] for row in unseen if row["channel"] == "voice")),
    )
    measure("unseen, all", map(call_of, (row["messages"] for row in unseen)))
    if options.sound:
        measure("stereo calls, transcribed", transcribed(sorted(_CALLS.glob("*.stereo.wav"))))
    fitted = {
        orjson.loads(row)["id"] for row in gzip.decompress(LABELLED.read_bytes()).splitlines()
    }
    for file in sorted(options.data.glob("*.jsonl")) if options.data else ():
        new = [record for record in records_in(file) if record["id"] not in fitted]
        step = max(1, len(new) // _MOST)
        measure(file.stem, map(call_of, (record["messages"] for record in new[::step])))


def measure(name: str, calls: Iterable[Transcript]) -> None:
    """Print how many of the calls are answered, and how many answers are right."""
    count = answered = right = 0
    for call in calls:
        if len({segment.role for segment in call.segments}) < len(_SIDES):
            continue
        count += 1
        named = with_named_agent(_nameless(call))
        roles = [segment.role for segment in named.segments]
        answered += Role.AGENT in roles
        right += roles == [segment.role for segment in call.segments]
    print(
        f"{name:28} {count:5} calls, answered {answered / count:6.1%}, "
        f"right {right / max(1, answered):6.1%} of these",
        flush=True,
    )


def call_of(messages: Sequence[dict[str, str]]) -> Transcript:
    """Make a call of two voices of messages; what others say is left out."""
    said = [
        (message.get("role") or message["side"], message["text"])
        for message in messages
        if (message.get("role") or message["side"]) in _SIDES and message["text"].strip()
    ]
    segments = tuple(
        Segment(f"seg_{index + 1:04d}", index, role, Role(role), text)
        for index, (role, text) in enumerate(said)
    )
    people = tuple(
        Participant(role, Role(role)) for role in dict.fromkeys(role for role, _ in said)
    )
    return Transcript(segments, people, language="en", speaker_attribution="diarized")


def transcribed(files: Sequence[Path]) -> Iterator[Transcript]:
    """Transcribe stereo calls with the agent on the left."""
    transcriber = transcriber_of(Settings(), spool_dir=Path(tempfile.gettempdir()))
    roles = {0: Role.AGENT, 1: Role.CUSTOMER}
    for file in files:
        options = TranscriptionOptions(language="en", channel_roles=roles)
        yield transcriber.transcribe(file, options, progress=lambda _: None)


def _nameless(call: Transcript) -> Transcript:
    """Hide the roles; the first who speaks is the first voice."""
    return replace(
        call,
        segments=tuple(replace(segment, role=Role.UNKNOWN) for segment in call.segments),
        participants=tuple(replace(person, role=Role.UNKNOWN) for person in call.participants),
    )


if __name__ == "__main__":
    main()
