"""files of imports

Revision ID: 0017
Revises: 0016
Created: 2026-11-22 12:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("imports", sa.Column("file_id", sa.String(), nullable=True))
    op.add_column("imports", sa.Column("file_name", sa.String(), nullable=True))


def downgrade() -> None:
    op.drop_column("imports", "file_name")
    op.drop_column("imports", "file_id")
