"""64-bit integers on PostgreSQL, as everywhere else

Revision ID: 0021
Revises: 0020
Created: 2026-11-22 14:55:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None
kind = "expand"

_COLUMNS = {
    "scorecard_drafts": ("base_version", "version", "trial_version"),
    "scorecard_trials": ("baseline_version", "progress", "priority", "attempts"),
}


def upgrade() -> None:
    _alter(sa.BigInteger())


def downgrade() -> None:
    _alter(sa.Integer())


def _alter(kind: sa.types.TypeEngine) -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table, columns in _COLUMNS.items():
            for column in columns:
                op.alter_column(table, column, type_=kind)
