"""Signatures of vendors: whether a request came from the vendor, and recently."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from app.core.errors import AppError


class SignatureRefused(AppError):
    status, code = 401, "INTAKE_SIGNATURE"
    message = "The signature of this request is not the vendor's."


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request as it arrived: its public URL, its headers in lower case, and its body."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class Scheme(Protocol):
    """The way in which a vendor signs."""

    def require(self, arrived: Arrived, secret: str, now: datetime) -> str:
        """Return the signature of a request if it is valid and not too old.

        Raises:
            SignatureRefused: it is missing, wrong or too old.
        """


@dataclass(frozen=True, slots=True)
class Hmac:
    """An HMAC of the body, and of the time where the vendor signs one.

    Attributes:
        header: its name in lower case.
        form: a pattern of its value with the group `digest`, and `time` unless `time_header` has it.
        signed: returns the signed bytes of a request and the time as it is written.
        is_time_signed: whether there has to be a time.
        time_unit: seconds in one unit of a time in digits.
        oldest: how old a signed time may be, or how far ahead of this clock.
    """

    header: str
    form: str = r"(?P<digest>.+)"
    signed: Callable[[Arrived, str], bytes] = lambda arrived, _: arrived.body
    algorithm: str = "sha256"
    in_base64: bool = False
    is_time_signed: bool = False
    time_header: str = ""
    time_unit: float = 1.0
    oldest: timedelta = timedelta(minutes=5)

    def require(self, arrived: Arrived, secret: str, now: datetime) -> str:
        """Return the signature if it is valid and recent; raises `SignatureRefused`."""
        given = arrived.headers.get(self.header, "")
        if not given:
            raise SignatureRefused(f"The request has no {self.header}.")
        match = re.fullmatch(self.form, given)
        if match is None:
            raise SignatureRefused(f"{self.header} has another form than the vendor's.")
        parts = match.groupdict()
        time = parts.get("time") or arrived.headers.get(self.time_header, "")
        digest = hmac.new(secret.encode(), self.signed(arrived, time), self.algorithm)
        expected = (
            base64.b64encode(digest.digest()).decode() if self.in_base64 else digest.hexdigest()
        )
        if not hmac.compare_digest(expected.encode(), parts["digest"].encode()):
            raise SignatureRefused(
                f"{self.header} does not match the body: check the secret of this source."
            )
        if self.is_time_signed:
            require_recent(moment_at(time, self.time_unit), now, self.oldest)
        return given


@dataclass(frozen=True, slots=True)
class SharedSecret:
    header: str
    prefix: str = ""

    def require(self, arrived: Arrived, secret: str, now: datetime) -> str:
        """Return a digest of the request if it has the secret; raises `SignatureRefused`."""
        given = arrived.headers.get(self.header, "")
        if not hmac.compare_digest(given.encode(), (self.prefix + secret).encode()):
            raise SignatureRefused(f"{self.header} is not the secret of this source.")
        return hashlib.sha256(given.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class OneOf:
    """The first of several schemes whose header is there."""

    schemes: Sequence[Hmac | SharedSecret]

    def require(self, arrived: Arrived, secret: str, now: datetime) -> str:
        """Return the signature if it is valid and recent; raises `SignatureRefused`."""
        for scheme in self.schemes:
            if scheme.header in arrived.headers:
                return scheme.require(arrived, secret, now)
        names = " or ".join(scheme.header for scheme in self.schemes)
        raise SignatureRefused(f"The request has no {names}.")


def require_recent(moment: datetime | None, now: datetime, oldest: timedelta) -> None:
    """Raise `SignatureRefused` unless a request was sent at about this time."""
    if moment is None:
        raise SignatureRefused("The request does not say when it was signed.")
    if abs(now - moment) > oldest:
        raise SignatureRefused(
            f"The request was signed at {moment.isoformat(timespec='seconds')}, which is too long "
            "ago, or ahead of the clock of this host."
        )


def moment_at(text: str, unit: float) -> datetime | None:
    """Return a time in digits, of this many seconds each, or in ISO 8601; None for anything else."""
    with suppress(ValueError, OverflowError, OSError):
        if re.fullmatch(r"\d{1,16}", text):
            return datetime.fromtimestamp(int(text) * unit, UTC)
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else None
    return None
