"""review plans, their draws and assignments

Revision ID: 0043
Revises: 0042
Created: 2026-11-28 21:50:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "review_plans",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("updated_at", moment, nullable=False),
        sa.Column("version", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("filters", sa.JSON(), nullable=False),
        sa.Column("per_agent", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("percent", sa.Double(), nullable=True),
        sa.Column("minimum", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("reviewers", sa.JSON(), nullable=False),
        sa.Column("blind", sa.Boolean(), nullable=False),
        sa.Column("due_days", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("weekday", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("timezone", sa.String(), nullable=False),
        sa.Column("seed", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("teams", sa.String(), nullable=True),
        sa.Column("drawn_week", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review_plans")),
    )
    op.create_table(
        "review_draws",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("plan_id", sa.String(), nullable=False),
        sa.Column("week", sa.String(), nullable=False),
        sa.Column("seed", sa.String(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("drawn_at", moment, nullable=False),
        sa.ForeignKeyConstraint(
            ["plan_id"], ["review_plans.id"], name=op.f("fk_review_draws_plan_id_review_plans")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review_draws")),
    )
    op.create_index("uq_review_draws_week", "review_draws", ["plan_id", "week"], unique=True)
    op.create_table(
        "review_assignments",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("plan_id", sa.String(), nullable=False),
        sa.Column("plan", sa.String(), nullable=False),
        sa.Column("week", sa.String(), nullable=False),
        sa.Column("evaluation_id", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("executive_id", sa.String(), nullable=False),
        sa.Column("executive", sa.String(), nullable=False),
        sa.Column("reviewer_id", sa.String(), nullable=False),
        sa.Column("blind", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("starts_at", moment, nullable=False),
        sa.Column("due_at", moment, nullable=False),
        sa.Column("started_at", moment, nullable=True),
        sa.Column("done_at", moment, nullable=True),
        sa.Column("created_at", moment, nullable=False),
        sa.ForeignKeyConstraint(
            ["plan_id"],
            ["review_plans.id"],
            name=op.f("fk_review_assignments_plan_id_review_plans"),
        ),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluations.id"],
            name=op.f("fk_review_assignments_evaluation_id_evaluations"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review_assignments")),
    )
    op.create_index(
        "uq_review_assignments_source", "review_assignments", ["plan_id", "source_id"], unique=True
    )
    op.create_index(
        "ix_review_assignments_reviewer",
        "review_assignments",
        ["reviewer_id", "state", "due_at", "id"],
    )
    op.create_index("ix_review_assignments_source", "review_assignments", ["source_id"])
    op.create_index("ix_review_assignments_due", "review_assignments", ["state", "due_at"])


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
