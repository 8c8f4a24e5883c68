"""Downloads of exports by signed URLs: whether a file may be served."""

from app.analytics import exporting
from app.core.runtime import Runtime
from app.core.storage import StoredObject


class ExportFiles:
    """Owns the objects whose ids begin with `exp_`; nobody uploads these."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def exists(self, object_id: str) -> bool:
        """Whether it is the file of an export that is ready."""
        with self._runtime.db.reading() as session:
            return exporting.is_offered(session, object_id)

    def mark_stored(self, object_id: str, stored: StoredObject) -> None:
        """Do nothing: no link takes an upload."""

    def reconcile(self, object_id: str) -> None:
        """Do nothing: no link takes an upload."""
