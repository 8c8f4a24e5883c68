"""What the signed URLs call: the bytes of a recording have arrived."""

import hashlib
from pathlib import Path

from app.audio_files import uploads
from app.core.runtime import Runtime
from app.core.storage import StoredObject


class Recordings:
    """Owns the objects whose ids begin with `aud_`; opens its own transactions."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def knows(self, object_id: str) -> bool:
        """Whether the row is there."""
        with self._runtime.db.reading() as session:
            return uploads.exists(session, object_id)

    def stored(self, object_id: str, stored: StoredObject) -> None:
        """Note a finished upload; `NotFound` when the row has gone."""
        with self._runtime.db.writing() as session:
            uploads.mark_uploaded(
                session, object_id, stored, redact=self._runtime.settings.redaction
            )

    def heal(self, object_id: str) -> None:
        """Note an upload that a crash cut off between the bytes and the row."""
        with self._runtime.db.reading() as session:
            awaited = uploads.awaits_bytes(session, object_id)
        path = self._runtime.storage.path(object_id) if awaited else None
        if path is not None:
            self.stored(object_id, _measured(path))


def _measured(path: Path) -> StoredObject:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return StoredObject(file.tell(), digest.hexdigest())
