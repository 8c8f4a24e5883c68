"""sources of intake, and what they have sent

Revision ID: 0038
Revises: 0037
Created: 2026-11-28 21:20:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.create_table(
        "intake_sources",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("sealed_config", sa.String(), nullable=False),
        sa.Column("defaults", sa.JSON(), nullable=False),
        sa.Column("refused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("refusal", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_intake_sources")),
    )
    op.create_table(
        "intake_deliveries",
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("sealed_body", sa.String(), nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("external_id", sa.String(), nullable=True),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("priority", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("attempts", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("lease_token", sa.String(), nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("traceparent", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intake_deliveries")),
    )
    for name, columns, unique in (
        ("ix_intake_deliveries_due", ["state", "priority", "queued_at", "id"], False),
        ("uq_intake_deliveries_digest", ["source", "digest"], True),
        ("ix_intake_deliveries_source", ["source", "queued_at", "id"], False),
        ("ix_intake_deliveries_completed", ["completed_at", "id"], False),
    ):
        op.create_index(name, "intake_deliveries", columns, unique=unique)


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
