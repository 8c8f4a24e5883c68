"""traces of the requests and jobs that wrote jobs and events

Revision ID: 0024
Revises: 0023
Created: 2026-11-22 20:50:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None
kind = "expand"
_TABLES = (
    "events",
    "processing_jobs",
    "waveform_jobs",
    "evaluation_jobs",
    "scorecard_trials",
    "imports",
    "export_jobs",
    "erasures",
)


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("traceparent", sa.String(), nullable=True))


def downgrade() -> None:
    for table in _TABLES:
        op.drop_column(table, "traceparent")
