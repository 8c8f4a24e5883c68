"""teams that accounts, keys and stored work are limited to

Revision ID: 0034
Revises: 0029
Created: 2026-11-24 02:50:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0032"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    for table in ("users", "api_keys"):
        columns = ["call_center_ids", "campaign_ids"]
        if table == "api_keys":
            columns.append("executive_ids")
        for name in columns:
            op.add_column(table, sa.Column(name, sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("users", sa.Column("executive_id", sa.String(), nullable=True))
    for table in ("export_jobs", "re_evaluations"):
        op.add_column(table, sa.Column("teams", sa.String(), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
