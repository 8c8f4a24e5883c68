"""Index of what was said: the masked words of the newest transcript of each source.

SQLite has it as an FTS5 table beside `spoken_words`, PostgreSQL as the column itself. The words are
indexed in the transaction that stores their transcript, and removed in the one that erases it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    and_,
    bindparam,
    cast,
    delete,
    false,
    func,
    insert,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import TSQUERY
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session, undefer
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.core.database.session import Reader, connection_of
from app.evaluations.models import CREATE_SEARCH_INDEX, SEARCH_INDEX, SpokenWords, StoredTranscript
from app.evaluations.search.terms import Term, indexed_words, terms_of

_ADD = text(f"INSERT INTO {SEARCH_INDEX} (rowid, words) VALUES (:row_id, :words)")
_REMOVE = text(
    f"INSERT INTO {SEARCH_INDEX} ({SEARCH_INDEX}, rowid, words) VALUES ('delete', :row_id, :words)"
)
# Of the index alone, which is read as far as the limit.
_FIND = text(f"SELECT rowid FROM {SEARCH_INDEX} WHERE {SEARCH_INDEX} MATCH :query LIMIT :most")
_MERGE = text(f"INSERT INTO {SEARCH_INDEX} ({SEARCH_INDEX}, rank) VALUES ('merge', :pages)")
_MERGED_PAGES = 500
_FILLED = 200
# So many matches are joined with their evaluations in some hundredths of a second.
_FEW = 5_000


class _SaysAll(FunctionElement[bool]):
    """Condition that the words of a row match a query, given in the form of each database."""

    type = Boolean()
    inherit_cache = True

    def self_group(self, against: Any = None) -> Any:
        """Stay as it is: `… = 1` would keep SQLite from using the index."""
        return self


@compiles(_SaysAll, "sqlite")
def _on_sqlite(element: _SaysAll, compiler: SQLCompiler, **options: Any) -> str:
    fts, _ = element.clauses
    query = compiler.process(fts, **options)
    return (
        f"spoken_words.id IN (SELECT rowid FROM {SEARCH_INDEX} WHERE {SEARCH_INDEX} MATCH {query})"
    )


@compiles(_SaysAll, "postgresql")
def _on_postgresql(element: _SaysAll, compiler: SQLCompiler, **options: Any) -> str:
    _, tsquery = element.clauses
    return f"spoken_words.words @@ CAST({compiler.process(tsquery, **options)} AS tsquery)"


def source_says(source_id: ColumnElement[str], asked: str) -> ColumnElement[bool]:
    """Match the sources in which all words and phrases were said; none where nothing is asked."""
    terms = terms_of(asked)
    if not terms:
        return false()
    return source_id.in_(select(SpokenWords.source_id).where(_says_all(terms)))


def is_frequent(session: Reader, asked: str) -> bool:
    """Return whether more than a few thousand sources say what is asked."""
    terms = terms_of(asked)
    if not terms:
        return False
    if _is_sqlite(session):
        found = session.execute(_FIND, {"query": " ".join(map(_fts, terms)), "most": _FEW + 1})
    else:
        found = session.execute(select(SpokenWords.id).where(_says_all(terms)).limit(_FEW + 1))
    return len(found.all()) > _FEW


def words_say(session: Reader, asked: str) -> ColumnElement[bool]:
    """Match a row of `SpokenWords` by its words alone, without the index."""
    terms = terms_of(asked)
    if not _is_sqlite(session):
        return SpokenWords.words.op("@@")(cast(" & ".join(map(_tsquery, terms)), TSQUERY))
    said = literal(" ").concat(SpokenWords.words).concat(" ")
    return and_(
        *(
            func.instr(said, f" {' '.join(term.words)}{'' if term.is_beginning else ' '}") > 0
            for term in terms
        )
    )


def record(session: Session, transcripts: Sequence[StoredTranscript]) -> None:
    """Index transcripts, each the newest of its source."""
    session.flush()
    forget(session, [transcript.source_id for transcript in transcripts])
    rows = [
        {
            "source_id": transcript.source_id,
            "transcript_id": transcript.id,
            "words": _words(session, transcript.segments),
        }
        for transcript in transcripts
    ]
    added = insert(SpokenWords).returning(SpokenWords.id, sort_by_parameter_order=True)
    ids = session.scalars(added, rows).all()
    _add(session, [(row_id, row["words"]) for row_id, row in zip(ids, rows, strict=True)])


def forget(session: Session, source_ids: Sequence[str]) -> None:
    rows = SpokenWords.source_id.in_(source_ids)
    if _is_sqlite(session):
        known = session.execute(select(SpokenWords.id, SpokenWords.words).where(rows))
        removed = [
            {"row_id": row_id, "words": words} for row_id, words in known if words is not None
        ]
        if removed:
            session.execute(_REMOVE, removed)
    session.execute(delete(SpokenWords).where(rows).execution_options(synchronize_session=False))


def fill(session: Session) -> int:
    """Index a batch of transcripts that were stored before there was an index; return how many."""
    waiting = select(SpokenWords.id, SpokenWords.transcript_id).where(SpokenWords.words.is_(None))
    rows = session.execute(waiting.order_by(SpokenWords.id).limit(_FILLED)).all()
    ids = [row.transcript_id for row in rows]
    stored = session.scalars(
        select(StoredTranscript)
        .options(undefer(StoredTranscript.segments))
        .where(StoredTranscript.id.in_(ids))
    )
    segments = {transcript.id: transcript.segments for transcript in stored}
    filled = [(row.id, _words(session, segments[row.transcript_id])) for row in rows]
    for row_id, words in filled:
        session.execute(update(SpokenWords).where(SpokenWords.id == row_id).values(words=words))
    _add(session, filled)
    return len(rows)


def merge(session: Session, *, is_first: bool) -> bool:
    """Merge a few pages of the index, so that removed words leave its file; False when all are."""
    if not _is_sqlite(session):
        return False
    changes = text("SELECT total_changes()")
    before = session.scalar(changes) or 0
    # A negative number lets all parts of the index take part.
    session.execute(_MERGE, {"pages": -_MERGED_PAGES if is_first else _MERGED_PAGES})
    return is_first or (session.scalar(changes) or 0) - before >= 2


def rebuild(session: Session) -> None:
    """Rebuild the index of a SQLite database from its words, as after a restore."""
    if _is_sqlite(session):
        session.execute(text(f"DROP TABLE IF EXISTS {SEARCH_INDEX}"))
        session.execute(text(CREATE_SEARCH_INDEX["sqlite"]))
        session.execute(text(f"INSERT INTO {SEARCH_INDEX} ({SEARCH_INDEX}) VALUES ('rebuild')"))


def _says_all(terms: Sequence[Term]) -> _SaysAll:
    queries: tuple[BindParameter[str], BindParameter[str]] = (
        bindparam(None, " ".join(map(_fts, terms)), unique=True),
        bindparam(None, " & ".join(map(_tsquery, terms)), unique=True),
    )
    return _SaysAll(*queries)


def _add(session: Session, rows: Sequence[tuple[int, str]]) -> None:
    if rows and _is_sqlite(session):
        session.execute(_ADD, [{"row_id": row_id, "words": words} for row_id, words in rows])


def _words(session: Session, segments: Sequence[Mapping[str, Any]]) -> str:
    words = indexed_words([segment["text"] for segment in segments])
    if _is_sqlite(session):
        return " ".join(words)
    return " ".join(f"'{word}':{place}" for place, word in enumerate(words, start=1))


def _fts(term: Term) -> str:
    return f'"{" ".join(term.words)}"{"*" if term.is_beginning else ""}'


def _tsquery(term: Term) -> str:
    words = " <-> ".join(f"'{word}'" for word in term.words)
    return f"{words}:*" if term.is_beginning else f"({words})"


def _is_sqlite(session: Reader) -> bool:
    return connection_of(session).dialect.name == "sqlite"
