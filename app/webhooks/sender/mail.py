"""Mail client: one message over SMTP with STARTTLS or TLS; every attempt ends with a reply."""

import logging
import smtplib
import socket
import ssl
import threading
import time
from contextlib import suppress
from email.message import EmailMessage
from typing import Any, cast

from app.core.ip_addresses import Address
from app.core.outgoing_http.addresses import AddressPolicy
from app.core.outgoing_http.client import classified, tls_context
from app.core.outgoing_http.connections import Deadline
from app.core.outgoing_http.reply import AttemptOutcome, Reply
from app.webhooks.enums import MailSecurity
from app.webhooks.models import MailServer

logger = logging.getLogger(__name__)


class MailClient:
    """Sends e-mail to addresses that the policy allows; used by many threads."""

    def __init__(self, policy: AddressPolicy, *, ca_bundle: str) -> None:
        self._policy = policy
        self._ca_bundle = ca_bundle

    def send(
        self, server: MailServer, password: str | None, letter: EmailMessage, *, timeout_s: float
    ) -> Reply:
        """Send one message, the whole conversation with the server within the time."""
        started, deadline = time.monotonic(), Deadline(timeout_s)
        ip = None
        try:
            [address, *_] = self._policy.locate_mail_server(
                server.host, server.port, timeout_s=deadline.remaining()
            )
            ip = str(address)
            answer = self._talk(server, password, letter, address, deadline)
        except (smtplib.SMTPException, OSError, ValueError) as error:
            return _failure(error, ip, started)
        except Exception as error:
            outcome, text = classified(error)
            if outcome is not AttemptOutcome.BLOCKED_URL:
                logger.exception("an e-mail could not be sent")
            return Reply(outcome, _ms_since(started), error=text, ip=ip, connected=False)
        return Reply(AttemptOutcome.SUCCESS, _ms_since(started), 250, ip=ip, body=answer)

    def _talk(
        self,
        server: MailServer,
        password: str | None,
        letter: EmailMessage,
        address: Address,
        deadline: Deadline,
    ) -> bytes:
        context = cast("ssl.SSLContext", _NamedContext(tls_context(self._ca_bundle), server.host))
        timeout_s = deadline.remaining()
        # Without a name, smtplib asks the resolver for that of this machine.
        name = server.sender.rpartition("@")[2]
        client: smtplib.SMTP
        if server.security == MailSecurity.TLS:
            client = smtplib.SMTP_SSL(local_hostname=name, timeout=timeout_s, context=context)
        else:
            client = smtplib.SMTP(local_hostname=name, timeout=timeout_s)
        # The timeout of a socket would start again with each byte that arrives.
        watch = threading.Timer(timeout_s, _shut, (client,))
        watch.daemon = True
        watch.start()
        try:
            # The address that was vetted: a second look-up could give another one.
            client.connect(str(address), server.port)
            if server.security != MailSecurity.TLS:
                client.starttls(context=context)
            if server.user is not None:
                client.login(server.user, password or "")
            client.send_message(letter)
            with suppress(smtplib.SMTPException, OSError):
                client.quit()
        except (smtplib.SMTPServerDisconnected, OSError, ValueError):
            deadline.remaining()
            raise
        finally:
            watch.cancel()
            client.close()
        return b"The mail server has taken the message."


class _NamedContext:
    """A TLS context that checks the certificate for the server's name, not for its address."""

    def __init__(self, context: ssl.SSLContext, name: str) -> None:
        self._context, self._name = context, name

    def wrap_socket(self, sock: socket.socket, **_: Any) -> ssl.SSLSocket:
        return self._context.wrap_socket(sock, server_hostname=self._name)


def _shut(server: smtplib.SMTP) -> None:
    """End what waits on the server's socket in another thread."""
    with suppress(OSError, AttributeError):
        cast("socket.socket", server.sock).shutdown(socket.SHUT_RDWR)


def _failure(error: Exception, ip: str | None, started: float) -> Reply:
    duration_ms = _ms_since(started)
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, body = next(iter(error.recipients.values()))
        return Reply(AttemptOutcome.MAIL_ERROR, duration_ms, code, ip=ip, body=body)
    if isinstance(error, smtplib.SMTPResponseException):
        said = error.smtp_error
        text = said if isinstance(said, str) else said.decode(errors="replace")
        body = text.encode()
        return Reply(AttemptOutcome.MAIL_ERROR, duration_ms, error.smtp_code, ip=ip, body=body)
    if isinstance(error, smtplib.SMTPServerDisconnected):
        error = ConnectionError()
    elif isinstance(error, smtplib.SMTPException):
        text = "The mail server offers no TLS, or no way to sign in that this service knows."
        return Reply(AttemptOutcome.MAIL_ERROR, duration_ms, error=text, ip=ip)
    outcome, text = classified(error)
    return Reply(outcome, duration_ms, error=text, ip=ip)


def _ms_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
