"""requests of exports

Revision ID: 0008
Revises: 0007
Created: 2026-11-22 08:20:00
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.alter_column("export_jobs", "wish", new_column_name="request")


def downgrade() -> None:
    op.alter_column("export_jobs", "request", new_column_name="wish")
