"""Tables of API keys and their credentials."""

from datetime import datetime

from sqlalchemy import JSON, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class ApiKey(Table):
    """One API key. Revoked keys are kept, so that their usage keeps a name."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    description: Mapped[str | None]
    key_prefix: Mapped[str]
    scopes: Mapped[list[str]] = mapped_column(JSON)
    ip_allowlist: Mapped[list[str]] = mapped_column(JSON)
    executive_ids: Mapped[list[str]] = mapped_column(JSON, default=list)
    call_center_ids: Mapped[list[str]] = mapped_column(JSON, default=list)
    campaign_ids: Mapped[list[str]] = mapped_column(JSON, default=list)
    signature_policy: Mapped[str]
    require_nonce: Mapped[bool]
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    rotated_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    version: Mapped[int] = mapped_column(default=1)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012 - SQLAlchemy reads it so

    def status_at(self, now: datetime) -> str:
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        return "active"


class Credential(Table):
    """One pair of key string and signing secret; rotation adds a pair."""

    __tablename__ = "api_key_credentials"

    id: Mapped[str] = mapped_column(primary_key=True)
    key_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id"), index=True)
    key_hash: Mapped[str] = mapped_column(unique=True)
    secret_sealed: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
