"""What one process works with, built once from the settings; nothing connects before it is used."""

from dataclasses import dataclass

from app.core.database.session import Database
from app.core.queue import Doorbell, redis_url
from app.core.request_limits.state import RequestState
from app.core.secrets.encryption import Keyring, load_keyring
from app.core.secrets.signed_urls import UrlSigner
from app.core.settings import Settings
from app.core.storage import LocalStorage, open_storage


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts; services get the ones that they need as arguments."""

    settings: Settings
    db: Database
    doorbell: Doorbell
    keyring: Keyring
    storage: LocalStorage
    urls: UrlSigner
    state: RequestState


_installed: list[Runtime] = []


def build_runtime(settings: Settings) -> Runtime:
    """Build the parts and make them this process's own."""
    url = redis_url(settings)
    doorbell = Doorbell(url)
    keyring = load_keyring(settings)
    parts = Runtime(
        settings=settings,
        db=Database(settings, doorbell.ring),
        doorbell=doorbell,
        keyring=keyring,
        storage=open_storage(settings),
        urls=UrlSigner(keyring),
        state=RequestState(url, settings.data_dir),
    )
    _installed[:] = [parts]
    return parts


def runtime() -> Runtime:
    """Return this process's parts."""
    if not _installed:
        raise RuntimeError("no runtime: call create_app or build_runtime first")
    return _installed[0]
