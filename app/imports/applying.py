"""The one function that writes records, whichever way they came in."""

import logging
from collections.abc import Sequence

from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from app.core.database.transaction_lock import one_at_a_time
from app.core.errors import Conflict, InvalidInput, NotFound
from app.imports.formats.items import BadLine, Fault
from app.imports.kinds import EVALUATED, WRITERS
from app.imports.names import Names
from app.imports.options import SKIP, Options
from app.imports.preparing import Checked, Prepared, sentence
from app.imports.tally import Outcome, Tally

logger = logging.getLogger(__name__)


class Rehearsed(Exception):
    """A dry run: what would have come of it; the transaction is to be rolled back."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        super().__init__("nothing is kept")


class _LeftAsItIs(Exception):
    """The record is there already and is not to be touched."""


def apply(session: Session, batch: Sequence[Prepared], options: Options) -> Tally:
    """Write a batch, each record on its own: what is wrong with one does not stop the others.

    Raises:
        Rehearsed: in a dry run, at the end.
    """
    # Two imports that meet at the same records in another order would wait for each other, and
    # both would make an engagement of the same name.
    one_at_a_time(session, "imports")
    tally = Tally()
    names = Names(session, create=options.create_missing, engagement_type=options.engagement_type)
    for each in batch:
        if each.checked is None:
            tally.fail(each.bad, each.file)
        else:
            _apply_one(session, each, each.checked, options, names, tally)
    if options.dry_run:
        raise Rehearsed(tally)
    return tally


def _apply_one(
    session: Session,
    found: Prepared,
    checked: Checked,
    options: Options,
    names: Names,
    tally: Tally,
) -> None:
    try:
        with session.begin_nested():
            outcome, evaluation_id = _write(session, found.kind, checked, options, names)
        tally.note(outcome, evaluation_id)
        return
    except _LeftAsItIs:
        tally.note(Outcome.SKIPPED)
    except InvalidInput as error:
        tally.fail(_bad(found, Fault.VALIDATION_ERROR, sentence(error)), found.file)
    except (Conflict, NotFound) as error:
        tally.fail(_bad(found, Fault.CONFLICT, error.message), found.file)
    except (IntegrityError, DataError):
        logger.exception("a record of line %d was refused by the database", found.bad.line)
        message = "The database refused this record; it is told in the log."
        tally.fail(_bad(found, Fault.INTERNAL_ERROR, message), found.file)
    names.forget()


def _write(
    session: Session, kind: str, checked: Checked, options: Options, names: Names
) -> tuple[Outcome, str | None]:
    values = {**checked.values, **names.ids(checked.names)}
    record, created, changed = WRITERS[kind](session, checked.external_id, values)
    if not created and options.on_conflict == SKIP:
        raise _LeftAsItIs
    # Also of one that is like that already: what was judged is not judged again, and one that was
    # only kept before may be wanted judged now.
    ask = EVALUATED.get(kind) if options.evaluate else None
    evaluation_id = ask(session, record, options.scorecard_id) if ask is not None else None
    if not created and not changed:
        return Outcome.SKIPPED, evaluation_id
    return Outcome.CREATED if created else Outcome.UPDATED, evaluation_id


def _bad(found: Prepared, code: Fault, message: str) -> BadLine:
    return BadLine(found.bad.line, code, message, found.bad.external_id)
