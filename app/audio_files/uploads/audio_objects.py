"""Stored objects of recordings: keeps their rows in step with the storage."""

import hashlib
from pathlib import Path

from app.audio_files.uploads import lifecycle
from app.core.runtime import Runtime
from app.core.storage import StoredObject


class AudioObjects:
    """Handles stored objects whose ids begin with `aud_`; opens its own transactions."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def exists(self, object_id: str) -> bool:
        """Return whether the recording may be downloaded or uploaded."""
        with self._runtime.db.reading() as session:
            return lifecycle.exists(session, object_id)

    def mark_stored(self, object_id: str, stored: StoredObject) -> None:
        """Record a finished upload; raises `NotFound` if the recording was deleted."""
        with self._runtime.db.writing() as session:
            lifecycle.mark_uploaded(
                session, object_id, stored, redact=self._runtime.settings.redaction
            )

    def reconcile(self, object_id: str) -> None:
        """Record an upload that a crash interrupted between the file and the row."""
        with self._runtime.db.reading() as session:
            awaited = lifecycle.awaits_upload(session, object_id)
        path = self._runtime.storage.path(object_id) if awaited else None
        if path is not None:
            self.mark_stored(object_id, _stored_object(path))


def _stored_object(path: Path) -> StoredObject:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return StoredObject(file.tell(), digest.hexdigest())
