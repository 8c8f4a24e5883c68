"""Settings: one frozen value, read once from the environment, with a clear word on what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any

from app.core import setting_types as read
from app.core.judge_settings import JudgeSettings
from app.core.setting_fields import setting as _setting

Network = IPv4Network | IPv6Network


class SettingsError(Exception):
    """A setting has a value that cannot be used; the text names the setting and the mend."""


@dataclass(frozen=True, slots=True)
class Rate:
    """So many requests in so many seconds, as in `600/60`."""

    limit: int
    window_s: int


def _rate(text: str) -> Rate:
    return Rate(*read.rate(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(JudgeSettings):
    """Every setting, its variable, its default and its meaning; the README's table is made of these."""

    data_dir: Path = _setting(
        "CQE_DATA_DIR", Path("instance"), read.path, "Folder of everything that is kept"
    )
    database_url: str = _setting(
        "CQE_DATABASE_URL",
        "",
        read.database_url,
        "Empty: SQLite in the data folder; or postgresql://…",
    )
    redis_url: str = _setting(
        "CQE_REDIS_URL",
        "",
        read.redis_url,
        "Empty: the embedded queue; or redis://…, unix://…, none",
    )
    storage_url: str = _setting(
        "CQE_STORAGE_URL", "", read.storage_url, "Empty: file:// in the data folder"
    )
    public_url: str = _setting(
        "CQE_PUBLIC_URL", "", read.http_url, "Address that callers use, for links in answers"
    )
    host: str = _setting(
        "CQE_HOST", "127.0.0.1", read.text, "Address that the web server listens on"
    )
    port: int = _setting("CQE_PORT", 8000, read.port, "Port that the web server listens on")
    workers: int = _setting("CQE_WORKERS", 2, read.positive, "Web processes")
    threads: int = _setting("CQE_THREADS", 8, read.positive, "Threads of each web process")
    master_keys: str = _setting(
        "CQE_MASTER_KEYS",
        "",
        read.text,
        "id:base64 of 32 bytes, comma list, first encrypts; empty: a file",
    )
    trusted_proxies: tuple[Network, ...] = _setting(
        "CQE_TRUSTED_PROXIES", (), read.networks, "Proxies whose X-Forwarded-For is believed"
    )
    require_tls: str = _setting(
        "CQE_REQUIRE_TLS", "auto", read.tls_policy, "auto: plain HTTP from loopback only; 1; 0"
    )
    rate_limit_default: Rate = _setting(
        "CQE_RATE_LIMIT_DEFAULT", Rate(600, 60), _rate, "Requests/seconds of each key"
    )
    rate_limit_expensive: Rate = _setting(
        "CQE_RATE_LIMIT_EXPENSIVE", Rate(20, 60), _rate, "Exports, webhook tests, audio processing"
    )
    rate_limit_keys: Rate = _setting(
        "CQE_RATE_LIMIT_KEYS", Rate(30, 60), _rate, "Changes of API keys"
    )
    rate_limit_auth_failures: Rate = _setting(
        "CQE_RATE_LIMIT_AUTH_FAILURES", Rate(60, 60), _rate, "Failed authentications of one address"
    )
    signature_window_s: int = _setting(
        "CQE_SIGNATURE_WINDOW_SECONDS", 300, read.positive, "How far X-Timestamp may be off"
    )
    webhook_allowed_cidrs: tuple[Network, ...] = _setting(
        "CQE_WEBHOOK_ALLOWED_CIDRS", (), read.networks, "Internal networks that webhooks may reach"
    )
    webhook_allow_http: bool = _setting(
        "CQE_WEBHOOK_ALLOW_HTTP", False, read.boolean, "Webhooks over plain HTTP, for development"
    )
    webhook_ca_bundle: str = _setting(
        "CQE_WEBHOOK_CA_BUNDLE", "", read.existing_file, "File of certificates that webhooks trust"
    )
    webhook_retry_delays_s: tuple[float, ...] = _setting(
        "CQE_WEBHOOK_RETRY_DELAYS",
        (60.0, 300.0),
        read.seconds_list,
        "Waits before attempts 2 and 3",
    )
    webhook_timeout_s: float = _setting(
        "CQE_WEBHOOK_TIMEOUT_SECONDS", 10.0, read.seconds, "Whole time of one delivery attempt"
    )
    webhook_deactivate_after_s: float = _setting(
        "CQE_WEBHOOK_DEACTIVATE_AFTER_SECONDS",
        604800.0,
        read.seconds,
        "Failing this long switches off",
    )
    upload_max_bytes: int = _setting(
        "CQE_UPLOAD_MAX_BYTES", 2 * 1024**3, read.positive, "Largest recording"
    )
    audio_max_duration_s: int = _setting(
        "CQE_AUDIO_MAX_DURATION_SECONDS", 4 * 3600, read.positive, "Longest recording"
    )
    url_ttl_s: int = _setting(
        "CQE_URL_TTL_SECONDS", 900, read.url_ttl, "Life of signed upload and download URLs"
    )
    engagement_types: tuple[str, ...] = _setting(
        "CQE_ENGAGEMENT_TYPES", (), read.labels, "Closed list of engagement types; empty: any label"
    )
    plan_tier: str = _setting("CQE_PLAN_TIER", "self-hosted", read.text, "Name of the plan")
    plan_calls: int = _setting(
        "CQE_PLAN_CALLS", 1_000_000, read.count, "Calls included in a period"
    )
    plan_webhooks: int = _setting(
        "CQE_PLAN_WEBHOOKS", 100_000, read.count, "Webhook deliveries included in a period"
    )
    plan_storage_gb: float = _setting(
        "CQE_PLAN_STORAGE_GB", 100.0, read.amount, "Gigabytes of storage included in a period"
    )
    transcriber: str = _setting(
        "CQE_TRANSCRIBER", "embedded", read.transcriber, "Speech engine: embedded"
    )
    speech_model_dir: str = _setting(
        "CQE_SPEECH_MODEL_DIR", "", read.existing_dir, "Folder of another faster-whisper model"
    )
    speech_threads: int = _setting(
        "CQE_SPEECH_THREADS", 2, read.positive, "Processor threads of one transcription"
    )
    analytics_memory_mb: int = _setting(
        "CQE_ANALYTICS_MEMORY_MB",
        256,
        read.positive,
        "Memory that analytics may use in each process, in MB; more goes to the disk",
    )
    analytics_threads: int = _setting(
        "CQE_ANALYTICS_THREADS", 2, read.positive, "Processor threads of analytics in each process"
    )
    sqlite_synchronous: str = _setting(
        "CQE_SQLITE_SYNCHRONOUS",
        "FULL",
        read.synchronous,
        "FULL: an answer survives power loss; NORMAL",
    )
    worker_processes: int = _setting(
        "CQE_WORKER_PROCESSES", 1, read.positive, "Worker processes that transcribe and judge"
    )
    redaction: bool = _setting(
        "CQE_REDACTION", True, read.switch, "on: personal data in texts is masked; off"
    )
    retention_texts_days: int = _setting(
        "CQE_RETENTION_TEXTS_DAYS", 0, read.count, "Life of what was said and quoted; 0: for ever"
    )
    retention_audio_days: int = _setting(
        "CQE_RETENTION_AUDIO_DAYS", 0, read.count, "Life of recordings' bytes; 0: for ever"
    )
    retention_raw_texts_days: int = _setting(
        "CQE_RETENTION_RAW_TEXTS_DAYS", 0, read.count, "Life of unmasked texts; 0: for ever"
    )
    retention_deliveries_days: int = _setting(
        "CQE_RETENTION_DELIVERIES_DAYS", 30, read.positive, "Life of delivery histories"
    )
    metrics_listen: tuple[str, int] | None = _setting(
        "CQE_METRICS_LISTEN",
        None,
        read.listen_address,
        "host:port of /metrics for Prometheus, open to whoever reaches it; empty: off",
    )
    log_level: str = _setting(
        "CQE_LOG_LEVEL", "INFO", read.log_level, "DEBUG, INFO, WARNING or ERROR"
    )

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Settings":
        """Read every CQE_ variable that is known; raise `SettingsError` for a wrong value."""
        by_variable = {each.metadata["variable"]: each for each in fields(cls)}
        values: dict[str, Any] = {}
        for variable, text in environment.items():
            if variable not in by_variable or text == "":
                continue
            known = by_variable[variable]
            try:
                values[known.name] = known.metadata["parse"](text)
            except ValueError as error:
                raise SettingsError(f"{variable}: {error}") from error
        settings = cls(**values)
        if problem := settings.judge_problem():
            raise SettingsError(problem)
        return settings

    @property
    def effective_database_url(self) -> str:
        """The URL in use: the one that is set, or SQLite in the data folder."""
        return self.database_url or f"sqlite:///{self.data_dir.resolve() / 'cqe.db'}"

    @property
    def is_sqlite(self) -> bool:
        """Whether the main database is SQLite."""
        return self.effective_database_url.startswith("sqlite")


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """List the CQE_ variables that no setting reads: mistyped names, most likely."""
    known = {each.metadata["variable"] for each in fields(Settings)}
    return sorted(name for name in environment if name.startswith("CQE_") and name not in known)
