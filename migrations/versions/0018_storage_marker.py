"""id of the deployment, which is also the marker of its storage

Revision ID: 0018
Revises: 0017
Created: 2026-11-22 14:40:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.create_table(
        "deployments",
        sa.Column("one", sa.Boolean(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("marked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("one", name=op.f("pk_deployments")),
    )


def downgrade() -> None:
    op.drop_table("deployments")
