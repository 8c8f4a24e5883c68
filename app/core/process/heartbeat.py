"""Heartbeat of the worker: a file in the data folder that it touches and /health reads."""

import time
from pathlib import Path

SILENT_AFTER_S = 15.0
_FILE = "worker.beat"


def beat(data_dir: Path) -> None:
    """Record that the worker is alive."""
    (data_dir / _FILE).touch(mode=0o600)


def stop(data_dir: Path) -> None:
    """Record that the worker has ended properly."""
    (data_dir / _FILE).unlink(missing_ok=True)


def is_alive(data_dir: Path) -> bool:
    """Whether a worker has touched the file in the last 15 seconds."""
    try:
        touched_at = (data_dir / _FILE).stat().st_mtime
    except FileNotFoundError:
        return False
    return abs(time.time() - touched_at) < SILENT_AFTER_S
