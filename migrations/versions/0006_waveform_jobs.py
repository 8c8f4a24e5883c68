"""jobs that draw waveforms

Revision ID: 0006
Revises: 0005
Created: 2026-11-22 08:00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "waveform_jobs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("audio_file_id", sa.String(), nullable=False),
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
        sa.ForeignKeyConstraint(
            ["audio_file_id"],
            ["audio_files.id"],
            name=op.f("fk_waveform_jobs_audio_file_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_waveform_jobs")),
    )
    op.create_index(
        "ix_waveform_jobs_due", "waveform_jobs", ["state", "priority", "queued_at", "id"]
    )


def downgrade() -> None:
    op.drop_table("waveform_jobs")
