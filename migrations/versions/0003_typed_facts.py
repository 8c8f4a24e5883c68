"""typed facts

Analytics keeps its facts in plain columns instead of packed numbers, and registers their parts.

Revision ID: 0003
Revises: 0002
"""

import sys
from array import array
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_BATCH = 1_000
# The places of the old numbers that are not columns of `evaluations`, and what they are divided by.
_MEASURES = {
    "talk_ratio": (14, 10_000),
    "silence_percent": (15, 10_000),
    "dead_air_count": (16, 1),
    "interruptions": (17, 1),
    "agent_wpm": (18, 10_000),
    "first_response_seconds": (19, 100),
}
_COPIED = (
    *("source_id", "source_type", "status", "channel", "engagement_id", "campaign_id"),
    *("call_center_id", "executive_id", "scorecard_id", "created_at", "completed_at", "score"),
    *("passed", "auto_failed", "compliance_score", "customer_sentiment", "sentiment_trend"),
    *("resolution", "duration_seconds", "topics"),
)


def upgrade() -> None:
    connection = op.get_bind()
    connection.execute(
        sa.text(
            "CREATE TEMPORARY TABLE packed_facts AS "
            "SELECT evaluation_id, layout, figures, shares FROM evaluation_facts"
        )
    )
    for table in ("facts", "fact_cells", "fact_spans", "fact_codes"):
        op.drop_table(f"evaluation_{table}")
    layout_ids = _move_layouts(connection)
    facts = _create_facts()
    op.create_table(
        "evaluation_fact_parts",
        sa.Column("month", sa.String(), nullable=False),
        sa.Column("file", sa.String(), nullable=False),
        sa.Column("size_bytes", _WHOLE, nullable=False),
        sa.Column("row_count", _WHOLE, nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("month", name=op.f("pk_evaluation_fact_parts")),
    )
    _convert(connection, facts, layout_ids)
    connection.execute(sa.text("DROP TABLE packed_facts"))


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")


def _move_layouts(connection: sa.Connection) -> dict[int | None, int | None]:
    """Move the layouts to their new table; map their old ids to the new ones."""
    old = sa.table(
        "evaluation_fact_layouts", sa.column("id"), sa.column("digest"), sa.column("lanes", sa.JSON)
    )
    rows = connection.execute(sa.select(old).order_by(old.c.id)).all()
    op.drop_table("evaluation_fact_layouts")
    new = op.create_table(
        "score_layouts",
        sa.Column("id", _WHOLE, nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("columns", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_score_layouts")),
        sa.UniqueConstraint("digest", name=op.f("uq_score_layouts_digest")),
    )
    op.bulk_insert(new, [{"digest": row.digest, "columns": row.lanes} for row in rows])
    ids = dict(connection.execute(sa.select(new.c.digest, new.c.id)).all())
    return {None: None, **{row.id: ids[row.digest] for row in rows}}


def _create_facts() -> sa.Table:
    facts = op.create_table(
        "evaluation_facts",
        sa.Column("id", _WHOLE, nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("source_type", sa.String(), nullable=False),
        sa.Column("evaluation_id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("engagement_id", sa.String(), nullable=True),
        sa.Column("campaign_id", sa.String(), nullable=True),
        sa.Column("call_center_id", sa.String(), nullable=True),
        sa.Column("executive_id", sa.String(), nullable=True),
        sa.Column("scorecard_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("score", _WHOLE, nullable=True),
        sa.Column("passed", sa.Boolean(), nullable=True),
        sa.Column("auto_failed", sa.Boolean(), nullable=False),
        sa.Column("compliance_score", sa.Double(), nullable=True),
        sa.Column("customer_sentiment", sa.Double(), nullable=True),
        sa.Column("sentiment_trend", sa.String(), nullable=True),
        sa.Column("resolution", sa.String(), nullable=True),
        sa.Column("duration_seconds", _WHOLE, nullable=True),
        sa.Column("talk_ratio", sa.Double(), nullable=True),
        sa.Column("silence_percent", sa.Double(), nullable=True),
        sa.Column("dead_air_count", _WHOLE, nullable=True),
        sa.Column("interruptions", _WHOLE, nullable=True),
        sa.Column("agent_wpm", sa.Double(), nullable=True),
        sa.Column("first_response_seconds", sa.Double(), nullable=True),
        sa.Column("topics", sa.JSON(), nullable=False),
        sa.Column("score_layout_id", _WHOLE, nullable=True),
        sa.Column("scores", sa.JSON(), nullable=False),
        sa.Column("version", _WHOLE, nullable=False),
        sa.Column("is_pending", sa.Boolean(), nullable=False),
        sa.Column("part", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation_facts")),
        sa.UniqueConstraint("source_id", name=op.f("uq_evaluation_facts_source_id")),
    )
    op.create_index("ix_evaluation_facts_part", "evaluation_facts", ["part"])
    op.create_index(
        "ix_evaluation_facts_pending",
        "evaluation_facts",
        ["created_at"],
        sqlite_where=sa.text("is_pending = 1"),
        postgresql_where=sa.text("is_pending"),
    )
    return facts


def _convert(
    connection: sa.Connection, facts: sa.Table, layout_ids: dict[int | None, int | None]
) -> None:
    """Write the packed facts, and what their evaluations have, into the new columns."""
    packed = sa.table(
        "packed_facts", *(sa.column(name) for name in ("evaluation_id", "layout", "figures", "shares"))
    )
    of = sa.table(
        "evaluations", sa.column("id"), *(sa.column(name, facts.c[name].type) for name in _COPIED)
    )
    wanted = sa.select(packed, *(of.c[name] for name in _COPIED)).join(
        of, of.c.id == packed.c.evaluation_id
    )
    rows = connection.execute(wanted, execution_options={"yield_per": _BATCH})
    for some in rows.partitions():
        connection.execute(
            sa.insert(facts),
            [
                {
                    **{name: getattr(row, name) for name in _COPIED},
                    **_measures(row.figures),
                    "evaluation_id": row.evaluation_id,
                    "score_layout_id": layout_ids[row.layout],
                    "scores": _scores(row.shares),
                    "version": 1,
                    "is_pending": True,
                }
                for row in some
            ],
        )


def _measures(figures: bytes) -> dict[str, float | None]:
    numbers = _unpacked(figures, "I")
    known = {name: numbers[place] for name, (place, _) in _MEASURES.items()}
    return {
        name: None if known[name] == 2**32 - 1 else known[name] / scale if scale > 1 else known[name]
        for name, (_, scale) in _MEASURES.items()
    }


def _scores(shares: bytes) -> list[float | None]:
    return [None if number == 2**16 - 1 else number / 100 for number in _unpacked(shares, "H")]


def _unpacked(data: bytes, width: str) -> Any:
    numbers = array(width)
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
