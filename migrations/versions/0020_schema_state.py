"""the oldest code that works with the tables

Revision ID: 0020
Revises: 0019
Created: 2026-11-22 14:50:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None
kind = "contract"  # code of 0019 works with its own revision only


def upgrade() -> None:
    state = op.create_table(
        "schema_state",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("oldest_code", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schema_state")),
    )
    op.bulk_insert(state, [{"id": 1, "oldest_code": revision}])


def downgrade() -> None:
    op.drop_table("schema_state")
