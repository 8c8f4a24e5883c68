"""How the text of an environment variable becomes a value; each refuses with a sentence that helps."""

import math
import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import urlsplit

_LABEL = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PREFIX_FORM = re.compile(r"[0-9A-Fa-f:.]+(/[0-9]{1,3})?")


def text(value: str) -> str:
    """Take any text."""
    return value


def path(value: str) -> Path:
    """Take a folder or file name, with `~` for the home folder."""
    return Path(value).expanduser()


def existing_file(value: str) -> str:
    """Take the name of a file that is there."""
    if not Path(value).is_file():
        raise ValueError(f"there is no file {value!r}")
    return value


def existing_dir(value: str) -> str:
    """Take the name of a folder that is there."""
    if not Path(value).is_dir():
        raise ValueError(f"there is no folder {value!r}")
    return value


def boolean(value: str) -> bool:
    """Take 1, 0, true or false."""
    known = {"1": True, "true": True, "0": False, "false": False}
    if value.lower() not in known:
        raise ValueError(f"must be 1, 0, true or false, not {value!r}")
    return known[value.lower()]


def switch(value: str) -> bool:
    """Take on or off, and what `boolean` takes."""
    named = {"on": True, "off": False}
    return named[value.lower()] if value.lower() in named else boolean(value)


def count(value: str) -> int:
    """Take a whole number of at least 0."""
    if not re.fullmatch(r"[0-9]{1,15}", value, re.ASCII):
        raise ValueError(f"must be a whole number, not {value!r}")
    return int(value)


def positive(value: str) -> int:
    """Take a whole number of at least 1."""
    number = count(value)
    if number < 1:
        raise ValueError("must be at least 1")
    return number


def port(value: str) -> int:
    """Take a port number, 1 to 65535."""
    number = positive(value)
    if number > 65535:
        raise ValueError("must be a port, 1 to 65535")
    return number


def listen_address(value: str) -> tuple[str, int]:
    """Take `host:port`, an IPv6 address in brackets."""
    host, separator, number = value.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        separator = ""
    if not separator or not host:
        raise ValueError(f"must be host:port such as 127.0.0.1:9464, not {value!r}")
    return host, port(number)


def url_ttl(value: str) -> int:
    """Take the life of a signed URL: 1 second to 24 hours (security, 5.2)."""
    number = positive(value)
    if number > 86400:
        raise ValueError("must be at most 86400 seconds, a day")
    return number


def amount(value: str) -> float:
    """Take a number of at least 0, fractions allowed."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"must be a number of at least 0, not {value!r}")
    return number


def seconds(value: str) -> float:
    """Take seconds, above 0, fractions allowed."""
    number = amount(value)
    if number == 0:
        raise ValueError("must be above 0 seconds")
    return number


def seconds_list(value: str) -> tuple[float, ...]:
    """Take two delays in seconds: before attempt 2 and before attempt 3."""
    delays = tuple(amount(part.strip()) for part in value.split(","))
    if len(delays) != 2:
        raise ValueError(f"must be two delays such as 60,300, not {value!r}")
    return delays


def rate(value: str) -> tuple[int, int]:
    """Take `requests/seconds`, such as 600/60."""
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,6})", value, re.ASCII)
    if match is None or int(match[1]) < 1 or int(match[2]) < 1:
        raise ValueError(f"must be requests/seconds such as 600/60, not {value!r}")
    return int(match[1]), int(match[2])


def network(value: str) -> IPv4Network | IPv6Network:
    """Take one address or network in prefix form, host bits zero (security, 2)."""
    if not _PREFIX_FORM.fullmatch(value):
        raise ValueError(f"{value!r} is not a network such as 10.0.0.0/8 or 2001:db8::/32")
    return ip_network(value, strict=True)


def networks(value: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Take a comma list of networks."""
    return tuple(network(part.strip()) for part in value.split(",") if part.strip())


def labels(value: str) -> tuple[str, ...]:
    """Take a comma list of labels: lower-case letters, digits, `_`, `-`."""
    found = tuple(part.strip() for part in value.split(",") if part.strip())
    for label in found:
        if not _LABEL.fullmatch(label):
            raise ValueError(f"{label!r} is not a label such as quality_audit")
    return found


def http_url(value: str) -> str:
    """Take an http or https address with no path of its own kept behind it."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"must be an address such as https://cqe.example.com, not {value!r}")
    return value.rstrip("/")


def database_url(value: str) -> str:
    """Take a SQLite or PostgreSQL address."""
    if not value.startswith(("sqlite:///", "postgresql://", "postgresql+psycopg://")):
        raise ValueError("must start with sqlite:/// or postgresql://")
    return value


def redis_url(value: str) -> str:
    """Take a Redis address, or `none` to work without a queue server."""
    if value != "none" and not value.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError("must start with redis://, rediss:// or unix://, or be none")
    return value


def storage_url(value: str) -> str:
    """Take the place of stored files."""
    if not value.startswith("file:///"):
        raise ValueError("must start with file:///, the only storage that this version has")
    return value


def _one_of(value: str, *known: str) -> str:
    if value not in known:
        raise ValueError(f"must be one of {', '.join(known)}, not {value!r}")
    return value


def tls_policy(value: str) -> str:
    """Take auto, 1 or 0."""
    return "auto" if value == "auto" else ("1" if boolean(value) else "0")


def transcriber(value: str) -> str:
    """Take the name of a speech engine."""
    return _one_of(value, "embedded")


def judge(value: str) -> str:
    """Take the name of a judging engine."""
    return _one_of(value, "embedded", "openai", "hybrid")


def model_url(value: str) -> str:
    """Take the base address of an OpenAI-compatible endpoint."""
    address = http_url(value)
    if "@" in urlsplit(address).netloc:
        raise ValueError("holds no user name and no password: the key goes into CQE_JUDGE_API_KEY")
    if address.endswith("/chat/completions"):
        raise ValueError("is the base address: leave /chat/completions off")
    return address


def token(value: str) -> str:
    """Take a key that fits into a header; it is never repeated in a message."""
    if not re.fullmatch(r"[\x21-\x7e]{1,4096}", value):
        raise ValueError("must be printable ASCII without spaces")
    return value


def token_budget(value: str) -> int:
    """Take a number of tokens that a question or an answer fits into."""
    number = count(value)
    if number < 500:
        raise ValueError("must be at least 500 tokens")
    return number


def pair(value: str) -> tuple[float, float]:
    """Take two amounts, such as 0.4/1.6."""
    parts = value.split("/")
    if len(parts) != 2:
        raise ValueError(f"must be two amounts such as 0.4/1.6, not {value!r}")
    return amount(parts[0]), amount(parts[1])


def synchronous(value: str) -> str:
    """Take SQLite's durability of a commit."""
    return _one_of(value.upper(), "FULL", "NORMAL")


def log_level(value: str) -> str:
    """Take the name of a log level."""
    return _one_of(value.upper(), "DEBUG", "INFO", "WARNING", "ERROR")
