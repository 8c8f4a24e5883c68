"""merged campaigns

Revision ID: 0047
Revises: 0046
Created: 2026-11-29 06:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.create_table(
        "merged_campaigns",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("into_id", sa.String(), nullable=False),
        sa.Column("merged_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["into_id"], ["campaigns.id"], name=op.f("fk_merged_campaigns_into_id_campaigns")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_merged_campaigns")),
        sa.UniqueConstraint("external_id", name=op.f("uq_merged_campaigns_external_id")),
    )
    op.create_index(op.f("ix_merged_campaigns_into_id"), "merged_campaigns", ["into_id"])
    op.create_index(op.f("ix_merged_campaigns_name"), "merged_campaigns", ["name"])


def downgrade() -> None:
    op.drop_table("merged_campaigns")
