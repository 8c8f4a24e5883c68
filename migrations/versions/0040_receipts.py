"""receipts of agents, and whom a dispute is addressed to

Revision ID: 0040
Revises: 0039
Created: 2026-11-28 21:35:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None
kind = "expand"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("reviews", sa.Column("addressee_id", sa.String(), nullable=True))
    op.create_table(
        "evaluation_receipts",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("evaluation_id", sa.String(), nullable=False),
        sa.Column("revision", _INTEGER, nullable=False),
        sa.Column("user_id", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluations.id"],
            name=op.f("fk_evaluation_receipts_evaluation_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation_receipts")),
    )
    op.create_index(
        "ix_evaluation_receipts_evaluation", "evaluation_receipts", ["evaluation_id", "id"]
    )


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
