"""Benchmark of the local transcriber on recordings with known words: bench.speech MANIFEST.

MANIFEST is a file of JSON lines, each with `file` (beside the manifest), `condition` and `text`;
stereo calls also have `turns` with `channel`, `start` (s) and `text`. An empty text means that
nobody speaks; lines whose text is null are left out. `language` is English where it is not given;
with --undeclared the model is not told.

python -m bench.speech --prompts es=FOLDER … measures the prompts of Asterisk: FOLDER has the sound
and core-sounds-es.txt, as the packages asterisk-core-sounds-es-wav and asterisk-core-sounds-es of
Debian do. --decoding FILE… compares decoding in a process of its own with decoding in
this one. --muted FILE… prints the digits that are heard in a recording and in its muted copy.
"""

import argparse
import json
import os
import resource
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import jiwer
from whisper_normalizer.basic import BasicTextNormalizer
from whisper_normalizer.english import EnglishTextNormalizer

from app.audio_files.muting import silences
from app.redaction.masking import mask_transcript
from app.speech.decoder import decode
from app.speech.decoding.reader import read
from app.speech.decoding.sound import DecodingLimits
from app.speech.transcriber import TranscriptionOptions, build_transcriber, decoded
from app.transcript import Transcript

_ENGLISH = "en"
_normal_english = EnglishTextNormalizer()
_normal = BasicTextNormalizer(remove_diacritics=True)
_LEAST_WORDS = 4


@dataclass
class ErrorCounts:
    """Errors and effort over the files of one condition."""

    files: int = 0
    words: int = 0
    errors: int = 0
    audio_s: float = 0.0
    cpu_s: float = 0.0

    def add_text(self, reference: str, heard: str, language: str) -> float:
        """Count the wrong words of one text, and return its own error rate."""
        normaliser = _normal_english if language == _ENGLISH else _normal
        normal = normaliser(reference)
        found = jiwer.process_words(normal, normaliser(heard) or " ")
        errors = found.substitutions + found.deletions + found.insertions
        self.words += len(normal.split())
        self.errors += errors
        return errors / max(1, len(normal.split()))

    @property
    def wer(self) -> float:
        """The share of wrong words."""
        return self.errors / self.words if self.words else 0.0

    @property
    def rtf(self) -> float:
        """Processor seconds for each second of sound."""
        return self.cpu_s / self.audio_s if self.audio_s else 0.0


@dataclass
class Report:
    # By language and condition; `found` are the languages of the transcripts by language.
    conditions: dict[tuple[str, str], ErrorCounts] = field(
        default_factory=lambda: defaultdict(ErrorCounts)
    )
    found: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    start_errors_s: list[float] = field(default_factory=list)
    wrong_roles: int = 0
    silent_files: int = 0
    silent_words: int = 0


def main() -> None:
    """Transcribe every line of the manifest and print the figures."""
    arguments = _arguments()
    if arguments.decoding:
        _compare_decoding(arguments.decoding)
        return
    if arguments.muted:
        _compare_muted(arguments.muted)
        return
    transcriber = build_transcriber(
        model_dir=arguments.model_dir,
        models_dir=arguments.base,
        always_base=arguments.base is not None and not arguments.both,
        cpu_threads=arguments.threads,
    )
    report = Report()
    for file, row in _rows(arguments):
        if row["text"] is None or (arguments.only and arguments.only not in row["file"]):
            continue
        cpu = time.process_time()
        language = row.setdefault("language", _ENGLISH)
        options = TranscriptionOptions(language=None if arguments.undeclared else language)
        transcript = transcriber.transcribe(file, options, progress=lambda share: None)
        report.found[language][transcript.language or "none"] += 1
        rate = _count(report, row, transcript, time.process_time() - cpu)
        if arguments.files:
            heard = " ".join(segment.text for segment in transcript.segments)
            print(f"{rate:6.1%}  {row['file']}: {heard}")
    _print(report)


def _rows(arguments: argparse.Namespace) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield each recording with what is known of it."""
    if arguments.manifest:
        for line in arguments.manifest.read_text().splitlines():
            row = json.loads(line)
            yield arguments.manifest.parent / row["file"], row
    for given in arguments.prompts:
        language, _, name = given.partition("=")
        yield from _prompts(Path(name), language)


def _prompts(folder: Path, language: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield prompts of some words; what is not said, and digits, which may be written out, are not."""
    for line in (folder / f"core-sounds-{language}.txt").read_text().splitlines():
        name, _, text = line.partition(": ")
        file = folder / f"{name}.wav"
        is_said = not line.startswith(";") and not set(text) & {*"[]()0123456789"}
        if is_said and len(text.split()) >= _LEAST_WORDS and file.is_file():
            row = {"file": f"prompts/{file.name}", "condition": language, "language": language}
            yield file, {**row, "text": text}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speech", description=__doc__)
    parser.add_argument("manifest", type=Path, nargs="?")
    parser.add_argument("--prompts", nargs="+", default=[], metavar="LANGUAGE=FOLDER")
    parser.add_argument("--undeclared", action="store_true", help="let the model find languages")
    parser.add_argument("--decoding", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--muted", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--model-dir", type=Path, help="another converted Whisper model")
    parser.add_argument("--base", type=Path, help="folder for the base model, which transcribes")
    parser.add_argument("--both", action="store_true", help="use it for other languages only")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="only files whose name holds this")
    parser.add_argument("--files", action="store_true", help="print what was heard in each file")
    arguments = parser.parse_args()
    if not (arguments.manifest or arguments.prompts or arguments.decoding or arguments.muted):
        parser.error("name a manifest, or files after --prompts, --decoding or --muted")
    return arguments


def _compare_decoding(files: list[Path]) -> None:
    """Print the median seconds of both ways: passed, and of the processor."""
    print(f"{'file':32} {'in process':>16} {'confined':>16} {'more':>16}")
    for file in files:
        inside, confined = _median_s(partial(_decode_here, file)), _median_s(partial(_decode, file))
        more = [after - before for before, after in zip(inside, confined, strict=True)]
        columns = (f"{passed:7.3f} {used:5.3f}cpu" for passed, used in (inside, confined, more))
        print(f"{file.name:32} {' '.join(f'{column:>16}' for column in columns)}")


def _compare_muted(files: list[Path]) -> None:
    """Print the digits and words that are heard in English recordings, and in their muted copies."""
    transcriber, options = build_transcriber(), TranscriptionOptions(language="en")
    transcribe = partial(transcriber.transcribe, options=options, progress=lambda share: None)
    for file in files:
        original = transcribe(file)
        masked, _ = mask_transcript(original)
        spans = list(silences(masked))
        with tempfile.TemporaryDirectory() as folder:
            with decoded(
                file,
                options,
                spool_dir=Path(folder),
                min_free_bytes=0,
                should_stop=lambda: False,
                silent=spans,
            ) as sound:
                copy = Path(folder) / "copy.m4a"
                copy.write_bytes(sound.play_copy.read() if sound.play_copy else b"")
            muted = transcribe(copy)
        silent_s = sum(end - start for start, end in spans) / 1000
        print(f"{file.name}: {len(spans)} stretches of {silent_s:.1f} s are silent")
        for name, transcript in (("original", original), ("muted copy", muted)):
            text = " ".join(segment.text for segment in transcript.segments)
            print(f"  {name}: {sum(map(str.isdigit, text))} digits, {len(text.split())} words")


def _decode_here(file: Path) -> None:
    with file.open("rb") as source, tempfile.TemporaryFile() as spool:
        read(source, spool.write, content_type=None, limits=DecodingLimits())


def _decode(file: Path) -> None:
    with decode(file):
        pass


def _median_s(run: Callable[[], None], times: int = 15) -> tuple[float, float]:
    run()
    passed, used = [], []
    for _ in range(times):
        clock, processor = time.perf_counter(), sum(os.times()[:4])
        run()
        passed.append(time.perf_counter() - clock)
        used.append(sum(os.times()[:4]) - processor)
    return statistics.median(passed), statistics.median(used)


def _count(report: Report, row: dict[str, Any], transcript: Transcript, cpu_s: float) -> float:
    if not row["text"]:
        report.silent_files += 1
        report.silent_words += transcript.word_count
        return float(transcript.word_count)
    language, text = row["language"], row["text"]
    is_stereo = transcript.speaker_attribution == "channel" and "turns" in row
    condition = f"{row['file'].partition('/')[0]}, {row['condition']}"
    tally = report.conditions[language, "calls, each channel" if is_stereo else condition]
    if is_stereo:
        rate = _count_call(report, tally, row, transcript)
    else:
        heard = " ".join(segment.text for segment in transcript.segments)
        rate = tally.add_text(text, heard, language)
    tally.files += 1
    tally.audio_s += (transcript.duration_ms or 0) / 1000
    tally.cpu_s += cpu_s
    return rate


def _count_call(
    report: Report, tally: ErrorCounts, row: dict[str, Any], transcript: Transcript
) -> float:
    """Count each channel's words, and how far from each turn the nearest segment starts."""
    rates, turns = [], row["turns"]
    roles = {turn["channel"]: turn["role"] for turn in turns}
    for channel in sorted(roles):
        heard = [segment for segment in transcript.segments if segment.channel_index == channel]
        report.wrong_roles += sum(segment.role != roles[channel] for segment in heard)
        own_turns = [turn for turn in turns if turn["channel"] == channel]
        rates.append(
            tally.add_text(
                " ".join(turn["text"] for turn in own_turns),
                " ".join(segment.text for segment in heard),
                row["language"],
            )
        )
        starts = [(segment.start_ms or 0) / 1000 for segment in heard]
        for turn in own_turns:
            if starts:
                report.start_errors_s.append(min(abs(turn["start"] - start) for start in starts))
    return statistics.fmean(rates)


def _print(report: Report) -> None:
    print(f"{'language, condition':48} files  words    WER  CPU-RTF")
    for language, found in sorted(report.found.items()):
        rows = {name: row for (of, name), row in report.conditions.items() if of == language}
        for name, tally in (*sorted(rows.items()), ("all", _sum_of(rows.values()))):
            counts = f"{tally.files:5} {tally.words:6} {tally.wer:6.1%} {tally.rtf:8.3f}"
            print(f"{f'{language}, {name}':48} {counts}")
        print(f"{language}, language of the transcripts: {dict(found.most_common())}")
    if report.start_errors_s:
        ordered = sorted(report.start_errors_s)
        p90 = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
        print(f"turn start error: median {statistics.median(ordered):.2f} s, p90 {p90:.2f} s")
        print(f"segments with the wrong role: {report.wrong_roles}")
    print(f"words in {report.silent_files} files without speech: {report.silent_words}")
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory: {peak_kb / 1024:.0f} MB")


def _sum_of(tallies: Iterable[ErrorCounts]) -> ErrorCounts:
    rows = [astuple(tally) for tally in tallies]
    return ErrorCounts(*map(sum, zip(*rows, strict=True)))


if __name__ == "__main__":
    main()
