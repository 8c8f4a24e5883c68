"""Encryption of stored secrets: AES-256-GCM under named master keys, and derived sub-keys."""

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.core.commands import COMMAND
from app.core.secrets.private_files import is_private, write_private_file
from app.core.settings import Settings, SettingsError

KEY_FILE = "master.keys"


class UnknownMasterKey(Exception):
    """A stored secret needs a master key that this process does not have."""


class Keyring:
    """Master keys by id; the first encrypts, all decrypt."""

    def __init__(self, keys: dict[str, bytes]) -> None:
        self._keys = keys
        self.current_id = next(iter(keys))

    def encrypt(self, plaintext: bytes, *, purpose: str) -> str:
        """Return `v1.<key id>.<nonce>.<ciphertext and tag>`; `purpose` is bound to it."""
        nonce = os.urandom(12)
        sealed = AESGCM(self._keys[self.current_id]).encrypt(nonce, plaintext, purpose.encode())
        return f"{self.prefix_of(self.current_id)}{_encode(nonce)}.{_encode(sealed)}"

    def decrypt(self, token: str, *, purpose: str) -> bytes:
        """Decrypt a token that `encrypt` made for the same purpose.

        Raises:
            UnknownMasterKey: the key of this token is not in the ring, or the token was altered.
        """
        version, key_id, nonce, sealed = _parts_of(token)
        if version != "v1" or key_id not in self._keys:
            raise UnknownMasterKey(
                f"the master key {key_id!r} is missing, add it to CQE_MASTER_KEYS"
            )
        try:
            return AESGCM(self._keys[key_id]).decrypt(
                _decode(nonce), _decode(sealed), purpose.encode()
            )
        except InvalidTag as error:
            raise UnknownMasterKey(
                f"the master key {key_id!r} is another than the one that sealed it"
            ) from error

    def rewrap(self, token: str, *, purpose: str) -> str:
        """Encrypt again, with the current key, what `encrypt` made for the same purpose."""
        return self.encrypt(self.decrypt(token, purpose=purpose), purpose=purpose)

    @staticmethod
    def prefix_of(key_id: str) -> str:
        """Return the beginning of every token of a master key."""
        return f"v1.{key_id}."

    @staticmethod
    def key_id_of(token: str) -> str:
        return _parts_of(token)[1]

    def subkey(self, label: str, key_id: str) -> bytes:
        """Derive a key of 32 bytes from a master key for one use, such as `cqe/url-signing/v1`."""
        return hmac.new(self._keys[key_id], label.encode(), hashlib.sha256).digest()

    @property
    def key_ids(self) -> Collection[str]:
        return self._keys.keys()

    def has(self, key_id: str) -> bool:
        return key_id in self._keys


def load_keyring(settings: Settings) -> Keyring:
    """Read the master keys from CQE_MASTER_KEYS, or from the 0600 file in the data folder.

    Raises:
        SettingsError: there is no key, a key is malformed, or others may read the file.
    """
    if settings.master_keys:
        return parse_keyring(settings.master_keys)
    file = settings.data_dir / KEY_FILE
    if not file.is_file():
        raise SettingsError(
            f"there is no {file}: put a copy of it back, or set CQE_MASTER_KEYS; in a new data folder "
            f"`{COMMAND} up` makes it"
        )
    if not is_private(file.stat()):
        raise SettingsError(f"others may read {file}: run `chmod 600 {file}`")
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"the master keys in {file} cannot be read: put a copy of the file back ({error})"
        ) from error
    try:
        return parse_keyring(text.strip())
    except SettingsError as error:
        raise SettingsError(f"{file} is damaged: put a copy of it back ({error})") from error


def parse_keyring(text: str) -> Keyring:
    """Read master keys in the form of CQE_MASTER_KEYS.

    Raises:
        SettingsError: a key is malformed.
    """
    keys: dict[str, bytes] = {}
    for entry in text.split(","):
        key_id, _, encoded = entry.strip().partition(":")
        try:
            key = base64.b64decode(encoded, validate=True)
        except ValueError:
            key = b""
        if not key_id.isalnum() or len(key) != 32 or key_id in keys:
            raise SettingsError(
                "CQE_MASTER_KEYS: each key must be id:base64 of 32 bytes, with an id of its own"
            )
        if len(set(key)) == 1:
            raise SettingsError(
                f"CQE_MASTER_KEYS: that is a sample key: `{COMMAND} master-key` prints a random one"
            )
        keys[key_id] = key
    return Keyring(keys)


def new_master_key() -> str:
    """Make a random master key in the form of CQE_MASTER_KEYS, with an id that no other key has."""
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    return f"k{secrets.token_hex(4)}:{key}"


def create_key_file(data_dir: Path) -> None:
    """Create the master key file with mode 0600 unless it exists."""
    with suppress(FileExistsError):
        write_private_file(data_dir / KEY_FILE, f"{new_master_key()}\n")


def _parts_of(token: str) -> list[str]:
    """Split a token into version, key id, nonce and sealed bytes."""
    parts = token.split(".")
    if len(parts) != 4:
        raise UnknownMasterKey("a stored secret is damaged: restore a backup")
    return parts


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
