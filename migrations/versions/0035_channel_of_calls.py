"""channel of voice calls: of a bot, or of people

Revision ID: 0035
Revises: 0034
Created: 2026-11-28 21:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    channel = sa.Column("channel", sa.String(), nullable=False, server_default="voice_bot")
    op.add_column("voice_calls", channel)


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
