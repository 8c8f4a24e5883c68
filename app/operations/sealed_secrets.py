"""The secrets of every room that keeps some sealed: can they be opened, and sealing them anew."""

from collections.abc import Callable

from sqlalchemy.orm import Session

from app.api_keys import credentials
from app.core.runtime import Runtime
from app.core.secrets.encryption import Keyring
from app.redaction import raw_texts
from app.webhooks import sealing

# What the secrets are, how a batch is sealed anew, and which master keys they need in vain.
_KINDS: tuple[
    tuple[str, Callable[[Session, Keyring], int], Callable[[Session, Keyring], set[str]]], ...
] = (
    ("API key", credentials.rewrap, credentials.unreadable_key_ids),
    ("webhook", sealing.rewrap, sealing.unreadable_key_ids),
    ("raw text", raw_texts.rewrap, raw_texts.unreadable_key_ids),
)


def missing_master_keys(session: Session, keyring: Keyring) -> list[str]:
    """Name the master keys that stored secrets need and the ring does not hold."""
    return sorted({each for *_, missing in _KINDS for each in missing(session, keyring)})


def rewrap(runtime: Runtime) -> dict[str, int]:
    """Seal everything anew under the first master key, batch by batch; return counts by kind."""
    return {kind: _rewrap_all(runtime, seal) for kind, seal, _ in _KINDS}


def _rewrap_all(runtime: Runtime, seal: Callable[[Session, Keyring], int]) -> int:
    total = 0
    while True:
        with runtime.db.writing() as session:
            count = seal(session, runtime.keyring)
        if count == 0:
            return total
        total += count
