"""Database: reading and writing transactions, and bells after each commit."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    Connection,
    DateTime,
    Dialect,
    Engine,
    Index,
    Integer,
    MetaData,
    text,
)
from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.types import TypeDecorator, TypeEngine

from app.core.database.engine import CommitFlush, flush_file, make_engine
from app.core.database.locks import WriteLock
from app.core.errors import DiskFull, ServiceUnavailable
from app.core.hooks import Hooks
from app.core.queue import Bell
from app.core.settings import Settings

_POSTGRESQL_DISK_FULL = "53100"
_NAMING = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


class Table(DeclarativeBase):
    metadata = MetaData(naming_convention=_NAMING)
    # PostgreSQL's INTEGER ends at 2^31; SQLite's own holds 64 bits, and only it can number rows.
    type_annotation_map: ClassVar[dict[type, TypeEngine[Any]]] = {
        int: BigInteger().with_variant(Integer(), "sqlite")
    }


class UtcDateTime(TypeDecorator[datetime]):
    """A moment with a time zone, stored in UTC; a naive value is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive moment must not reach the database")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=UTC)


def first_known(*columns: str) -> Callable[[DefaultExecutionContext], Any]:
    """Return the default of a column: the first of these columns of the new row that has a value."""

    def default(context: DefaultExecutionContext) -> Any:
        row: Mapping[str, Any] = context.get_current_parameters()  # type: ignore[no-untyped-call]
        return next(row[column] for column in columns if row.get(column) is not None)

    return default


def partial_index(
    name: str, *columns: str, where: str, sqlite_where: str = "", unique: bool = False
) -> Index:
    """Return an index of the rows that meet a condition.

    `sqlite_where` is the condition in SQLite, if PostgreSQL's is not understood there.
    """
    return Index(
        name,
        *columns,
        unique=unique,
        sqlite_where=text(sqlite_where or where),
        postgresql_where=text(where),
    )


# What statements run on: a session, or a connection where only rows are read.
Reader = Session | Connection


def connection_of(reader: Reader) -> Connection:
    return reader.connection() if isinstance(reader, Session) else reader


class Database:
    """Opens transactions; docs/decisions/0002 says who asks for write transactions, and why."""

    def __init__(
        self,
        settings: Settings,
        ring: Callable[[Bell], object],
        hooks: Hooks | None = None,
        *,
        waits_for_disk: bool = True,
        flush: Callable[[int], None] = flush_file,
    ) -> None:
        self._ring = ring
        self._info = {"hooks": hooks or Hooks()}
        self.engine = make_engine(settings, waits_for_disk=waits_for_disk)
        # Every statement of a transaction sees the same moment, as is usual in SQLite.
        one_snapshot = {"sqlite_begin": "DEFERRED"}
        one_statement = {"sqlite_begin": ""}
        if not settings.is_sqlite:
            one_snapshot = {"isolation_level": "REPEATABLE READ"}
            one_statement = {"isolation_level": "AUTOCOMMIT"}
        self._reading_engine = self.engine.execution_options(**one_snapshot)
        self._statement_engine = self.engine.execution_options(**one_statement)
        self.write_lock = (
            WriteLock(self.engine.url.database) if settings.is_sqlite else nullcontext()
        )
        waits = waits_for_disk and settings.is_sqlite and settings.sqlite_synchronous == "FULL"
        self._commit_flush = CommitFlush(self.engine.url.database, flush) if waits else None

    def commits_quickly(self) -> bool:
        """Return whether a commit hardly waits: SQLite on a quick disk."""
        is_sqlite = self.engine.dialect.name == "sqlite"
        return is_sqlite and (self._commit_flush is None or self._commit_flush.is_quick)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open one snapshot for reading; nothing written in it is kept."""
        with (
            translated_errors(self.engine),
            Session(self._reading_engine, info=self._info) as session,
        ):
            yield session

    @contextmanager
    def reading_rows(self) -> Iterator[Connection]:
        """Open one snapshot for reading rows without the ORM, which takes half the time."""
        with translated_errors(self.engine), self._reading_engine.connect() as connection:
            yield connection

    @contextmanager
    def reading_once(self) -> Iterator[Connection]:
        """Open a connection for one statement, which saves the begin and the end of a transaction."""
        with translated_errors(self.engine), self._statement_engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Open a write transaction; commit when the block ends, then ring its bells.

        An exception rolls everything back and drops the bells. Inside `held` the block joins the
        held transaction, which commits later.
        """
        held = _held.get()
        if held is not None:
            yield held.join(self._transaction)
            return
        with self._transaction() as session:
            yield session
        self._after_commit(session)

    @contextmanager
    def held(self, on_open: Callable[[Session], None]) -> Iterator["HeldTransaction"]:
        """Hold the commit of the first `writing` inside until this block ends.

        So the answer of a request is stored in the transaction of its effect. `on_open` runs when that
        transaction opens, before anything else in it. Without a `writing` inside nothing is opened.
        """
        held = HeldTransaction(on_open)
        token = _held.set(held)
        try:
            with held.stack:
                yield held
        finally:
            _held.reset(token)
        if held.session is not None:
            self._after_commit(held.session)

    def confirm_earlier_commits(self) -> None:
        """Wait for the disk before an answer says that something is stored already.

        The request that stored it may still be waiting for the disk.
        """
        self._confirm(lambda: None)

    @contextmanager
    def _transaction(self) -> Iterator[Session]:
        with (
            translated_errors(self.engine),
            Session(self.engine, expire_on_commit=False, info=self._info) as session,
            self.write_lock,
            session.begin(),
        ):
            driver = session.connection().connection.driver_connection
            changes_before = _count_changes(driver)
            yield session
            for action in session.info.pop("before_commit", {}):
                action(session)
            session.flush()
            session.info["is_changed"] = _count_changes(driver) != changes_before

    def _after_commit(self, session: Session) -> None:
        act = partial(self._act, session)
        if session.info.pop("is_changed"):
            self._confirm(act)
        else:
            act()

    def _confirm(self, act: Callable[[], None]) -> None:
        """Wait until what was committed is on the disk, or leave that to the caller; then act."""
        flush = self._commit_flush
        if flush is None:
            act()
            return
        confirm = partial(_wait_and_act, flush, flush.mark(), act)
        unconfirmed = _unconfirmed.get()
        if unconfirmed is None:
            confirm()
        else:
            unconfirmed.append(confirm)

    def _act(self, session: Session) -> None:
        for action in session.info.pop("after_commit", []):
            action()
        for bell in dict.fromkeys(session.info.pop("bells", [])):
            self._ring(bell)


class WriteConnection:
    """Write transactions over one kept connection, by one thread at a time.

    `Database.writing` makes a session and takes a connection from the pool for each transaction.
    That costs more than a transaction of a few rows does, where there are a thousand a second. On
    SQLite these commits do not wait for the disk: they are for what may be done again.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._connection: Connection | None = None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction; commit when the block ends, roll back when it raises."""
        with translated_errors(self._db.engine):
            if self._connection is None:
                self._connection = self._db.engine.connect()
            try:
                with self._db.write_lock, self._connection.begin():
                    yield self._connection
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Give the connection back; the next transaction opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class HeldTransaction:
    """A write transaction that opens on first use and commits at the end of its holder."""

    def __init__(self, on_open: Callable[[Session], None]) -> None:
        self._on_open = on_open
        self.stack = ExitStack()
        self.session: Session | None = None

    def join(self, open_transaction: Callable[[], AbstractContextManager[Session]]) -> Session:
        """Return the session of the transaction, opening it the first time."""
        if self.session is None:
            self.session = self.stack.enter_context(open_transaction())
            self._on_open(self.session)
        return self.session


_held: ContextVar[HeldTransaction | None] = ContextVar("held", default=None)
_unconfirmed: ContextVar[list[Callable[[], None]] | None] = ContextVar("unconfirmed", default=None)


@contextmanager
def confirming_later(unconfirmed: list[Callable[[], None]] | None) -> Iterator[None]:
    """Do not wait for the disk after each commit inside: what waits for it is added to this list.

    No caller may learn of a change before this call has returned; it raises `ServiceUnavailable` when
    the disk does not confirm the change. With None, each commit inside waits.
    """
    token = _unconfirmed.set(unconfirmed)
    try:
        yield
    finally:
        _unconfirmed.reset(token)


def _wait_and_act(flush: CommitFlush, committed_at: int, act: Callable[[], None]) -> None:
    try:
        flush.wait(committed_at)
    finally:
        # Also where the disk did not confirm the commit, which others see.
        act()


def ring_after_commit(session: Session, bell: Bell) -> None:
    """Ask for a bell once this transaction is durable; equal bells ring once."""
    session.info.setdefault("bells", []).append(bell)


def before_commit(session: Session, action: Callable[[Session], object]) -> None:
    """Ask for a call as the last work of this transaction; equal actions are called once."""
    session.info.setdefault("before_commit", {})[action] = None


def after_commit(session: Session, action: Callable[[], object]) -> None:
    """Ask for a call once this transaction is durable."""
    session.info.setdefault("after_commit", []).append(action)


@contextmanager
def translated_errors(engine: Engine) -> Iterator[None]:
    """Raise `ServiceUnavailable` for a database that is damaged, locked or does not answer.

    A database without space left raises `DiskFull`, which is one of these.
    """
    driver = engine.dialect.loaded_dbapi
    try:
        yield
    # SQLAlchemy leaves the driver's errors while it opens a connection as they are.
    except (OperationalError, driver.OperationalError) as error:
        if _is_disk_full(error.orig if isinstance(error, DBAPIError) else error):
            raise DiskFull from error
        raise ServiceUnavailable(
            "The database is busy or unreachable; try again.", retry_after_s=1
        ) from error
    except (DBAPIError, sqlite3.DatabaseError) as error:
        # SQLite's errors of damaged files have no class of their own.
        if type(error) in (DatabaseError, sqlite3.DatabaseError):
            raise ServiceUnavailable("The database is damaged.", retry_after_s=60) from error
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            raise ServiceUnavailable(
                "The database is unreachable; try again.", retry_after_s=1
            ) from error
        raise


def _is_disk_full(error: BaseException | None) -> bool:
    is_sqlite = isinstance(error, sqlite3.Error)
    code = getattr(error, "sqlite_errorcode" if is_sqlite else "sqlstate", None)
    return code in (sqlite3.SQLITE_FULL, _POSTGRESQL_DISK_FULL)


def _count_changes(connection: Any) -> int:
    """Return how many rows a connection of SQLite has changed so far."""
    return connection.total_changes if isinstance(connection, sqlite3.Connection) else 0
