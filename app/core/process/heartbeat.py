"""Heartbeats of processes: files in the data folder that they touch and others look at."""

import time
from pathlib import Path

SILENT_AFTER_S = 15.0
WORKER, SENDER = "worker", "sender"


def beat(data_dir: Path, process: str = WORKER) -> None:
    """Record that a process is alive."""
    _file(data_dir, process).touch(mode=0o600)


def stop(data_dir: Path, process: str = WORKER) -> None:
    """Record that a process has ended properly."""
    _file(data_dir, process).unlink(missing_ok=True)


def is_alive(data_dir: Path, process: str = WORKER) -> bool:
    """Whether a process has touched its file in the last 15 seconds."""
    try:
        touched_at = _file(data_dir, process).stat().st_mtime
    except FileNotFoundError:
        return False
    return abs(time.time() - touched_at) < SILENT_AFTER_S


def _file(data_dir: Path, process: str) -> Path:
    return data_dir / f"{process}.beat"
