"""check values of master keys

Revision ID: 0014
Revises: 0013
Created: 2026-11-22 11:20:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "master_key_checks",
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_master_key_checks")),
    )


def downgrade() -> None:
    op.drop_table("master_key_checks")
