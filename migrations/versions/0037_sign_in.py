"""sign-in with a provider, and second factors

Revision ID: 0037
Revises: 0036
Created: 2026-11-28 21:10:00
"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None
kind = "expand"


def upgrade() -> None:
    for name in ("email", "issuer", "subject", "totp_secret"):
        op.add_column("users", sa.Column(name, sa.String(), nullable=True))
    op.add_column("users", sa.Column("totp_step", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True))
    op.add_column(
        "users", sa.Column("recovery_codes", sa.JSON(), nullable=False, server_default="[]")
    )
    op.add_column(
        "user_sessions",
        sa.Column("via", sa.String(), nullable=False, server_default="password"),
    )
    op.add_column("user_sessions", sa.Column("provider_session", sa.String(), nullable=True))
    op.create_index("uq_users_subject", "users", ["issuer", "subject"], unique=True)
    op.create_index("uq_users_email", "users", ["email"], unique=True)


def downgrade() -> None:
    raise NotImplementedError("restore the backup that was made before the upgrade")
