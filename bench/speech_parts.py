"""Benchmark of the parts of a transcription: bench.speech_parts FILE…

Prints the time for a minute of each recording with one and with two processor threads, and the
share of decoding, of finding speech, of the encoder, of the decoder and of word times.
"""

import argparse
import cProfile
import os
import pstats
import time
from pathlib import Path

from app.speech.transcriber import Transcriber, TranscriptionOptions, build_transcriber

# The functions that do the work of each part: compiled ones, as far as the profiler sees them.
_PARTS = {
    "<built-in method onnxruntime.capi.onnxruntime_pybind11_state.run>": "finding speech",
    "<built-in method ctranslate2._ext.encode>": "encoder",
    "<built-in method ctranslate2._ext.generate>": "decoder",
    "generate_with_fallback": "decoder",
    "<built-in method ctranslate2._ext.align>": "word times",
}
_DECODING, _REST = "decoding", "rest"
_COLUMNS = (_DECODING, *dict.fromkeys(_PARTS.values()), _REST)


def main() -> None:
    """Transcribe every file with one and with two threads, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.speech_parts", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--model-dir", type=Path, help="another converted Whisper model")
    arguments = parser.parse_args()
    print(f"{'file':28} threads  s/min  CPU s/min  " + "  ".join(_COLUMNS))
    for threads in (1, 2):
        transcriber = build_transcriber(model_dir=arguments.model_dir, cpu_threads=threads)
        _transcribe(transcriber, arguments.files[0])  # loads the model
        for file in arguments.files:
            _print(file, threads, transcriber)


def _print(file: Path, threads: int, transcriber: Transcriber) -> None:
    passed = time.perf_counter()
    profile = cProfile.Profile(time.process_time)
    before = os.times()
    minutes = profile.runcall(_transcribe, transcriber, file)
    after = os.times()
    passed = time.perf_counter() - passed
    used = dict.fromkeys(_COLUMNS, 0.0)
    used[_DECODING] = _of_children(after) - _of_children(before)
    for (_, _, function), (_, _, own_s, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if function in _PARTS:
            used[_PARTS[function]] += own_s
    total = sum(after[:4]) - sum(before[:4])
    used[_REST] = total - sum(used.values())
    shares = "  ".join(f"{used[part] / total:{len(part)}.0%}" for part in _COLUMNS)
    figures = f"{threads:7} {passed / minutes:6.1f} {total / minutes:10.1f}"
    print(f"{file.name:28} {figures}  {shares}", flush=True)


def _transcribe(transcriber: Transcriber, file: Path) -> float:
    """Transcribe a file and return its length in minutes."""
    transcript = transcriber.transcribe(file, TranscriptionOptions(), progress=lambda share: None)
    return (transcript.duration_ms or 0) / 60_000


def _of_children(times: os.times_result) -> float:
    return times.children_user + times.children_system


if __name__ == "__main__":
    main()
