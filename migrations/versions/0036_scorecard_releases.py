"""releases: when agents see what a scorecard has judged

Revision ID: 0036
Revises: 0035
Created: 2026-11-28 21:20:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.create_table(
        "scorecard_releases",
        sa.Column("scorecard_id", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("days", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.PrimaryKeyConstraint("scorecard_id", name=op.f("pk_scorecard_releases")),
    )


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
