"""number of recordings

Revision ID: 0025
Revises: 0024
Created: 2026-11-22 20:55:00
"""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.execute(
        "INSERT INTO audio_file_totals (kind, quantity) "
        "SELECT 'recordings', count(*) FROM audio_files"
    )


def downgrade() -> None:
    op.execute("DELETE FROM audio_file_totals WHERE kind = 'recordings'")
