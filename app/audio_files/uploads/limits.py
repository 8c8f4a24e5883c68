"""Limits of uploads: the size of one recording, the plan's storage, and the free disk space."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.audio_files import totals
from app.audio_files.enums import AudioStatus
from app.audio_files.models import AudioFile
from app.core.errors import Conflict, InvalidInput
from app.core.runtime import Runtime
from app.usage.plan import UsageMetric, plan_of

_RESERVED_BYTES = select(func.sum(AudioFile.size_bytes)).where(
    AudioFile.status == AudioStatus.PENDING_UPLOAD
)


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """Limits of uploads.

    Attributes:
        file_bytes: largest size of one recording.
        plan_bytes: largest size of all recordings; None for no limit.
        require_space: raises `DiskFull` if this many bytes do not fit on the disk.
    """

    file_bytes: int
    plan_bytes: int | None
    require_space: Callable[[int], None]

    def check(self, session: Session, size_bytes: int) -> None:
        """Refuse an upload that does not fit with the stored and reserved recordings.

        Raises:
            InvalidInput: the recording is too large.
            Conflict: the plan's storage is used up.
            DiskFull: too little disk space is free.
        """
        if size_bytes > self.file_bytes:
            message = f"sizeBytes must be at most {self.file_bytes}."
            raise InvalidInput.field("sizeBytes", message, code="RANGE")
        needed_bytes = size_bytes + (session.scalar(_RESERVED_BYTES) or 0)
        if (
            self.plan_bytes is not None
            and totals.stored_bytes(session) + needed_bytes > self.plan_bytes
        ):
            raise Conflict("The plan's storage is used up: delete recordings, or enlarge the plan.")
        self.require_space(needed_bytes)


def upload_limits(runtime: Runtime) -> UploadLimits:
    """Return the limits of the settings."""
    settings = runtime.settings
    plan_bytes = plan_of(settings).included[UsageMetric.STORAGE_GB]
    return UploadLimits(
        file_bytes=settings.upload_max_bytes,
        plan_bytes=plan_bytes if settings.plan_storage_enforced else None,
        require_space=runtime.storage.require_space,
    )
