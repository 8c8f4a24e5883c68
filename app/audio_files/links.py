"""Absolute links to recordings: signed upload and download links, and the status link."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any, Self

from app.audio_files.enums import ContentType
from app.audio_files.models import AudioFile
from app.audio_files.stored_objects import PlayedObject
from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.core.secrets.signed_urls import Grant, UrlSigner
from app.core.storage.objects import Storage, Upload, UploadLink

CREATE, READ = "c", "r"
EXTENSIONS: Mapping[str, tuple[str, ...]] = {
    ContentType.WAV: (".wav", ".wave"),
    ContentType.MPEG: (".mp3",),
    ContentType.MP4: (".m4a", ".mp4", ".3gp"),
    ContentType.OGG: (".ogg", ".oga", ".opus"),
    ContentType.FLAC: (".flac",),
    ContentType.WEBM: (".webm", ".weba"),
}


@dataclass(frozen=True, slots=True)
class RecordingLinks:
    """Builds links below a base URL; upload and download links expire after `ttl_s` seconds."""

    signer: UrlSigner
    storage: Storage | None
    base: str
    ttl_s: int

    @classmethod
    def of(cls, runtime: Runtime, base: str, *, holder: str = "", direct: bool = True) -> Self:
        """Return the links of a runtime.

        Args:
            holder: id of the key or person that gets the links.
            direct: whether uploads may go straight to the storage, where it takes them.
        """
        storage = runtime.storage if direct else None
        signer = runtime.urls.for_holder(holder) if holder else runtime.urls
        return cls(signer, storage, base, runtime.settings.url_ttl_s)

    def expiry(self) -> datetime:
        """Return when a link that is built now expires, in the whole seconds that are signed."""
        return (utc_now() + timedelta(seconds=self.ttl_s)).replace(microsecond=0)

    def upload(self, audio: AudioFile, expires_at: datetime) -> UploadLink:
        upload = Upload(
            audio.id, audio.content_type, audio.size_bytes, audio.sha256 or "", expires_at
        )
        link = self.storage and self.storage.upload_link(upload)
        return link or UploadLink(self._taking(upload), {"Content-Type": audio.content_type})

    def side(self, object_id: str, expires_at: datetime, side: Mapping[str, Any]) -> dict[str, Any]:
        """Return the link for the upload of one side of a call, which this service takes itself."""
        sha256 = side.get("sha256") or ""
        upload = Upload(object_id, side["content_type"], side["size_bytes"], sha256, expires_at)
        return {
            "upload_url": self._taking(upload),
            "method": "PUT",
            "headers": {"Content-Type": upload.content_type},
            "max_size_bytes": upload.size_bytes,
        }

    def download(
        self, audio: AudioFile, expires_at: datetime, copy: PlayedObject | None = None
    ) -> str:
        """Return the link that downloads the recording, or a copy of it, under its file name."""
        stored = copy or PlayedObject(audio.id, audio.size_bytes, audio.content_type)
        grant = Grant(
            permission=READ,
            object_id=stored.object_id,
            expires_at=expires_at,
            content_type=stored.content_type,
            size_bytes=stored.size_bytes,
            file_name=file_name_of(audio, copy) if copy else _with_extension(audio),
            sha256=stored.version,
        )
        return self.base + self.signer.path_for(grant)

    def status(self, audio_file_id: str) -> str:
        return f"{self.base}/api/v1/audio-files/{audio_file_id}/processing-status"

    def _taking(self, upload: Upload) -> str:
        """Return the link at which this service takes an upload itself."""
        return self.base + self.signer.path_for(Grant(permission=CREATE, **asdict(upload)))


def file_name_of(audio: AudioFile, copy: PlayedObject | None) -> str:
    """Return the name under which a recording or its muted copy is shown."""
    return audio.file_name if copy is None else f"{PurePath(audio.file_name).stem}.muted.m4a"


def _with_extension(audio: AudioFile) -> str:
    """Return the file name with an extension of its type, so that it cannot pose as another type."""
    extensions = EXTENSIONS[audio.content_type]
    if audio.file_name.casefold().endswith(extensions):
        return audio.file_name
    return audio.file_name + extensions[0]
