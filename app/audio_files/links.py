"""Links to a recording's bytes and to its progress, absolute, so that callers need not build any."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.audio_files.models import AudioFile
from app.core.clock import utc_now
from app.core.secrets.signed_urls import Grant, UrlSigner

CREATE, READ = "c", "r"
_ENDINGS = {
    "audio/wav": (".wav", ".wave"),
    "audio/mpeg": (".mp3",),
    "audio/mp4": (".m4a", ".mp4"),
    "audio/ogg": (".ogg", ".oga", ".opus"),
    "audio/flac": (".flac",),
    "audio/webm": (".webm", ".weba"),
}


@dataclass(frozen=True, slots=True)
class Links:
    """Makes links below one address; those to bytes are signed and end after `ttl_s` seconds."""

    signer: UrlSigner
    base: str
    ttl_s: int

    def expiry(self) -> datetime:
        """Return when a link that is made now ends: whole seconds, as its signed text has them."""
        return (utc_now() + timedelta(seconds=self.ttl_s)).replace(microsecond=0)

    def upload(self, audio: AudioFile, expires_at: datetime) -> str:
        """Return the link that takes the recording, once."""
        return self._signed(CREATE, audio, expires_at, sha256=audio.sha256 or "")

    def download(self, audio: AudioFile, expires_at: datetime) -> str:
        """Return the link that gives the recording as a file of its name."""
        return self._signed(READ, audio, expires_at, file_name=_with_ending(audio))

    def status(self, audio_file_id: str) -> str:
        """Return the link to the progress."""
        return f"{self.base}/api/v1/audio-files/{audio_file_id}/processing-status"

    def _signed(
        self,
        permission: str,
        audio: AudioFile,
        expires_at: datetime,
        *,
        file_name: str = "",
        sha256: str = "",
    ) -> str:
        grant = Grant(
            permission=permission,
            object_id=audio.id,
            expires_at=expires_at,
            content_type=audio.content_type,
            size_bytes=audio.size_bytes,
            file_name=file_name,
            sha256=sha256,
        )
        return self.base + self.signer.path_for(grant)


def _with_ending(audio: AudioFile) -> str:
    """Return the file's name with an ending of its type: a name may not pass it off as another."""
    endings = _ENDINGS[audio.content_type]
    if audio.file_name.casefold().endswith(endings):
        return audio.file_name
    return audio.file_name + endings[0]
