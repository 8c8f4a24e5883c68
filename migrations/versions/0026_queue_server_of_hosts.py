"""queue server of hosts

Revision ID: 0026
Revises: 0025
Created: 2026-11-23 20:20:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.add_column("hosts", sa.Column("queue_server", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("hosts", "queue_server")
