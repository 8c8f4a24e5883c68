"""indexes for moving and renaming what is of campaigns in batches

Revision ID: 0048
Revises: 0047
Created: 2026-11-29 11:50:00
"""

from alembic import op

from migrations.indexes import create_index

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    create_index("ix_evaluations_campaign_name", "evaluations", ["campaign_id", "campaign"])
    create_index(
        "ix_evaluation_facts_campaign", "evaluation_facts", ["campaign_id", "conversation_at"]
    )


def downgrade() -> None:
    op.drop_index("ix_evaluation_facts_campaign", "evaluation_facts")
    op.drop_index("ix_evaluations_campaign_name", "evaluations")
