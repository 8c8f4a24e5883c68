"""Dispatcher: sends the stored body of a delivery, signed or as a message for people; returns the result."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from app.core.clock import utc_now
from app.core.outgoing_http.reply import AttemptOutcome, HttpClient, Reply
from app.core.process.traces import Traces
from app.core.secrets.encryption import Keyring, UnknownMasterKey
from app.webhooks import mail_server, signing
from app.webhooks.enums import TargetKind, Trigger
from app.webhooks.models import MailServer
from app.webhooks.sender import rendering
from app.webhooks.sender.claims import Claim, Receiver
from app.webhooks.sender.mail import MailClient

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AttemptResult:
    claim: Claim
    reply: Reply
    started_at: datetime
    ended_at: datetime

    @property
    def succeeded(self) -> bool:
        """Return whether the receiver answered 2xx in time."""
        return self.reply.outcome == AttemptOutcome.SUCCESS

    @property
    def is_last(self) -> bool:
        return self.succeeded or self.claim.attempt >= self.claim.max_attempts

    @property
    def counts_for_subscription(self) -> bool:
        """Return whether it starts or clears a failure streak: a last attempt, not a redelivery."""
        return self.is_last and self.claim.trigger != Trigger.MANUAL


class Dispatcher:
    """Sends claims to their receivers; used by many threads."""

    def __init__(
        self,
        client: HttpClient,
        mail: MailClient,
        keyring: Keyring,
        traces: Traces,
        *,
        timeout_s: float,
    ) -> None:
        self._client = client
        self._mail = mail
        self._keyring = keyring
        self._traces = traces
        self._timeout_s = timeout_s
        self._reported: set[str] = set()

    def can_send(self, receiver: Receiver) -> bool:
        """Return whether secrets can be decrypted, and e-mail has a server; if not, deliveries wait."""
        try:
            self._secrets(receiver)
            if receiver.kind == TargetKind.EMAIL:
                self._require_mail(receiver)
        except (
            UnknownMasterKey,
            ValueError,
        ) as error:  # ValueError: no encrypted secret, no server
            if receiver.id not in self._reported:
                logger.error("deliveries of %s wait: %s", receiver.id, error)
                self._reported.add(receiver.id)
            return False
        self._reported.discard(receiver.id)
        return True

    def send(self, claim: Claim) -> AttemptResult | None:
        """Make the attempt of a claim; never raises.

        Returns None when the service itself failed: that is not one of the receiver's attempts.
        """
        started_at = utc_now()
        try:
            with self._traces.delivery(claim.delivery_id, claim.traceparent) as trace_headers:
                reply = self._reply(claim, started_at, trace_headers)
        except Exception:  # the slot of this claim must become free
            logger.exception("delivery %s could not be sent", claim.delivery_id)
            return None
        if reply.is_internal:
            logger.error("delivery %s could not be sent: %s", claim.delivery_id, reply.error)
            return None
        return AttemptResult(claim, reply, started_at, ended_at=utc_now())

    def _reply(self, claim: Claim, started_at: datetime, trace_headers: Mapping[str, str]) -> Reply:
        match claim.receiver.kind:
            case TargetKind.SLACK:
                return self._post_message(claim, rendering.slack)
            case TargetKind.TEAMS:
                return self._post_message(claim, rendering.teams)
            case TargetKind.EMAIL:
                return self._mail_message(claim, started_at)
        return self._post(claim, int(started_at.timestamp()), trace_headers)

    def _post_message(self, claim: Claim, render: Callable[[Mapping[str, Any]], bytes]) -> Reply:
        [url] = self._secrets(claim.receiver)
        return self._client.post(
            url,
            headers={"Content-Type": "application/json"},
            body=render(orjson.loads(claim.body)["data"]),
            timeout_s=self._timeout_s,
        )

    def _mail_message(self, claim: Claim, started_at: datetime) -> Reply:
        server = self._require_mail(claim.receiver)
        letter = rendering.mail(
            orjson.loads(claim.body)["data"],
            event_id=claim.event_id,
            sender=server.sender,
            recipient=claim.receiver.url,
            at=started_at,
        )
        password = mail_server.password_of(self._keyring, server)
        return self._mail.send(server, password, letter, timeout_s=self._timeout_s)

    def _require_mail(self, receiver: Receiver) -> MailServer:
        if receiver.mail is None:
            raise ValueError("no mail server is set")
        mail_server.password_of(self._keyring, receiver.mail)
        return receiver.mail

    def _post(self, claim: Claim, timestamp: int, trace_headers: Mapping[str, str]) -> Reply:
        headers = signing.headers(
            signing_secrets=self._secrets(claim.receiver),
            event_id=claim.event_id,
            delivery_id=claim.delivery_id,
            attempt=claim.attempt,
            timestamp=timestamp,
            body=claim.body,
        )
        return self._client.post(
            claim.receiver.url,
            headers={**headers, **trace_headers},
            body=claim.body,
            timeout_s=self._timeout_s,
        )

    def _secrets(self, receiver: Receiver) -> list[str]:
        encrypted = [receiver.secret]
        expires_at = receiver.previous_secret_expires_at
        if receiver.previous_secret is not None and expires_at is not None:
            encrypted += [receiver.previous_secret] if expires_at > utc_now() else []
        return [signing.decrypt(self._keyring, receiver.id, secret) for secret in encrypted]
