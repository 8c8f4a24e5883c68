"""Checks of a start: a process refuses a database that it cannot read or would damage."""

from app.core.database import key_checks
from app.core.database.schema_revision import is_at_head
from app.core.errors import ServiceUnavailable
from app.core.runtime import Runtime
from app.operations import stored_secrets


def require_usable(runtime: Runtime) -> None:
    """Check that the master keys are those of the database, and record the current one.

    A database that does not answer, or waits for `db upgrade`, is left to /health and to the
    worker, which waits for it.

    Raises:
        UnknownMasterKey: a master key is missing or is another one.
    """
    try:
        with runtime.db.reading() as session:
            if not is_at_head(session):
                return
            stored_secrets.require_readable(session, runtime.keyring)
            is_recorded = runtime.keyring.current_id in key_checks.recorded_values(session)
        if not is_recorded:
            with runtime.db.writing() as session:
                stored_secrets.require_readable(session, runtime.keyring)
                key_checks.record_current(session, runtime.keyring)
    except ServiceUnavailable:
        return
    finally:
        # The caller may fork; its children must not share a connection.
        runtime.db.engine.dispose()
