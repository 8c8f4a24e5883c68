"""muted copies of recordings, and originals that are deleted

Revision ID: 0039
Revises: 0038
Created: 2026-11-28 21:40:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    op.add_column("waveform_jobs", sa.Column("made_of", sa.String(), nullable=True))
    op.add_column(
        "audio_files", sa.Column("original_deleted_at", sa.DateTime(timezone=True), nullable=True)
    )


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
