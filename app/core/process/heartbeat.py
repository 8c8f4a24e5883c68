"""The worker's sign of life: a file in the data folder that it touches and /health looks at."""

import time
from pathlib import Path

SILENT_AFTER_S = 15.0
_FILE = "worker.beat"


def beat(data_dir: Path) -> None:
    """Say that the worker is alive."""
    (data_dir / _FILE).touch(mode=0o600)


def stop(data_dir: Path) -> None:
    """Say that the worker has ended as it should."""
    (data_dir / _FILE).unlink(missing_ok=True)


def is_alive(data_dir: Path) -> bool:
    """Whether a worker has given a sign of life in the last 15 seconds."""
    try:
        touched_at = (data_dir / _FILE).stat().st_mtime
    except FileNotFoundError:
        return False
    return abs(time.time() - touched_at) < SILENT_AFTER_S
