"""Migrations of full tables: the days of conversations, and the words that were said."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, text

from app.core.settings import Settings
from app.operations import migrating
from tests.conftest import POSTGRES_URL, new_database

ROOT = Path(__file__).resolve().parents[2]
_PLAIN = (int, float, bool, str)
START, INTAKE, LATER = (f"2026-{day} 09:00:00.000000" for day in ("01-05", "11-20", "11-22"))


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    with ExitStack() as stack:
        url = ""
        if request.param == "postgresql":
            if not POSTGRES_URL:
                pytest.skip("needs a PostgreSQL server")
            admin = create_engine(POSTGRES_URL, isolation_level="AUTOCOMMIT")
            stack.callback(admin.dispose)
            database = stack.enter_context(new_database(admin))
            url = admin.url.set(database=database).render_as_string(hide_password=False)
        yield Settings(data_dir=tmp_path, database_url=url)


def to(revision: str, settings: Settings) -> None:
    config = Config()
    config.set_main_option("script_location", str(ROOT / "migrations"))
    with migrating.migration_engine(settings).connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.commit()


def insert(connection: Connection, table: str, **values: Any) -> None:
    """Insert a row; columns without a value that must have one get an empty one."""
    columns = connection.dialect.get_columns(connection, table)
    for column in columns:
        if column["name"] in values or column["nullable"] or column["default"] is not None:
            continue
        python_type = column["type"].python_type
        values[column["name"]] = python_type(0) if python_type in _PLAIN else "{}"
    names = ", ".join(f'"{name}"' for name in values)
    given = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({given})"), values)


def fill(connection: Connection) -> None:
    stamps = {"created_at": INTAKE, "updated_at": INTAKE}
    insert(connection, "conversations", id="conv_1", started_at=START, **stamps)
    insert(connection, "conversations", id="conv_2", **stamps)
    insert(connection, "voice_calls", id="call_1", started_at=START, **stamps)
    insert(connection, "audio_files", id="aud_1", recorded_at=START, **stamps)
    judged = {"created_at": LATER, "updated_at": LATER}
    of_source = {"source_type": "conversation", "revision": 1}
    insert(
        connection,
        "evaluations",
        id="eval_1",
        source_id="conv_1",
        started_at=START,
        **of_source,
        **judged,
    )
    # Judged again days after the conversation came in, whose start nobody knows.
    insert(connection, "evaluations", id="eval_2", source_id="conv_2", **of_source, **judged)
    for number in (1, 2):
        insert(
            connection,
            "evaluation_facts",
            id=number,
            source_id=f"conv_{number}",
            evaluation_id=f"eval_{number}",
            created_at=LATER,
            part="2026-11",
        )
    insert(
        connection,
        "evaluation_fact_parts",
        month="2026-11",
        file="a",
        first_at=LATER,
        last_at=LATER,
    )


def test_rows_get_the_times_of_their_conversations(settings: Settings) -> None:
    to("0026", settings)
    engine = migrating.migration_engine(settings)
    with engine.begin() as connection:
        fill(connection)
    to("0028", settings)
    with engine.connect() as connection:
        times = {
            row.id: str(row.conversation_at)[:10]
            for table in ("conversations", "voice_calls", "audio_files", "evaluations")
            for row in connection.execute(text(f"SELECT id, conversation_at FROM {table}"))
        }
        start, intake = START[:10], INTAKE[:10]
        assert times == {
            "conv_1": start,
            "conv_2": intake,
            "call_1": start,
            "aud_1": start,
            "eval_1": start,
            "eval_2": intake,
        }
        facts = connection.execute(
            text("SELECT conversation_at, part, is_pending FROM evaluation_facts ORDER BY id")
        ).all()
        assert [str(row.conversation_at)[:10] for row in facts] == [start, intake]
        assert all(row.part is None and row.is_pending for row in facts)
        assert connection.scalar(text("SELECT count(*) FROM evaluation_fact_parts")) == 0


def test_the_newest_transcripts_wait_to_be_indexed(settings: Settings) -> None:
    to("0028", settings)
    engine = migrating.migration_engine(settings)
    with engine.begin() as connection:
        for row_id, erased_at in (("tsc_1", None), ("tsc_2", None), ("tsc_3", LATER)):
            source_id = "conv_2" if erased_at else "conv_1"
            row = {"id": row_id, "source_id": source_id, "erased_at": erased_at}
            insert(connection, "transcripts", created_at=LATER, **row)
    to("0029", settings)
    with engine.connect() as connection:
        words = connection.execute(text("SELECT source_id, transcript_id, words FROM spoken_words"))
        assert [tuple(row) for row in words] == [("conv_1", "tsc_2", None)]
