"""Runtime: what one process works with, built once from the settings; it connects on first use."""

from dataclasses import dataclass

from app.core.database.session import Database
from app.core.hooks import Hooks
from app.core.metrics import ProcessCounts
from app.core.process import owner
from app.core.process.traces import Traces
from app.core.queue import Doorbell, is_shared_by_hosts, redis_url
from app.core.request_limits.nonces import DatabaseNonces
from app.core.request_limits.state import RequestState
from app.core.secrets.encryption import Keyring
from app.core.secrets.signed_urls import UrlSigner
from app.core.settings import Settings
from app.core.storage.objects import Storage
from app.core.storage.opening import open_storage


@dataclass(frozen=True, slots=True)
class Runtime:
    """The tools of a process; services get the ones that they need as arguments."""

    settings: Settings
    db: Database
    doorbell: Doorbell
    keyring: Keyring
    storage: Storage
    urls: UrlSigner
    state: RequestState
    hooks: Hooks
    counts: ProcessCounts
    traces: Traces


def open_runtime(
    settings: Settings, keyring: Keyring, hooks: Hooks, counts: ProcessCounts
) -> Runtime:
    """Build the runtime of a process with these hooks (see `app.wiring`)."""
    owner.set_host_id(settings.host_id)
    url = redis_url(settings)
    doorbell = Doorbell(url)
    db = Database(settings, doorbell.ring, hooks)
    nonces = None if settings.is_sqlite else DatabaseNonces(db)
    return Runtime(
        settings=settings,
        db=db,
        doorbell=doorbell,
        keyring=keyring,
        storage=open_storage(settings),
        urls=UrlSigner(keyring),
        # Within one host the file is as good as Redis, and takes half the time.
        state=RequestState(url if is_shared_by_hosts(url) else "", settings.data_dir, nonces),
        hooks=hooks,
        counts=counts,
        traces=Traces(settings),
    )
