"""Stored objects of recordings: keeps their rows in step with the storage."""

from app.audio_files.uploads import lifecycle
from app.core.runtime import Runtime
from app.core.storage.objects import StoredObject


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
        """Record an upload that went straight to the storage, or that a crash interrupted."""
        with self._runtime.db.reading() as session:
            announced_bytes = lifecycle.awaited_bytes(session, object_id)
        if announced_bytes is None:
            return
        stored = self._runtime.storage.find(object_id)
        if stored is not None and stored.size_bytes > announced_bytes:
            self._runtime.storage.delete(object_id)
            with self._runtime.db.writing() as session:
                lifecycle.refuse_upload(session, object_id)
        elif stored is not None:
            self.mark_stored(object_id, stored)
