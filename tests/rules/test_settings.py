"""Settings: accepted values, and the messages about all others."""

import os
from dataclasses import fields
from pathlib import Path

import pytest

from app.core.setting_parsers import RateLimit, TokenPrices
from app.core.settings import Settings, SettingsError, unknown_variables, variable_of
from app.operations.environment import settings_here


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the settings of whoever runs the tests out."""
    for field in fields(Settings):
        monkeypatch.delenv(variable_of(field), raising=False)
    monkeypatch.chdir(tmp_path)


def installed_in(folder: Path, text: str) -> Path:
    """Make the folder look like a checkout, with a private .env file of this text."""
    (folder / "setup.cfg").touch()
    file = folder / ".env"
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_an_empty_environment_gives_the_defaults() -> None:
    assert Settings.from_env({}) == Settings()
    assert Settings().port == 8000
    assert Settings().is_sqlite


def test_an_empty_value_means_the_default() -> None:
    assert Settings.from_env({"CQE_PORT": ""}).port == 8000


PRIMARY = "postgresql://cqe:x@/cqe?host=a:5432&host=b:5432&target_session_attrs=read-write"


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("CQE_PORT", "9000", "port", 9000),
        ("CQE_RATE_LIMIT_DEFAULT", "10/1", "rate_limit_default", RateLimit(10, 1)),
        ("CQE_WEBHOOK_ALLOW_HTTP", "true", "webhook_allow_http", True),
        ("CQE_WEBHOOK_ALLOW_HTTP", "0", "webhook_allow_http", False),
        ("CQE_WEBHOOK_RETRY_DELAYS", "0.5, 1", "webhook_retry_delays", (0.5, 1.0)),
        ("CQE_ENGAGEMENT_TYPES", "audit,quality", "engagement_types", ("audit", "quality")),
        (
            "CQE_CORS_ORIGINS",
            "https://a.example,http://b:81",
            "cors_origins",
            ("https://a.example", "http://b:81"),
        ),
        ("CQE_LOG_LEVEL", "debug", "log_level", "DEBUG"),
        ("CQE_REDIS_URL", "none", "redis_url", "none"),
        ("CQE_REDIS_URL", "redis://:p@ss@[::1]:6379/0", "redis_url", "redis://:p@ss@[::1]:6379/0"),
        ("CQE_REDIS_URL", "unix:///run/q.sock?db=0", "redis_url", "unix:///run/q.sock?db=0"),
        ("CQE_DATABASE_URL", PRIMARY, "database_url", PRIMARY),
        ("CQE_JUDGE_URL", "http://[::1]:8080/v1/", "judge_url", "http://[::1]:8080/v1"),
        ("CQE_JUDGE_PRICES", "0.4/1.6", "judge_prices", TokenPrices(0.4, 1.6)),
        ("CQE_JUDGE_MASK", "0", "judge_mask", False),
        ("CQE_REDACTION", "OFF", "redaction", False),
        ("CQE_REQUIRE_TLS", "AUTO", "require_tls", "auto"),
        ("CQE_METRICS_LISTEN", "127.0.0.1:9464", "metrics_listen", ("127.0.0.1", 9464)),
        ("CQE_METRICS_LISTEN", "[::1]:9464", "metrics_listen", ("::1", 9464)),
    ],
)
def test_a_variable_is_read(variable: str, text: str, name: str, value: object) -> None:
    assert getattr(Settings.from_env({variable: text}), name) == value


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("CQE_HOST", "b\u00fcro"),
        ("CQE_PORT", "0"),
        ("CQE_PORT", "65536"),
        ("CQE_WORKERS", "100000"),
        ("CQE_AUDIO_MAX_DURATION_SECONDS", "999999999999999"),
        ("CQE_RETENTION_TEXTS_DAYS", "36501"),
        ("CQE_SESSION_MAX_SECONDS", "31536001"),
        ("CQE_WEBHOOK_RETRY_DELAYS", "60,1e20"),
        ("CQE_WEBHOOK_TIMEOUT_SECONDS", "31536001"),
        ("CQE_PORT", "\uff18\uff10"),
        ("CQE_WORKERS", "-1"),
        ("CQE_THREADS", "1.5"),
        ("CQE_RATE_LIMIT_DEFAULT", "600"),
        ("CQE_RATE_LIMIT_KEYS", "0/60"),
        ("CQE_WEBHOOK_ALLOW_HTTP", "yes"),
        ("CQE_METRICS_LISTEN", "9464"),
        ("CQE_JUDGE", "gpt"),
        ("CQE_JUDGE_URL", "api.example.com/v1"),
        ("CQE_JUDGE_URL", "https://me:secret@api.example.com/v1"),
        ("CQE_JUDGE_URL", "https://api.example.com/v1/chat/completions"),
        ("CQE_JUDGE_API_KEY", "sk two"),
        ("CQE_JUDGE_API_KEY", "sk\nX-Other: 1"),
        ("CQE_JUDGE_INPUT_TOKENS", "499"),
        ("CQE_JUDGE_PRICES", "0.4"),
        ("CQE_METRICS_LISTEN", ":9464"),
        ("CQE_METRICS_LISTEN", "::1:9464"),
        ("CQE_METRICS_LISTEN", "127.0.0.1:0"),
        ("CQE_WEBHOOK_ALLOWED_CIDRS", "10.0.0.1/8"),
        ("CQE_WEBHOOK_ALLOWED_CIDRS", "localhost"),
        ("CQE_TRUSTED_PROXIES", "::ffff:10.0.0.0/104"),
        ("CQE_WEBHOOK_RETRY_DELAYS", "60"),
        ("CQE_WEBHOOK_RETRY_DELAYS", "nan,1"),
        ("CQE_WEBHOOK_TIMEOUT_SECONDS", "0"),
        ("CQE_WEBHOOK_CA_BUNDLE", "/nowhere/ca.pem"),
        ("CQE_WEBHOOK_CA_BUNDLE", __file__),
        ("CQE_URL_TTL_SECONDS", "86401"),
        ("CQE_DATABASE_URL", "mysql://db"),
        ("CQE_REDIS_URL", "http://queue"),
        ("CQE_REDIS_URL", "redis://:secret@queue:66000/0"),
        ("CQE_DATABASE_URL", "postgresql://cqe:secret@db:port/cqe"),
        ("CQE_STORAGE_URL", "ftp://files"),
        ("CQE_STORAGE_URL", "file://files"),
        ("CQE_DATA_DIR", "~nobody-of-this-name/cqe"),
        ("CQE_STORAGE_URL", "azure://account"),
        ("CQE_STORAGE_URL", "s3://calls?endpoint=files.example.com"),
        ("CQE_STORAGE_URL", "s3://calls?secret=x"),
        ("CQE_PUBLIC_URL", "cqe.example.com"),
        ("CQE_PUBLIC_URL", "https://cqe.example.com/?next=@x"),
        ("CQE_PUBLIC_URL", "https://cqe.example.com#@x"),
        ("CQE_PUBLIC_URL", "https://cqe.example.com:66000"),
        ("CQE_PUBLIC_URL", "https://cqe.exa mple.com"),
        ("CQE_PUBLIC_URL", "https://cqe.example.com/\u00e4"),
        ("CQE_PUBLIC_URL", "https://[::1"),
        ("CQE_CORS_ORIGINS", "*"),
        ("CQE_CORS_ORIGINS", "https://crm.example.com/"),
        ("CQE_CORS_ORIGINS", "https://CRM.example.com"),
        ("CQE_PLAN_STORAGE_GB", "inf"),
        ("CQE_JUDGE", "oracle"),
        ("CQE_REQUIRE_TLS", "maybe"),
        ("CQE_LOG_LEVEL", "LOUD"),
    ],
)
def test_a_wrong_value_is_named(variable: str, text: str) -> None:
    with pytest.raises(SettingsError, match=f"^{variable}: ") as refused:
        Settings.from_env({variable: text})
    assert "secret" not in str(refused.value)


def test_a_judge_needs_its_endpoint_and_its_key_is_never_printed() -> None:
    known = {"CQE_JUDGE": "hybrid", "CQE_JUDGE_URL": "http://127.0.0.1:1/v1"}
    with pytest.raises(SettingsError, match=r"^CQE_JUDGE_MODEL: "):
        Settings.from_env(known)
    settings = Settings.from_env({**known, "CQE_JUDGE_MODEL": "m", "CQE_JUDGE_API_KEY": "sk-7"})
    assert settings.judge_api_key == "sk-7"
    assert "sk-7" not in repr(settings)
    with pytest.raises(SettingsError) as refusal:
        Settings.from_env({"CQE_JUDGE_API_KEY": "sk 7"})
    assert "sk 7" not in str(refusal.value)


def test_an_object_storage_needs_its_credentials() -> None:
    with pytest.raises(SettingsError) as refusal:
        Settings.from_env({"CQE_STORAGE_URL": "s3://calls/some?region=eu-central-1"})
    assert str(refusal.value).splitlines() == [
        "CQE_STORAGE_ACCESS_KEY: must be set when CQE_STORAGE_URL begins with s3:",
        "CQE_STORAGE_SECRET: must be set when CQE_STORAGE_URL begins with s3:",
    ]
    azure = {"CQE_STORAGE_URL": "azure://acme/calls", "CQE_STORAGE_SECRET": "a2V5"}
    assert "a2V5" not in repr(Settings.from_env(azure))


@pytest.mark.parametrize(
    ("variable", "url", "text"),
    [
        ("CQE_STORAGE_SECRET", "azure://acme/calls", "not-base64"),
        ("CQE_STORAGE_SECRET", "azure://acme/calls", "a2V5\n"),
        ("CQE_STORAGE_SECRET", "s3://calls", "two words"),
        ("CQE_STORAGE_ACCESS_KEY", "s3://calls", "AKIA\nX"),
    ],
)
def test_a_malformed_credential_is_named_and_not_repeated(
    variable: str, url: str, text: str
) -> None:
    known = {"CQE_STORAGE_ACCESS_KEY": "AKIA", "CQE_STORAGE_SECRET": "secret"}
    with pytest.raises(SettingsError) as refusal:
        Settings.from_env({**known, "CQE_STORAGE_URL": url, variable: text})
    assert str(refusal.value).startswith(f"{variable}: must be ")
    assert text not in str(refusal.value)


@pytest.mark.parametrize(
    "text", ["file:///", "file://files", "file:/files", "/files", "file:///a?b"]
)
def test_a_folder_for_recordings_is_a_whole_path(text: str) -> None:
    with pytest.raises(SettingsError, match=r"a folder must be file:///FOLDER"):
        Settings.from_env({"CQE_STORAGE_URL": text})


def test_a_mistyped_name_is_found_with_the_nearest_one() -> None:
    environment = {"CQE_PORT": "1", "CQE_PROT": "1", "CQE_XYZ": "1", "CQE_CLIENT_KEY": "k"}
    assert unknown_variables({**environment, "HOME": "/"}) == [
        "CQE_PROT is not a setting: did you mean CQE_PORT?",
        "CQE_XYZ is not a setting: docs/settings.md lists all settings.",
    ]


def test_every_wrong_value_is_named_at_once() -> None:
    wrong = {"CQE_PORT": "0", "CQE_JUDGE": "openai", "CQE_JUDGE_URL": "http://x/v1"}
    with pytest.raises(SettingsError) as refusal:
        Settings.from_env(wrong)
    assert str(refusal.value).splitlines() == [
        "CQE_PORT: must be a whole number from 1 to 65535, not '0'",
        "CQE_JUDGE_MODEL: must be set when CQE_JUDGE is openai",
    ]


def test_secrets_are_not_printed() -> None:
    secrets = {
        "CQE_MASTER_KEYS": "k1:c2VjcmV0",
        "CQE_DATABASE_URL": "postgresql://cqe:c2VjcmV0@db/cqe",
        "CQE_REDIS_URL": "redis://:c2VjcmV0@queue",
        "CQE_JUDGE_API_KEY": "c2VjcmV0",
        "CQE_STORAGE_ACCESS_KEY": "c2VjcmV0",
    }
    assert "c2VjcmV0" not in repr(Settings.from_env(secrets))


def test_options_win_over_the_environment_and_the_environment_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = installed_in(tmp_path, "CQE_PORT=1001\nCQE_WORKERS=3\nCQE_THREADS=4\n")
    monkeypatch.setenv("CQE_PORT", "1002")
    monkeypatch.setenv("CQE_WORKERS", "5")
    settings = settings_here({"port": 1003, "host": None}, installation=file.parent)
    assert settings.port == 1003
    assert settings.workers == 5
    assert settings.threads == 4
    assert settings.host == "127.0.0.1"


def test_an_env_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = installed_in(tmp_path, "CQE_PORT=1001\n")
    file.chmod(0o640)
    with pytest.raises(SettingsError, match=r"run `chmod 600 .*\.env`"):
        settings_here(installation=tmp_path)
    file.chmod(0o600)
    assert settings_here(installation=tmp_path).port == 1001


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_an_env_file_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(installed_in(tmp_path, "CQE_PORT=1001\n"), 12345, -1)
    with pytest.raises(SettingsError, match="belongs to another user"):
        settings_here(installation=tmp_path)


def test_the_env_file_of_the_working_directory_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / ".env").write_text("CQE_PORT=1001\n")
    monkeypatch.chdir(here)
    assert settings_here(installation=tmp_path).port == 8000


def test_the_data_folder_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CQE_DATA_DIR", "kept")
    assert settings_here().data_dir == tmp_path / "kept"
