"""mean scores of campaigns without evaluations that have no verdict

Revision ID: 0005
Revises: 0004
Created: 2026-11-22 08:05:00
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_COUNTED = "FROM evaluations WHERE campaign_id = campaigns.id AND is_current AND score IS NOT NULL"


def upgrade() -> None:
    _recompute(f"{_COUNTED} AND passed IS NOT NULL")


def downgrade() -> None:
    _recompute(_COUNTED)


def _recompute(counted: str) -> None:
    op.execute(
        f"UPDATE campaigns SET score_sum = (SELECT coalesce(sum(score), 0) {counted}), "
        f"score_count = (SELECT count(*) {counted})"
    )
    op.execute("UPDATE campaigns SET mean_score = score_sum * 1.0 / nullif(score_count, 0)")
