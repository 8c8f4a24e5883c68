"""Calls of a telephone system, from a folder of pairs to evaluations, over HTTP: python -m bench.calls.

Starts a service, imports pairs of files with names of FreePBX, and prints for each call its language,
whether both sides have the right role, the share of wrong words, and the digits that are heard in the
recording and in its muted copy. Then: processor time and memory of the service with all its models.

The calls are composed of the sound of tests/data/audio. --sentences FOLDER adds a call for each language of
files such as fleurs-de-001.ogg, with what is said in fleurs-de-001.txt, which end in a card number.
"""

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import wave
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import requests

from app.speech.decoder import Sound, decode
from app.speech.decoding.sound import SAMPLE_RATE_HZ
from app.speech.transcriber import Transcriber, TranscriptionOptions, build_transcriber
from bench.service import free_port
from bench.speech import ErrorCounts
from tests.caller import Caller

AUDIO = Path("tests/data/audio")
CARD = AUDIO / "calls" / "card-number.stereo.ogg"
CALL = AUDIO / "calls" / "fx-call-2.stereo.wav"
AGENT, CUSTOMER = "agent", "customer"
_OTHER = {AGENT: CUSTOMER, CUSTOMER: AGENT}
_SAID_BEFORE_THE_CARD = {
    AGENT: "thank you for your patience please enter the number you wish to call please hold while i"
    " try that extension goodbye",
    CUSTOMER: "",
}
_SAID_IN_THE_CALL = {
    AGENT: "that pin is invalid for this conference there is currently one other participant in the"
    " conference you will now be placed into the conference",
    CUSTOMER: "if the reader will excuse me i will say nothing of my antecedents nor of the"
    " circumstances which led me to leave my native country the narrative would be tedious to him and"
    " painful to myself he might even have been made amiable himself",
}
_SILENT = 0.01
_MASK = re.compile(r"\[[A-Z_]+\]")
_PAUSE = np.zeros(SAMPLE_RATE_HZ // 2, np.float32)
_LOUD = np.float32(0.08)
_WAIT_S = 1800


@dataclass
class Call:
    """A call as two sides; `said` is what each says, where that is known."""

    language: str
    sides: dict[str, Sound]
    said: dict[str, str]
    name: str = ""


def main() -> None:
    """Import the calls into a new service, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.calls", description=__doc__)
    parser.add_argument("--sentences", type=Path, help="a folder of sentences that are read")
    sentences = parser.parse_args().sentences
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        calls = list(_calls(sentences))
        minutes = sum(map(_minutes, calls))
        with _Service(folder / "data") as service:
            for call in calls:
                _write(call, folder / "monitor")
            service.run(
                "import",
                str(folder / "monitor"),
                "--pairs",
                "--name-pattern",
                "freepbx",
                "--timezone",
                "UTC",
            )
            transcriber = build_transcriber(models_dir=folder / "data" / "speech-models")
            for call in calls:
                _print(call, service.client, transcriber)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = (used.ru_utime + used.ru_stime) / minutes
        print(f"{minutes:.1f} minutes of two channels; a minute takes the service {seconds:.1f} s")
        print(f"of processor time; its largest process takes {used.ru_maxrss / 1024:.0f} MB")


class _Service:
    """A service in a folder, with the client of its first key; it ends with the block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()

    def __enter__(self) -> "_Service":
        command = [sys.executable, "-m", "app.cli", "up", "--port", str(self._port)]
        self._process = subprocess.Popen(
            [*command, "--data-dir", str(self._folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        base = f"http://127.0.0.1:{self._port}"
        _wait_for(lambda: _is_up(base))
        written = (self._folder / "first-key.txt").read_text()
        key, secret = (re.findall(rf"{kind}_\w+", written)[0] for kind in ("cqek", "cqes"))
        self.client = Caller(base, key, secret)
        return self

    def __exit__(self, *error: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)

    def run(self, *arguments: str) -> None:
        """Run a command, which waits for the evaluations."""
        environment = {**os.environ, "CQE_DATA_DIR": str(self._folder)}
        command = [sys.executable, "-m", "app.cli", *arguments, "--wait"]
        subprocess.run(command, env=environment, check=True, timeout=_WAIT_S)


def _is_up(base: str) -> bool:
    try:
        return requests.get(f"{base}/health", timeout=5).ok
    except requests.RequestException:
        return False


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.5)


def _calls(sentences: Path | None) -> Iterator[Call]:
    for file, said in ((CARD, _SAID_BEFORE_THE_CARD), (CALL, _SAID_IN_THE_CALL)):
        agent, customer = _channels(file)
        yield Call("en", {AGENT: agent, CUSTOMER: customer}, said)
    by_language: dict[str, list[Path]] = defaultdict(list)
    for file in sorted(sentences.glob("*.ogg")) if sentences else ():
        by_language[file.stem.split("-")[1]].append(file)
    for language, files in by_language.items():
        yield _composed(language, files)


def _composed(language: str, files: Sequence[Path]) -> Call:
    """Let both sides read the sentences in turn; the customer ends with a card number."""
    said: dict[str, str] = {AGENT: "", CUSTOMER: ""}
    turns: list[tuple[str, Sound]] = []
    for index, file in enumerate(files):
        side = (AGENT, CUSTOMER)[index % 2]
        turns.append((side, _channels(file)[0]))
        said[side] += " " + file.with_suffix(".txt").read_text().strip()
    number = _channels(CARD)[1]
    heard = np.flatnonzero(np.abs(number) > _SILENT)
    turns.append((CUSTOMER, number[heard[0] : heard[-1]]))
    sides = {
        side: np.concatenate(
            [part for of, sound in turns for part in (sound if of == side else sound * 0, _PAUSE)]
        )
        for side in said
    }
    return Call(language, sides, said)


def _channels(file: Path) -> list[Sound]:
    with decode(file) as recording:
        sounds = [
            recording.read(channel, 0, recording.sample_count)
            for channel in range(recording.channels)
        ]
    return [sound * _LOUD / (np.sqrt(np.mean(sound**2)) or 1) for sound in sounds]


def _minutes(call: Call) -> float:
    return max(map(len, call.sides.values())) / SAMPLE_RATE_HZ / 60


def _write(call: Call, folder: Path) -> None:
    """Write both sides as FreePBX names those of a call that comes in by a queue."""
    folder.mkdir(exist_ok=True)
    number = 1_795_771_517 + len(list(folder.iterdir()))
    call.name = f"q-400-+442079460017-20261127-092517-{number}.12206"
    for side, sound in ((AGENT, "out"), (CUSTOMER, "in")):
        with wave.open(str(folder / f"{call.name}-{sound}.wav"), "wb") as file:
            file.setparams((1, 2, SAMPLE_RATE_HZ, 0, "NONE", ""))
            samples = np.clip(call.sides[side], -1, 1) * 32767
            file.writeframes(samples.astype("<i2").tobytes())


def _print(call: Call, client: Caller, transcriber: Transcriber) -> None:
    (audio,) = (row for row in _recordings(client) if row["fileName"] == f"{call.name}.wav")
    transcript = client.get(f"/audio-files/{audio['id']}/transcript").json()["data"]
    heard = dict.fromkeys(call.sides, "")
    for segment in transcript["segments"]:
        heard[segment["role"]] = heard.get(segment["role"], "") + " " + segment["text"]
    counts = {side: _errors(said, heard[side], call.language) for side, said in call.said.items()}
    wrong = sum(count.errors for count in counts.values()), sum(c.words for c in counts.values())
    swapped = [
        _errors(said, heard[_OTHER[side]], call.language) for side, said in call.said.items()
    ]
    is_right = sum(count.errors for count in swapped) > wrong[0]
    evaluation = client.get(f"/evaluations/{audio['evaluationId']}").json()["data"]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.m4a"
        link = client.get(f"/audio-files/{audio['id']}/download-url").json()["data"]
        copy.write_bytes(requests.get(link["downloadUrl"], timeout=60).content)
        options = TranscriptionOptions(language=call.language)
        muted = transcriber.transcribe(copy, options, progress=lambda share: None)
    print(
        f"{call.language}: found {audio['detectedLanguage']}, {transcript['model']};"
        f" sides {'right' if is_right else 'SWAPPED'}; {wrong[0]} of {wrong[1]} words wrong;"
        f" {evaluation['status']} by {evaluation['scorecardId']}; masked {transcript['redactionEntities']};"
        f" {sum(map(_digits, heard.values()))} digits in the transcript,"
        f" {sum(_digits(segment.text) for segment in muted.segments)} in the muted copy"
    )


def _errors(said: str, heard: str, language: str) -> ErrorCounts:
    counts = ErrorCounts()
    counts.add_text(said, _MASK.sub("", heard), language)
    return counts


def _digits(text: str) -> int:
    return sum(map(str.isdigit, text))


def _recordings(client: Caller) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get("/audio-files?pageSize=100").json()["data"]
    return rows


if __name__ == "__main__":
    main()
