"""Parsers of settings: each makes a value of a variable's text, or says what the text must be."""

import base64
import math
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from app.core.ip_addresses import Network, is_loopback, network_of

_LABEL = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_STORAGE_FORM = re.compile(
    r"file:///[^?#]+"
    r"|azure://[a-z0-9]{3,24}/[a-z0-9-]{3,63}(/[\w-]+)*/?(\?endpoint=https?://[^&#\s]+)?"
    r"|s3://[a-z0-9.-]{3,63}(/[\w-]+)*/?(\?(region=[\w-]+|(endpoint|public)=https?://[^&#\s]+)"
    r"(&(region=[\w-]+|(endpoint|public)=https?://[^&#\s]+))*)?",
    re.ASCII,
)
YEAR_S = 31_536_000
_SERVER_FORM = re.compile(
    r"[a-z+]+://(.*@)?(\[[^\]]*\]|[^\[\]:/?@]*)(:(?P<port>[0-9]{1,5}))?([/?].*)?", re.ASCII
)
_HTTP_FORM = re.compile(
    r"https?://([!-\"$-.0->A-~]*@)?(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:(?P<port>[0-9]{1,5}))?(/[!-\"$->@-~]*)?",
    re.ASCII,
)
# Roles of people, from the least to the most rights; those that can be of a team.
PERSON_ROLES = ("agent", "viewer", "reviewer", "lead", "admin")
TEAM_ROLES = ("agent", "reviewer", "lead")
_BOOLEANS = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A number of requests in a number of seconds."""

    limit: int
    window_s: int


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """Prices of a million tokens, in the operator's currency."""

    prompt: float
    answer: float


@dataclass(frozen=True, slots=True)
class GroupRole:
    """The role that a group of the sign-in provider gives, and the call centre that it is limited to.

    The group `*` is everybody; an empty `team` is no limit.
    """

    group: str
    role: str
    team: str

    def __str__(self) -> str:
        """Return it as it is written in the setting."""
        return f"{self.group}={self.role}{'@' if self.team else ''}{self.team}"


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """Make a parser of whole numbers from `low` to `high`."""

    def parse(value: str) -> int:
        number = int(value) if re.fullmatch(r"[0-9]{1,15}", value, re.ASCII) else -1
        if number < low or (high is not None and number > high):
            allowed = f"of at least {low}" if high is None else f"from {low} to {high}"
            raise ValueError(f"must be a whole number {allowed}, not {value!r}")
        return number

    return parse


def days(low: int) -> Callable[[str], int]:
    """Make a parser of days from `low` to a hundred years, more than which is not a date."""
    return whole(low, 36_500)


def amount(value: str) -> float:
    """Parse a number of at least 0, fractions allowed."""
    number = _number(value)
    if not 0 <= number < math.inf:
        raise ValueError(f"must be a number of at least 0, not {value!r}")
    return number


def share(value: str) -> float:
    """Parse a number of 0 to 1."""
    number = _number(value)
    if not 0 <= number <= 1:
        raise ValueError(f"must be a number from 0 to 1, not {value!r}")
    return number


def seconds(value: str) -> float:
    """Parse a number of seconds above 0 and up to a year, fractions allowed."""
    number = _number(value)
    if not 0 < number <= YEAR_S:
        raise ValueError(f"must be seconds above 0, and up to {YEAR_S}, a year; not {value!r}")
    return number


def boolean(value: str) -> bool:
    if value.lower() not in _BOOLEANS:
        raise ValueError(f"must be 1, true or on, or 0, false or off, not {value!r}")
    return _BOOLEANS[value.lower()]


def one_of(*words: str) -> Callable[[str], str]:
    """Make a parser of these words, upper or lower case."""

    def parse(value: str) -> str:
        for word in words:
            if word.lower() == value.lower():
                return word
        raise ValueError(f"must be one of {', '.join(words)}, not {value!r}")

    return parse


def some_of(*words: str) -> Callable[[str], tuple[str, ...]]:
    def parse(value: str) -> tuple[str, ...]:
        listed = tuple(word.strip() for word in value.split(","))
        if unknown := [word for word in listed if word not in words]:
            raise ValueError(f"must list some of {', '.join(words)}, not {', '.join(unknown)!r}")
        return listed

    return parse


def host_id(value: str) -> str:
    if not re.fullmatch(r"[\w.-]{1,64}", value, re.ASCII):
        raise ValueError("must be 1 to 64 letters, digits, dots, hyphens or underscores")
    return value


def starting_with(*prefixes: str) -> Callable[[str], str]:
    """Make a parser of addresses that start with one of these; messages repeat no password."""

    def parse(value: str) -> str:
        if not value.startswith(prefixes):
            raise ValueError(f"must start with {' or '.join(prefixes)}")
        match = _SERVER_FORM.fullmatch(value)
        if match is None or int(match["port"] or 0) > 65535:
            scheme = value.partition(":")[0]
            raise ValueError(f"must be an address such as {scheme}://USER:PASSWORD@HOST:PORT/NAME")
        return value

    return parse


def storage_url(value: str) -> str:
    """Parse the place of recordings and exports: a folder, a container or a bucket."""
    if value.startswith(("file:", "/")) and not _STORAGE_FORM.fullmatch(value):
        raise ValueError(
            "a folder must be file:///FOLDER, with its whole path and without ? and #;"
            f" not {value!r}"
        )
    if not _STORAGE_FORM.fullmatch(value):
        raise ValueError(
            "must be file:///FOLDER, azure://ACCOUNT/CONTAINER[/PREFIX][?endpoint=URL] or"
            " s3://BUCKET[/PREFIX][?region=NAME&endpoint=URL&public=URL]"
        )
    return value


def path(value: str) -> Path:
    """Parse the name of a folder or file, with `~` for the home folder."""
    try:
        return Path(value).expanduser()
    except RuntimeError as error:
        raise ValueError(f"there is no home folder for {value!r}") from error


def certificates(value: str) -> str:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(value)
    except OSError as error:
        raise ValueError(f"{value!r} is not a file of certificates: {error.strerror}") from error
    return value


def existing_dir(value: str) -> str:
    if not Path(value).is_dir():
        raise ValueError(f"there is no folder {value!r}")
    return value


def redis_url(value: str) -> str:
    """Parse the address of a queue server, or `none`."""
    return value if value == "none" else starting_with("redis://", "rediss://", "unix://")(value)


def http_url(value: str) -> str:
    """Parse an http or https address without query and fragment."""
    match = _HTTP_FORM.fullmatch(value)
    if match is None or int(match["port"] or 0) > 65535:
        raise ValueError(f"must be an address such as https://cqe.example.com, not {value!r}")
    return value.rstrip("/")


def issuer(value: str) -> str:
    """Parse the address of a sign-in provider; only this machine's own may be without TLS."""
    address = http_url(value)
    parts = urlsplit(address)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ValueError("must begin with https://")
    if "@" in parts.netloc:
        raise ValueError("must not contain a user name or password")
    return address


def oidc_scopes(value: str) -> str:
    """Parse a list of scopes, separated by blanks, one of which is `openid`."""
    scopes = value.split()
    if "openid" not in scopes:
        raise ValueError("must list scopes separated by blanks, and openid among them")
    return " ".join(header_token(scope) for scope in scopes)


def group_roles(value: str) -> tuple[GroupRole, ...]:
    """Parse a comma list of `group=role` or `group=role@call centre`."""
    return tuple(_group_role(part) for part in _parts(value))


def _group_role(part: str) -> GroupRole:
    group, _, granted = part.rpartition("=")
    role, at, team = (text.strip() for text in granted.partition("@"))
    if not group.strip() or role not in PERSON_ROLES or bool(at) != bool(team):
        raise ValueError(
            f"{part!r} is not group=role or group=role@call centre;"
            f" the roles are {', '.join(PERSON_ROLES)}"
        )
    if team and role not in TEAM_ROLES:
        raise ValueError(f"{part!r}: only {', '.join(TEAM_ROLES)} can be of a call centre")
    return GroupRole(group.strip(), role, team)


def header_name(value: str) -> str:
    """Parse the name of a header; `_` is no part of it, since WSGI cannot tell it from `-`."""
    if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", value):
        raise ValueError("must be the name of a header such as Remote-User")
    return value


def origins(value: str) -> tuple[str, ...]:
    """Parse a comma list of origins: scheme, host and port of pages."""
    listed = _parts(value)
    for origin in listed:
        parts = urlsplit(http_url(origin))
        if origin != f"{parts.scheme}://{parts.netloc}".lower() or "@" in origin:
            raise ValueError(f"{origin!r} is not an origin such as https://crm.example.com")
    return listed


def model_url(path: str, key_variable: str) -> Callable[[str], str]:
    """Make a parser of base addresses of OpenAI-compatible endpoints, to which `path` is added."""

    def parse(value: str) -> str:
        address = http_url(value)
        if "@" in urlsplit(address).netloc:
            raise ValueError(
                f"must not contain a user name or password: set {key_variable} instead"
            )
        if address.endswith(path):
            raise ValueError(f"must be the base address, without {path}")
        return address

    return parse


def header_token(value: str) -> str:
    """Parse a key that is sent in a header; messages never repeat it."""
    if not re.fullmatch(r"[\x21-\x7e]{1,4096}", value):
        raise ValueError("must be printable ASCII without spaces")
    return value


def is_base64(value: str) -> bool:
    """Return whether a text is base64, as access keys of Azure are."""
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        return False
    return True


def listen_address(value: str) -> tuple[str, int]:
    """Parse `host:port`, an IPv6 address in brackets."""
    match = re.fullmatch(r"(?:\[([^\[\]]+)\]|([^:\[\]]+)):(.+)", value)
    if match is None:
        raise ValueError(f"must be host:port such as 127.0.0.1:9464, not {value!r}")
    return match[1] or match[2], whole(1, 65535)(match[3])


def networks(value: str) -> tuple[Network, ...]:
    return tuple(network_of(part) for part in _parts(value))


def labels(value: str) -> tuple[str, ...]:
    """Parse a comma list of labels: lower-case letters, digits, `_`, `-`."""
    names = _parts(value)
    for label in names:
        if not _LABEL.fullmatch(label):
            raise ValueError(f"{label!r} is not a label such as quality_audit")
    return names


def retry_delays(value: str) -> tuple[float, ...]:
    """Parse the seconds before attempt 2 and before attempt 3."""
    delays = tuple(map(_number, value.split(",")))
    if len(delays) != 2 or not all(0 <= delay <= YEAR_S for delay in delays):
        raise ValueError(
            f"must be two delays such as 60,300, each of a year at most; not {value!r}"
        )
    return delays


def rate(value: str) -> RateLimit:
    """Parse `requests/seconds`."""
    match = re.fullmatch(r"0*([1-9][0-9]{0,8})/0*([1-9][0-9]{0,5})", value, re.ASCII)
    if match is None:
        raise ValueError(f"must be requests/seconds such as 600/60, not {value!r}")
    return RateLimit(int(match[1]), int(match[2]))


def token_prices(value: str) -> TokenPrices:
    """Parse `prompt price/answer price`."""
    parts = value.split("/")
    if len(parts) != 2:
        raise ValueError(f"must be two amounts such as 0.4/1.6, not {value!r}")
    return TokenPrices(amount(parts[0]), amount(parts[1]))


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return math.nan


def _parts(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())
