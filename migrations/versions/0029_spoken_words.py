"""words that were said, to search them

Stored transcripts are indexed by the worker later, a few at a time.

Revision ID: 0029
Revises: 0028
Created: 2026-11-23 23:58:00
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None
kind = "expand"

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_WORDS = sa.Text().with_variant(postgresql.TSVECTOR(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "spoken_words",
        sa.Column("id", _WHOLE, nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("transcript_id", sa.String(), nullable=False),
        sa.Column("words", _WORDS, nullable=True),
        sa.ForeignKeyConstraint(
            ["transcript_id"], ["transcripts.id"], name=op.f("fk_spoken_words_transcript_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spoken_words")),
        sa.UniqueConstraint("source_id", name=op.f("uq_spoken_words_source_id")),
    )
    # Ids grow with time.
    op.execute(
        "INSERT INTO spoken_words (source_id, transcript_id) SELECT source_id, max(id) "
        "FROM transcripts WHERE erased_at IS NULL GROUP BY source_id"
    )
    waiting = sa.text("words IS NULL")
    op.create_index(
        "ix_spoken_words_waiting",
        "spoken_words",
        ["id"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    if op.get_bind().dialect.name == "postgresql":
        op.create_index("spoken_words_index", "spoken_words", ["words"], postgresql_using="gin")
        return
    op.execute(
        "CREATE VIRTUAL TABLE spoken_words_index USING fts5(words, content='spoken_words', "
        "content_rowid='id', "
        "tokenize=\"unicode61 remove_diacritics 0 categories 'L* M* N*' tokenchars '_'\")"
    )


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
