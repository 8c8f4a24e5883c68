"""One attempt: signs the stored bytes, sends those same bytes, and says what became of it."""

import logging

from app.core.clock import utc_now
from app.core.outbound import Reply, Sender
from app.core.secrets.encryption import Keyring, UnknownMasterKey
from app.webhooks import sealing, signatures
from app.webhooks.claims import Claim, Receiver
from app.webhooks.results import Result

logger = logging.getLogger(__name__)


class Carrier:
    """Carries claims to their receivers; used by many threads."""

    def __init__(self, outbound: Sender, keyring: Keyring, *, timeout_s: float) -> None:
        self._outbound = outbound
        self._keyring = keyring
        self._timeout_s = timeout_s
        self._told: set[str] = set()

    def can_sign(self, receiver: Receiver) -> bool:
        """Whether the secrets of a receiver open; until they do, what is due to it waits."""
        try:
            self._secrets(receiver)
        except (UnknownMasterKey, ValueError) as error:  # or what is stored is no sealed secret
            if receiver.id not in self._told:
                logger.error("deliveries of %s wait: %s", receiver.id, error)
                self._told.add(receiver.id)
            return False
        self._told.discard(receiver.id)
        return True

    def carry(self, claim: Claim) -> Result | None:
        """Make the attempt of a claim; never raises.

        Returns None when the service itself failed: that is not one of the receiver's attempts.
        """
        started_at = utc_now()
        try:
            reply = self._post(claim, int(started_at.timestamp()))
        except Exception:  # the slot of this claim must become free
            logger.exception("delivery %s could not be sent", claim.delivery_id)
            return None
        if reply.is_internal:
            logger.error("delivery %s could not be sent: %s", claim.delivery_id, reply.error)
            return None
        return Result(claim, reply, started_at, ended_at=utc_now())

    def _post(self, claim: Claim, timestamp: int) -> Reply:
        headers = signatures.headers(
            signing_secrets=self._secrets(claim.receiver),
            event_id=claim.event_id,
            delivery_id=claim.delivery_id,
            attempt=claim.attempt,
            timestamp=timestamp,
            body=claim.body,
        )
        return self._outbound.post(
            claim.receiver.url, headers=headers, body=claim.body, timeout_s=self._timeout_s
        )

    def _secrets(self, receiver: Receiver) -> list[str]:
        sealed = [receiver.secret]
        expires_at = receiver.previous_secret_expires_at
        if receiver.previous_secret is not None and expires_at is not None:
            sealed += [receiver.previous_secret] if expires_at > utc_now() else []
        return [sealing.unseal(self._keyring, receiver.id, each) for each in sealed]
