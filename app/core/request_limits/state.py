"""Request state besides the database: nonces, limits, call counts and the key version.

One round trip does it all, atomically: in a small SQLite file shared by the processes of this host,
or in Redis where several hosts may share one. With Redis away the file takes over at once.
"""

import logging
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Protocol

from redis.exceptions import RedisError

from app.core.process.log import OnceAMinute
from app.core.queue import Breaker
from app.core.request_limits.nonces import DatabaseNonces
from app.core.request_limits.redis_state import RedisState, may_have_run
from app.core.request_limits.sqlite_state import SqliteState, StateFileError
from app.core.request_limits.values import Admission, CallCount, CountBatch, Visit

logger = logging.getLogger(__name__)
logger.addFilter(OnceAMinute())


class StateStore(Protocol):
    """Interface of both stores; see `RequestState`.

    `take_counts` sets the counts of calls aside until `drop_counts` says that the database has them.
    """

    def visit(self, visit: Visit) -> Admission: ...
    def uncount(self, count: CallCount) -> None: ...
    def new_key_version(self) -> None: ...
    def take_counts(self, batch_id: str) -> CountBatch | None: ...
    def drop_counts(self, batch_id: str) -> None: ...


class StateUnavailable(Exception):
    """Neither store answers."""


@dataclass(frozen=True, slots=True)
class CountStore:
    """One store and its name in a batch id, so that batches of two stores never mix."""

    name: str
    store: StateStore


class RequestState:
    """The request state: Redis while it answers, otherwise the file.

    Args:
        redis_url: the server that hosts share; empty for the file alone.
        nonces: where hosts share their nonces; by default Redis and the file.
    """

    def __init__(
        self, redis_url: str, data_dir: Path, nonces: DatabaseNonces | None = None
    ) -> None:
        self._nonces = nonces
        self._redis = RedisState(redis_url) if redis_url else None
        self._file = SqliteState(data_dir / "state.db")
        self._breaker = Breaker()
        self._web_hosts = 1
        self._lock = threading.Lock()

    def visit(self, visit: Visit) -> Admission:
        """Spend the nonce, check every limit (deny if any denies), count the call.

        A nonce is spent in the database that hosts share. Without one it is always spent in the
        file too: Redis may fail, or come back empty, at any time, and what one store has seen must
        not be fresh for the other.

        Raises:
            StateUnavailable: the nonce cannot be spent in the file, or neither store answers.
        """
        if visit.nonce and self._nonces is not None:
            if not self._nonces.spend(visit):
                return replace(self.visit(Visit(now=visit.now)), nonce_fresh=False)
            visit = replace(visit, nonce="")
        try:
            if self._redis is None and self._web_hosts == 1:
                return self._file.visit(visit)
            if self._redis is None or self._breaker.open:
                return self._visit_alone(visit)
            if visit.nonce and not self._file.spend_nonce(visit):
                nothing = Visit(now=visit.now)
                return replace(self._visit_redis(self._redis, nothing), nonce_fresh=False)
            return self._visit_redis(self._redis, visit)
        except StateFileError as error:
            raise StateUnavailable(str(error)) from error

    def uncount(self, count: CallCount) -> None:
        """Uncount a call: it ended in an internal error and is not metered."""
        try:
            if self._redis is not None and not self._breaker.open:
                self._redis.uncount(count)
            else:
                self._file.uncount(count)
        except (RedisError, StateFileError) as error:
            logger.warning("a failed call stays counted: %s", error)

    def new_key_version(self) -> None:
        """Make every process reload API keys at its next request."""
        try:
            if self._redis is not None:
                self._redis.new_key_version()
        except RedisError as error:
            self._away(error)
        self._file.new_key_version()

    def share_limits(self, web_hosts: int) -> None:
        """Divide the limits of the file by the number of web hosts; limits in Redis already cover all hosts."""
        self._web_hosts = web_hosts

    @property
    def host_source(self) -> CountStore:
        """The store with the calls that only this host has counted."""
        return CountStore("file", self._file)

    @property
    def sources(self) -> list[CountStore]:
        """The stores that hold call counts, to be drained by the meter."""
        sources = [self.host_source]
        if self._redis is not None and not self._breaker.open:
            sources.append(CountStore("redis", self._redis))
        return sources

    def purge(self, now_s: float) -> None:
        """Delete what has expired; the keys of Redis expire by themselves."""
        if self._nonces is not None:
            self._nonces.purge()
        try:
            self._file.purge(now_s)
        except StateFileError as error:
            logger.warning("the state file was not purged: %s", error)

    def note_failure(self, error: Exception) -> None:
        """Note that Redis failed elsewhere, so that requests do not try it one by one."""
        self._away(error)

    def _visit_redis(self, redis: RedisState, visit: Visit) -> Admission:
        """Visit Redis, or the file where Redis fails; the nonce is spent in the file already."""
        try:
            return redis.visit(visit)
        except RedisError as error:
            self._away(error)
            # Redis may have counted this call already: losing it is better than billing it twice.
            count = None if may_have_run(error) else visit.count
            return self._visit_alone(replace(visit, nonce="", count=count))

    def _visit_alone(self, visit: Visit) -> Admission:
        """Visit the file; no other host can say now that a key has changed, so each is loaded."""
        limits = [
            replace(limit, limit=max(1, limit.limit // self._web_hosts)) for limit in visit.limits
        ]
        return replace(self._file.visit(replace(visit, limits=limits)), key_version=token_hex(8))

    def _away(self, error: Exception) -> None:
        with self._lock:
            if not self._breaker.open:
                logger.warning("Redis is unreachable, the state file takes over: %s", error)
            self._breaker.trip()
