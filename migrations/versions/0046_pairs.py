"""both sides of calls as two uploads, and scorecards of recordings

Revision ID: 0046
Revises: 0045
Created: 2026-11-29 07:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None
kind = "expand"

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("audio_files", sa.Column("scorecard_id", sa.String(), nullable=True))
    op.add_column("waveform_jobs", sa.Column("customer_later_ms", _WHOLE, nullable=True))


def downgrade() -> None:
    op.drop_column("waveform_jobs", "customer_later_ms")
    op.drop_column("audio_files", "scorecard_id")
