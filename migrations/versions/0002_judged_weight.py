"""judged weight of evaluations

Revision ID: 0002
Revises: 0001
Created: 2026-11-22 05:30:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("evaluations", sa.Column("judged_weight_percent", sa.Double(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("evaluations") as batch_op:
        batch_op.drop_column("judged_weight_percent")
