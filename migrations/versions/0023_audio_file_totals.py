"""total size of the stored recordings

Revision ID: 0023
Revises: 0022
Created: 2026-11-22 17:40:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.create_table(
        "audio_file_totals",
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("quantity", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("kind", name=op.f("pk_audio_file_totals")),
    )
    op.execute(
        "INSERT INTO audio_file_totals (kind, quantity) "
        "SELECT 'stored bytes', coalesce(sum(size_bytes), 0) "
        "FROM audio_files WHERE uploaded_at IS NOT NULL"
    )


def downgrade() -> None:
    op.drop_table("audio_file_totals")
