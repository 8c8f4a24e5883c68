"""Released migrations stay as they are: existing databases were created by them."""

import hashlib
import json
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from app.core.settings import Settings
from app.operations import migrating

ROOT = Path(__file__).resolve().parents[2]
# Append the revisions of a release, and change the digest below; never change an older one.
RELEASED = (
    *("0001", "0002", "0003", "0004", "0005", "0006"),
    *("0007", "0008", "0009", "0010", "0011", "0012"),
    *("0013", "0014", "0015", "0016", "0017", "0018"),
    *("0019", "0020", "0021", "0022", "0023", "0024"),
    *("0025", "0026", "0028", "0029", "0031", "0032"),
    *("0034", "0035", "0036", "0037", "0038", "0039"),
    *("0040", "0041", "0042", "0043", "0044", "0045"),
)
# The last revision of 0.1.0; those after it say whether hosts can be upgraded one by one.
FIRST_RELEASE = "0025"
# Of the tables, columns and indexes that the released revisions make.
RELEASED_TABLES = "5a9745bec435b8b03e891026d6669c0e3abb070b32ddea71c7e0d9ab5b63526d"


def config() -> Config:
    made = Config()
    made.set_main_option("script_location", str(ROOT / "migrations"))
    return made


def test_released_revisions_are_kept_and_come_first() -> None:
    scripts = ScriptDirectory.from_config(config()).walk_revisions()
    revisions = [script.revision for script in scripts][::-1]
    assert tuple(revisions[: len(RELEASED)]) == RELEASED


def test_released_migrations_make_the_same_tables(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with migrating.migration_engine(settings).begin() as connection:
        to_release = config()
        to_release.attributes["connection"] = connection
        command.upgrade(to_release, RELEASED[-1])
        inspector = inspect(connection)
        tables = {
            table: [
                sorted([column["name"], column["nullable"]] for column in columns),
                sorted(str(index["name"]) for index in inspector.get_indexes(table)),
            ]
            for (_, table), columns in inspector.get_multi_columns().items()
        }
    made = hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()
    assert made == RELEASED_TABLES


def test_migrations_say_their_kind_and_expansions_only_add(tmp_path: Path) -> None:
    scripts = [*ScriptDirectory.from_config(config()).walk_revisions()][::-1]
    with migrating.migration_engine(Settings(data_dir=tmp_path)).begin() as connection:
        to = config()
        to.attributes["connection"] = connection
        command.upgrade(to, FIRST_RELEASE)
        before = columns_of(connection)
        for script in scripts[RELEASED.index(FIRST_RELEASE) + 1 :]:
            assert script.module.kind in {"expand", "contract"}
            command.upgrade(to, script.revision)
            after = columns_of(connection)
            if script.module.kind == "expand":
                assert before.keys() <= after.keys()
                must_be_filled = {column for column, is_filled in after.items() if is_filled}
                tables = {table for table, _ in before}
                assert {column for column in must_be_filled if column[0] in tables} <= before.keys()
            before = after


def columns_of(connection: Connection) -> dict[tuple[str, str], bool]:
    """Map each table and column to whether old code, which does not know it, fails to fill it."""
    return {
        (table, column["name"]): not column["nullable"] and column["default"] is None
        for (_, table), columns in inspect(connection).get_multi_columns().items()
        for column in columns
    }
