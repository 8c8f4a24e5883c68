"""Passwords: their rules, hashes (Argon2id) and one-time passwords."""

import os
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from app.core.errors import ServiceUnavailable

MIN_LENGTH, MAX_LENGTH = 12, 128
ONE_TIME_LENGTH = 20

# Further characters that a password with the name in it must have.
_WITHOUT_NAME = 8

_ALPHABET = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_MEMORY_KIB, _PASSES, _LANES = 19 * 1024, 2, 1
# Each hash takes 19 MiB and a processor for its time: sign-ins must not take them all.
_RUNNING, _WAITING = 2, 2
_SLOTS = threading.BoundedSemaphore(_RUNNING)
# The hash of no password: an unknown name costs as much time as a known one.
HASH_OF_NOBODY = (
    "$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg"
    "$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)
# Words that most of the common passwords are made of, in any spelling with digits and signs.
_COMMON_WORDS = frozenset(
    """
    abc abcd abcdef access account admin administrator adobe agent amazon angel apple asdf
    asdfgh asdfghjkl august autumn baseball basketball batman berlin butterfly buster callcenter
    cat change changeme charlie cheese chocolate company computer cookie cqe customer dashboard
    daniel default dog dragon dragonfly enter evaluation facebook family flower football forever
    freedom friday friends ginger google guest harley hello hockey home house hunter iloveyou
    internet jesus jordan killer king letmein letmeinnow linkedin liverpool login london love
    lovely manager marina master matrix michael microsoft mickey monday money monkey mother
    music mustang mypassword name newpassword nothing office oracle orange pass passphrase
    passwd password passwort pepper pokemon princess private purple qaz qazwsx qazwsxedc quality
    qwer qwert qwerty qwertyuiop qwertz ranger rainbow root sample samsung secret secure
    security server service shadow silver soccer spring starwars summer sunday sunshine superman
    superuser support supervisor system temp temporary test tester testing thomas tigger trustno
    user username victoria welcome whatever winter work xxx yankees yellow zaq zaqxsw zxcvbn
    zxcvbnm
    """.split()  # noqa: SIM905 - a list takes a line for each word
)
_LOOK_ALIKES = str.maketrans("@483!10$57+", "aabeiiosstt")


class Places:
    """Places of those whose hash runs or waits in this process; one more is refused at once."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = threading.BoundedSemaphore(count)

    @contextmanager
    def hashing(self) -> Iterator[None]:
        """Take a place, and wait in it until a hash may run.

        Raises:
            ServiceUnavailable: all places are taken.
        """
        if not self._free.acquire(blocking=False):
            raise ServiceUnavailable(
                "Too many passwords are being checked at this moment: try again.", retry_after_s=2
            )
        try:
            with _SLOTS:
                yield
        finally:
            self._free.release()


SIGN_INS = Places(_RUNNING + _WAITING)
# Strangers who sign in must not keep people with a session from giving their password.
OWN_FORMS = Places(_RUNNING)
# The web server serves forms in threads of their own, more than these.
THREADS = SIGN_INS.count + OWN_FORMS.count


def hash_password(password: str) -> str:
    """Return the Argon2id hash of a password as a PHC string.

    Raises:
        ServiceUnavailable: too many passwords are being checked.
    """
    hasher = Argon2id(
        salt=os.urandom(16),
        length=32,
        iterations=_PASSES,
        lanes=_LANES,
        memory_cost=_MEMORY_KIB,
    )
    with OWN_FORMS.hashing():
        return hasher.derive_phc_encoded(password.encode())


def verify_password(password: str, phc: str | None, places: Places = OWN_FORMS) -> bool:
    """Return whether the password has this hash; without a hash it is false after the same time.

    Raises:
        ServiceUnavailable: too many passwords are being checked.
    """
    with places.hashing():
        try:
            Argon2id.verify_phc_encoded(password[: MAX_LENGTH + 1].encode(), phc or HASH_OF_NOBODY)
        except InvalidKey:
            return False
    return phc is not None


def new_one_time_password() -> str:
    """Return a random password without letters and digits that look alike."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(ONE_TIME_LENGTH))


def problem_with(password: str, name: str) -> str | None:
    """Return a sentence on why the password is too weak for this user, or None."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        return f"The password must have {MIN_LENGTH} to {MAX_LENGTH} characters."
    folded = password.casefold()
    if name in folded and len(folded.replace(name, "")) < _WITHOUT_NAME:
        return "The password must not be made of the name: choose another."
    if len(set(folded)) < 5 or _is_common(folded):
        return "This password is too easy to guess: choose another."
    return None


def _is_common(folded: str) -> bool:
    """Return whether it is one common word, once or repeated, with digits and signs."""
    # The lookbehind keeps the search linear: it starts once for each stretch of digits and signs.
    core = re.sub(r"(?<![\W\d_])[\W\d_]+$", "", folded)
    spellings = (core, core.translate(_LOOK_ALIKES))
    return any(_is_repeated_word(re.sub(r"[\W\d_]+", "", spelling)) for spelling in spellings)


def _is_repeated_word(letters: str) -> bool:
    if not letters:
        return True
    unit = next(
        letters[:size]
        for size in range(1, len(letters) + 1)
        if letters == letters[:size] * (len(letters) // size)
    )
    return unit in _COMMON_WORDS or len(unit) == 1
