"""scorecards of campaigns by channel, and the default of a channel

Revision ID: 0032
Revises: 0031
Created: 2026-11-24 02:30:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.add_column("campaigns", sa.Column("scorecard_ids", sa.JSON(), nullable=True))
    op.create_table(
        "channel_scorecards",
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("scorecard_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["scorecard_id"],
            ["scorecards.id"],
            name=op.f("fk_channel_scorecards_scorecard_id"),
        ),
        sa.PrimaryKeyConstraint("channel", name=op.f("pk_channel_scorecards")),
    )


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
