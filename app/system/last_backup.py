"""Note of the last backup, for `doctor` and the System page."""

from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import orjson

from app.core.clock import utc_now

_FILE = "last-backup.json"


@dataclass(frozen=True, slots=True)
class LastBackup:
    """The last complete backup of this data folder."""

    made_at: datetime
    folder: str
    size_bytes: int


def note(data_dir: Path, folder: Path, size_bytes: int) -> None:
    """Remember a backup that was made now."""
    made = LastBackup(utc_now(), str(folder), size_bytes)
    (data_dir / _FILE).write_bytes(orjson.dumps(asdict(made)))


def find(data_dir: Path) -> LastBackup | None:
    """Return the last backup; None if there was none, or its note is damaged."""
    try:
        noted = orjson.loads((data_dir / _FILE).read_bytes())
        return LastBackup(
            datetime.fromisoformat(noted["made_at"]), noted["folder"], noted["size_bytes"]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
