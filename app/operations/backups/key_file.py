"""Master keys in a backup, encrypted by a key that Argon2id makes of a passphrase."""

import base64
import os
from pathlib import Path

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from app.operations.failure import CannotRun

FILE = "master-keys.json"
MIN_PASSPHRASE_LENGTH = 12
_PURPOSE = b"cqe/backup/master-keys/v1"
_ITERATIONS, _LANES, _MEMORY_KIB = 3, 1, 64 * 1024


def write(folder: Path, keys: str, passphrase: str) -> Path:
    """Write the encrypted keys; return the file.

    Raises:
        CannotRun: the passphrase is too short.
    """
    if len(passphrase) < MIN_PASSPHRASE_LENGTH:
        raise CannotRun(f"the passphrase must have at least {MIN_PASSPHRASE_LENGTH} characters")
    salt, nonce = os.urandom(16), os.urandom(12)
    sealed = AESGCM(_key(passphrase, salt)).encrypt(nonce, keys.encode(), _PURPOSE)
    document = {
        "encryption": "AES-256-GCM",
        "key": f"Argon2id, {_ITERATIONS} iterations, {_LANES} lane, {_MEMORY_KIB} KiB",
        **{
            name: base64.b64encode(value).decode()
            for name, value in (("salt", salt), ("nonce", nonce), ("sealed", sealed))
        },
    }
    file = folder / FILE
    file.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    file.chmod(0o600)
    return file


def read(folder: Path, passphrase: str) -> str:
    """Decrypt the keys of a backup.

    Raises:
        CannotRun: the passphrase is wrong, or the file is damaged.
    """
    try:
        document = orjson.loads((folder / FILE).read_bytes())
        salt, nonce, sealed = (
            base64.b64decode(document[name]) for name in ("salt", "nonce", "sealed")
        )
        return AESGCM(_key(passphrase, salt)).decrypt(nonce, sealed, _PURPOSE).decode()
    except (InvalidTag, KeyError, ValueError) as error:
        raise CannotRun(
            f"the master keys in {folder / FILE} cannot be decrypted: check the passphrase"
        ) from error


def _key(passphrase: str, salt: bytes) -> bytes:
    kdf = Argon2id(
        salt=salt, length=32, iterations=_ITERATIONS, lanes=_LANES, memory_cost=_MEMORY_KIB
    )
    return kdf.derive(passphrase.encode())
