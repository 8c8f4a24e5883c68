"""Note of the last backup, for `doctor` and the System page."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson

from app.core.clock import utc_now

_FILE = "last-backup.json"


@dataclass(frozen=True, slots=True)
class LastBackup:
    made_at: datetime
    folder: str
    size_bytes: int


def note(data_dir: Path, folder: Path, size_bytes: int) -> None:
    """Remember a backup that was made now."""
    backup = LastBackup(utc_now(), str(folder), size_bytes)
    (data_dir / _FILE).write_bytes(orjson.dumps(backup))


def find(data_dir: Path) -> LastBackup | None:
    """Return the last backup, or None if none was made or its note is damaged."""
    try:
        fields = orjson.loads((data_dir / _FILE).read_bytes())
        return LastBackup(
            datetime.fromisoformat(fields["made_at"]), fields["folder"], fields["size_bytes"]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
