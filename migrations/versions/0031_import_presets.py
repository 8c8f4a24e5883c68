"""presets of columns that are kept

Revision ID: 0031
Revises: 0029
Created: 2026-11-24 02:40:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0029"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.create_table(
        "import_presets",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("columns", sa.JSON(), nullable=False),
        sa.Column("roles", sa.JSON(), nullable=False),
        sa.Column("timezone", sa.String(), nullable=True),
        sa.Column("platform", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_import_presets")),
    )


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
