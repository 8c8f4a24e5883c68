"""Settings: one frozen value; docs/settings.md says what each setting does."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from app.core import setting_parsers as read
from app.core.ip_addresses import Network
from app.core.setting_parsers import GroupRole, RateLimit, TokenPrices

EMBEDDED = "embedded"
# What a worker does; the keeper, one of all hosts, does what must be done once.
SENDER, KEEPER = "sender", "keeper"
ROLES = (SENDER, KEEPER, "audio", "evaluations", "imports", "exports", "erasures")
LOCAL = "local"
BASE = "base"
# Who may sign in with a password.
ALL = "all"
_STORAGE_CREDENTIALS = {
    "azure": ("CQE_STORAGE_SECRET",),
    "s3": ("CQE_STORAGE_ACCESS_KEY", "CQE_STORAGE_SECRET"),
}


class SettingsError(Exception):
    """Settings that cannot be used; the text names each of them and what it must be."""


def setting(
    default: Any, parse: Callable[[str], Any], *, zero: str = "", secret: bool = False
) -> Any:
    """Declare a setting; `variable_of` names its variable.

    Args:
        parse: makes a value of the variable's text, or raises `ValueError`.
        zero: the meaning of 0, if it is not an amount.
        secret: whether the value is left out of the printed settings.
    """
    return field(default=default, metadata={"parse": parse, "zero": zero}, repr=not secret)


def variable_of(declared: Field[Any]) -> str:
    """Return the variable of a setting: CQE_URL_TTL_SECONDS of `url_ttl_s`."""
    return f"CQE_{re.sub('_s$', '_seconds', declared.name)}".upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting with its default and its parser; `variable_of` names its variable."""

    # Places
    data_dir: Path = setting(Path("instance"), read.path)
    database_url: str = setting(
        "", read.starting_with("sqlite:///", "postgresql://", "postgresql+psycopg://"), secret=True
    )
    sqlite_synchronous: str = setting("FULL", read.one_of("FULL", "NORMAL"))
    redis_url: str = setting("", read.redis_url, secret=True)
    storage_url: str = setting("", read.storage_url)
    storage_access_key: str = setting("", read.header_token, secret=True)
    storage_secret: str = setting("", read.header_token, secret=True)
    min_free_gb: float = setting(1.0, read.amount)

    # Processes
    host: str = setting("127.0.0.1", read.header_token)
    port: int = setting(8000, read.whole(1, 65535))
    workers: int = setting(2, read.whole(1, 256))
    threads: int = setting(8, read.whole(1, 256))
    worker_processes: int = setting(
        0, read.whole(0, 256), zero="one for every two cores, four at most"
    )
    analytics_memory_mb: int = setting(256, read.whole(32, 1_000_000))
    analytics_threads: int = setting(2, read.whole(1, 256))
    host_id: str = setting("", read.host_id)
    worker_roles: tuple[str, ...] = setting(ROLES, read.some_of(*ROLES))
    metrics_listen: tuple[str, int] | None = setting(None, read.listen_address)
    traces_url: str = setting("", read.http_url)
    traces_ratio: float = setting(0.1, read.share)
    log_level: str = setting("INFO", read.one_of("DEBUG", "INFO", "WARNING", "ERROR"))
    log_format: str = setting("auto", read.one_of("auto", "plain", "json"))

    # Callers
    public_url: str = setting("", read.http_url)
    master_keys: str = setting("", str, secret=True)
    trusted_proxies: tuple[Network, ...] = setting((), read.networks)
    cors_origins: tuple[str, ...] = setting((), read.origins)
    require_tls: str = setting("auto", read.one_of("auto", "1", "0"))
    signature_window_s: int = setting(300, read.whole(1, 86_400))
    rate_limit_default: RateLimit = setting(RateLimit(600, 60), read.rate)
    rate_limit_expensive: RateLimit = setting(RateLimit(20, 60), read.rate)
    rate_limit_keys: RateLimit = setting(RateLimit(30, 60), read.rate)
    rate_limit_auth_failures: RateLimit = setting(RateLimit(60, 60), read.rate)
    engagement_types: tuple[str, ...] = setting((), read.labels)

    # Dashboard
    dashboard: bool = setting(True, read.boolean)
    session_idle_s: int = setting(43_200, read.whole(60, read.YEAR_S))
    session_max_s: int = setting(604_800, read.whole(60, read.YEAR_S))
    dispute_days: int = setting(14, read.whole(0, 3650), zero="agents cannot dispute")
    agents_see_reviewers: bool = setting(False, read.boolean)
    rate_limit_sign_in: RateLimit = setting(RateLimit(10, 600), read.rate)
    password_sign_in: str = setting(ALL, read.one_of(ALL, "admins"))
    second_factor_roles: tuple[str, ...] = setting((), read.some_of(*read.PERSON_ROLES))
    proxy_user_header: str = setting("", read.header_name)
    oidc_issuer: str = setting("", read.issuer)
    oidc_client_id: str = setting("", read.header_token)
    oidc_client_secret: str = setting("", read.header_token, secret=True)
    oidc_scopes: str = setting("openid profile email", read.oidc_scopes)
    oidc_groups: tuple[GroupRole, ...] = setting((), read.group_roles)
    oidc_groups_claim: str = setting("groups", read.header_token)
    oidc_new_accounts: bool = setting(False, read.boolean)
    oidc_ca_bundle: str = setting("", read.certificates)

    # Plan
    plan_tier: str = setting("self-hosted", str)
    plan_calls: int = setting(1_000_000, read.whole(0))
    plan_webhooks: int = setting(100_000, read.whole(0))
    plan_storage_gb: float = setting(100.0, read.amount)
    plan_storage_enforced: bool = setting(False, read.boolean)

    # Webhooks
    webhook_allowed_cidrs: tuple[Network, ...] = setting((), read.networks)
    webhook_allow_http: bool = setting(False, read.boolean)
    webhook_ca_bundle: str = setting("", read.certificates)
    webhook_retry_delays: tuple[float, ...] = setting((60.0, 300.0), read.retry_delays)
    webhook_timeout_s: float = setting(10.0, read.seconds)
    webhook_deactivate_after_s: float = setting(604_800.0, read.seconds)

    # Recordings
    upload_max_bytes: int = setting(2 * 1024**3, read.whole(1, 10**12))
    audio_max_duration_s: int = setting(4 * 3600, read.whole(1, 604_800))
    url_ttl_s: int = setting(900, read.whole(1, 86_400))
    speech_model_dir: str = setting("", read.existing_dir)
    speech_model: str = setting("auto", read.one_of("auto", BASE))
    speech_threads: int = setting(2, read.whole(1, 256))
    transcriber: str = setting(LOCAL, read.one_of(LOCAL, "openai"))
    transcriber_url: str = setting(
        "", read.model_url("/audio/transcriptions", "CQE_TRANSCRIBER_KEY")
    )
    transcriber_model: str = setting("", str)
    transcriber_key: str = setting("", read.header_token, secret=True)
    transcriber_ca_bundle: str = setting("", read.certificates)
    transcriber_timeout_s: float = setting(300.0, read.seconds)
    transcriber_fallback: str = setting("none", read.one_of("none", LOCAL))

    # The judge and its language model
    judge: str = setting(EMBEDDED, read.one_of(EMBEDDED, "openai", "hybrid"))
    judge_fast: bool = setting(False, read.boolean)
    evaluation_cpu_s: float = setting(60.0, read.seconds)
    judge_url: str = setting("", read.model_url("/chat/completions", "CQE_JUDGE_API_KEY"))
    judge_model: str = setting("", str)
    judge_api_key: str = setting("", read.header_token, secret=True)
    judge_ca_bundle: str = setting("", read.certificates)
    judge_timeout_s: float = setting(60.0, read.seconds)
    judge_deadline_s: float = setting(150.0, read.seconds)
    judge_concurrency: int = setting(4, read.whole(1, 256))
    judge_input_tokens: int = setting(24_000, read.whole(500, 10_000_000))
    judge_output_tokens: int = setting(4_000, read.whole(500, 10_000_000))
    judge_prices: TokenPrices | None = setting(None, read.token_prices)
    judge_mask: bool = setting(True, read.boolean)

    # Personal data
    redaction: bool = setting(True, read.boolean)
    retention_texts_days: int = setting(0, read.days(0), zero="for ever")
    retention_audio_days: int = setting(0, read.days(0), zero="for ever")
    keep_original_sound: bool = setting(True, read.boolean)
    retention_original_sound_days: int = setting(0, read.days(0), zero="for ever")
    retention_raw_texts_days: int = setting(0, read.days(0), zero="for ever")
    retention_deliveries_days: int = setting(30, read.days(1))
    retention_model_answers_days: int = setting(30, read.days(1))
    retention_coaching_days: int = setting(0, read.days(0), zero="kept for ever")
    retention_assignments_days: int = setting(0, read.days(0), zero="kept for ever")
    retention_audit_days: int = setting(365, read.days(1))

    @classmethod
    def from_env(cls, environment: Mapping[str, str]) -> "Settings":
        """Read every known CQE_ variable that is not empty.

        Raises:
            SettingsError: one line for each setting that cannot be used.
        """
        values: dict[str, Any] = {}
        problems: list[str] = []
        for declared in fields(cls):
            variable = variable_of(declared)
            if text := environment.get(variable, ""):
                try:
                    values[declared.name] = declared.metadata["parse"](text)
                except ValueError as error:
                    problems.append(f"{variable}: {error}")
        settings = cls(**values)
        for switch, value, default in (
            ("CQE_JUDGE", settings.judge, EMBEDDED),
            ("CQE_TRANSCRIBER", settings.transcriber, LOCAL),
        ):
            problems += [
                f"{variable}: must be set when {switch} is {value}"
                for variable in (f"{switch}_URL", f"{switch}_MODEL")
                if value != default and not environment.get(variable)
            ]
        scheme = settings.storage_url.partition(":")[0]
        problems += [
            f"{variable}: must be set when CQE_STORAGE_URL begins with {scheme}:"
            for variable in _STORAGE_CREDENTIALS.get(scheme, ())
            if not environment.get(variable)
        ]
        if scheme == "azure" and not read.is_base64(settings.storage_secret):
            problems.append(
                "CQE_STORAGE_SECRET: must be an access key of the storage account, which is base64"
            )
        problems += settings._sign_in_problems()
        if problems:
            raise SettingsError("\n".join(problems))
        return settings

    def _sign_in_problems(self) -> list[str]:
        has_provider = bool(self.oidc_issuer)
        lacking = {
            "CQE_OIDC_CLIENT_ID: must be set when CQE_OIDC_ISSUER is": (
                has_provider and not self.oidc_client_id
            ),
            "CQE_OIDC_ISSUER: must be set when CQE_OIDC_CLIENT_ID is": (
                bool(self.oidc_client_id) and not has_provider
            ),
            "CQE_OIDC_GROUPS: must be set when CQE_OIDC_NEW_ACCOUNTS is on, to give them a role": (
                self.oidc_new_accounts and not self.oidc_groups
            ),
            "CQE_TRUSTED_PROXIES: must be set when CQE_PROXY_USER_HEADER is": (
                bool(self.proxy_user_header) and not self.trusted_proxies
            ),
            "CQE_PASSWORD_SIGN_IN: must be all unless CQE_OIDC_ISSUER or CQE_PROXY_USER_HEADER is set": (
                self.password_sign_in != ALL and not (has_provider or self.proxy_user_header)
            ),
        }
        return [sentence for sentence, is_lacking in lacking.items() if is_lacking]

    @property
    def most_worker_processes(self) -> int:
        """The most worker processes for each kind of work; by default one for every two cores.

        Four at most: a container sees all cores of its host, of which it may use a few.
        """
        return self.worker_processes or min(4, max(1, (os.cpu_count() or 1) // 2))

    @property
    def has_language_model(self) -> bool:
        """True if a language model judges, too."""
        return self.judge != EMBEDDED

    @property
    def effective_database_url(self) -> str:
        """The address in use: the one that is set, or SQLite in the data folder."""
        return self.database_url or f"sqlite:///{self.data_dir.resolve() / 'cqe.db'}"

    @property
    def sqlite_file(self) -> Path:
        return Path(self.effective_database_url.removeprefix("sqlite:///"))

    @property
    def min_free_bytes(self) -> int:
        """The free disk space below which nothing more is stored."""
        return round(self.min_free_gb * 1e9)

    @property
    def is_sqlite(self) -> bool:
        return not self.database_url.startswith("postgresql")


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """A setting as people may see it: a secret only says whether it is set."""

    variable: str
    text: str
    is_default: bool


def shown(settings: Settings) -> list[ShownSetting]:
    """Return every setting with its value, without secrets."""
    return [
        ShownSetting(
            variable_of(declared),
            _text_of(declared, getattr(settings, declared.name)),
            getattr(settings, declared.name) == declared.default,
        )
        for declared in fields(settings)
    ]


def _text_of(declared: Field[Any], value: Any) -> str:
    if not declared.repr:
        return "set" if value else "not set"
    if isinstance(value, bool):
        return "1" if value else "0"
    if value == 0 and (meaning := declared.metadata["zero"]):
        return f"0 ({meaning})"
    if isinstance(value, RateLimit):
        return f"{value.limit}/{value.window_s}"
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value)
    return "" if value is None else str(value)


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return a sentence about each CQE_ variable that is not a setting, with the nearest name."""
    variables = {variable_of(declared) for declared in fields(Settings)}
    unknown = sorted(
        name
        for name in environment
        # Clients of the API read CQE_CLIENT_ variables.
        if name.startswith("CQE_") and not name.startswith("CQE_CLIENT_") and name not in variables
    )
    sentences = []
    for name in unknown:
        nearest = get_close_matches(name, variables, n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else "docs/settings.md lists all settings."
        sentences.append(f"{name} is not a setting: {hint}")
    return sentences
