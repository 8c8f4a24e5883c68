"""Writer of parts in a process of its own: changes facts and writes parts until it is killed."""

import itertools
import os
import sys

from sqlalchemy import select

from app.analytics import jobs
from app.core.settings import Settings
from app.evaluations import service
from app.evaluations.models import Evaluation
from app.wiring import build_runtime


def write_parts() -> None:
    """Give one evaluation after the other the next higher score, and write the parts each time.

    Each time it prints a line.
    """
    runtime = build_runtime(Settings.from_env(os.environ))
    with runtime.db.reading() as session:
        ids = session.scalars(select(Evaluation.id).order_by(Evaluation.created_at)).all()
    for evaluation_id in itertools.cycle(ids):
        with runtime.db.writing() as session:
            evaluation = session.get_one(Evaluation, evaluation_id)
            evaluation.score = ((evaluation.score or 0) + 1) % 101
            session.flush()
            service.notify_changed(session, [evaluation])
        jobs.write_parts(runtime, at_least=1)
        sys.stdout.write("written\n")
        sys.stdout.flush()
