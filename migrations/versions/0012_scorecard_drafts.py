"""drafts of scorecards

Revision ID: 0012
Revises: 0011
Created: 2026-11-22 11:30:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "scorecard_drafts",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("scorecard_id", sa.String(), nullable=True),
        sa.Column("base_version", sa.Integer(), nullable=True),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("updated_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["updated_by"], ["users.id"], name=op.f("fk_scorecard_drafts_updated_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scorecard_drafts")),
        sa.UniqueConstraint("scorecard_id", name=op.f("uq_scorecard_drafts_scorecard_id")),
    )


def downgrade() -> None:
    op.drop_table("scorecard_drafts")
