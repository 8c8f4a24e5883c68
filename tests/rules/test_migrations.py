"""Released migrations stay as they are: databases out there were made by them."""

import hashlib
import json
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from app.core.settings import Settings
from app.operations import migrating

ROOT = Path(__file__).resolve().parents[2]
# Append the revisions of a release, and change the digest below; never change an older one.
RELEASED = (
    *("0001", "0002", "0003", "0004", "0005", "0006"),
    *("0007", "0008", "0009", "0010", "0011", "0012"),
    *("0013", "0014", "0015", "0016", "0017"),
)
# Of the tables, columns and indexes that the released revisions make.
RELEASED_TABLES = "8cff5ee408b819c9055a9b85687a8fbf232322b258ec63e83602b33ec25ad7aa"


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
