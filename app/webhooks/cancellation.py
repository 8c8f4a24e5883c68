"""Cancellation of pending deliveries of a subscription that ends; a recovery finds them."""

from datetime import datetime

from sqlalchemy import literal_column, update
from sqlalchemy.orm import Session

from app.webhooks.enums import DeliveryState
from app.webhooks.models import Delivery


def cancel_pending(session: Session, subscription_id: str, *, now: datetime) -> None:
    """Cancel every delivery that is not being sent at this moment."""
    session.execute(
        update(Delivery)
        .where(
            Delivery.subscription_id == subscription_id,
            Delivery.state == literal_column("'pending'"),
        )
        .values(state=DeliveryState.CANCELED, finished_at=now)
        .execution_options(synchronize_session=False)
    )
