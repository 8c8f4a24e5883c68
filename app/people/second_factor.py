"""Second factor: codes of an authenticator app (TOTP), and recovery codes that work once each."""

import hashlib
import hmac
import secrets
from collections.abc import Sequence

import pyotp
from pyotp.exceptions import OTPVerificationError
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.sealed import SealedColumn
from app.core.errors import InvalidInput
from app.core.secrets.encryption import Keyring
from app.people.models import User

RECOVERY_CODES = 8
_ISSUER = "CQE"
# Clocks of phones differ: the code before and the one after are right as well.
_CLOCK_STEPS = 1
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_GROUPS, _GROUP_LENGTH = 4, 4


def new_secret() -> str:
    return pyotp.random_base32()


def address_of(secret: str, name: str) -> str:
    return pyotp.TOTP(secret).provisioning_uri(name=name, issuer_name=_ISSUER)


def seal(keyring: Keyring, user_id: str, secret: str) -> str:
    """Encrypt a secret; it can be decrypted only for the same user."""
    return keyring.encrypt(secret.encode(), purpose=_purpose_of(user_id))


def unseal(keyring: Keyring, user_id: str, sealed: str) -> str:
    """Decrypt a secret; raise `UnknownMasterKey` if it is of another user, or was changed."""
    return keyring.decrypt(sealed, purpose=_purpose_of(user_id)).decode()


def add(session: Session, keyring: Keyring, user_id: str, secret: str, code: str) -> list[str]:
    """Add an authenticator in the place of any other; return its recovery codes.

    Raises:
        InvalidInput: the code is not of this secret.
    """
    step = _step_of(secret, _typed(code), after=None)
    if step is None:
        raise InvalidInput.field("code", "This is not the code that the app shows now.")
    user = _locked(session, user_id)
    user.totp_secret, user.totp_step = seal(keyring, user_id, secret), step
    return _with_new_codes(user)


def remove(session: Session, user_id: str) -> None:
    user = _locked(session, user_id)
    user.totp_secret, user.totp_step, user.recovery_codes = None, None, []


def renew_codes(session: Session, user_id: str) -> list[str]:
    """Return new recovery codes; the former ones no longer work."""
    return _with_new_codes(_locked(session, user_id))


def accept(session: Session, keyring: Keyring, user_id: str, code: str) -> str | None:
    """Use up a code: of the app, or a recovery code.

    Returns what it was, `"app"` or `"recovery"`; None if it is wrong or was used before.
    """
    user = _locked(session, user_id)
    if user.totp_secret is None:
        return None
    typed = _typed(code)
    step = _step_of(unseal(keyring, user_id, user.totp_secret), typed, after=user.totp_step)
    if step is not None:
        user.totp_step = step
        return "app"
    hashed = _hash_of(typed)
    left = [known for known in user.recovery_codes if not hmac.compare_digest(known, hashed)]
    if len(left) == len(user.recovery_codes):
        return None
    user.recovery_codes = left
    return "recovery"


def _locked(session: Session, user_id: str) -> User:
    """Return a user whom no other transaction changes: no code works twice."""
    return session.get_one(User, user_id, with_for_update=True, populate_existing=True)


def _step_of(secret: str, code: str, *, after: int | None) -> int | None:
    """Return the time step of a right code, unless it or a later one was used."""
    try:
        step = pyotp.TOTP(secret).verify_and_get_timecode(
            code, for_time=utc_now(), valid_window=_CLOCK_STEPS
        )
    except OTPVerificationError:
        return None
    return step if after is None or step > after else None


def _with_new_codes(user: User) -> list[str]:
    length = _GROUPS * _GROUP_LENGTH
    codes = [
        "".join(secrets.choice(_ALPHABET) for _ in range(length)) for _ in range(RECOVERY_CODES)
    ]
    # Each has 79 random bits: no slow hash is needed.
    user.recovery_codes = [_hash_of(code) for code in codes]
    return [
        "-".join(code[place : place + _GROUP_LENGTH] for place in range(0, length, _GROUP_LENGTH))
        for code in codes
    ]


def _typed(code: str) -> str:
    """Return a code as it was shown, however it was typed."""
    return "".join(code.split()).replace("-", "").casefold()


def _hash_of(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()


def _purpose_of(user_id: str) -> str:
    return f"user:{user_id}:second_factor"


def _give_up(session: Session, _: Keyring, lost: Sequence[User]) -> None:
    for user in lost:
        remove(session, user.id)


AUTHENTICATORS = SealedColumn("second factor", User.totp_secret, _purpose_of, _give_up)
