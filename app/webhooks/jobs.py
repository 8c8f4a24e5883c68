"""The job that wakes the sender."""

from app.webhooks import sender_process


def deliver_due() -> None:
    """Wake the sender of this process: there is something to send."""
    sender_process.awake.set()
