"""A real SMTP server with TLS, which takes mail of one account and keeps it."""

import email
import logging
import ssl
from asyncio.base_events import Server
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.policy import default
from typing import Any, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.receiver import authority
from tests.waiting import PATIENCE_S, wait_until

USER, PASSWORD = "quality", "correct horse"


class Mailbox:
    """What the server has taken; `refusals` are answers that it gives first, instead of taking it."""

    def __init__(self) -> None:
        self.letters: list[EmailMessage] = []
        self.refusals: list[str] = []
        self.encrypted: list[bool] = []
        self.port = 0

    async def handle_DATA(  # noqa: N802 - a name of aiosmtpd
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        if self.refusals:
            return self.refusals.pop(0)
        self.encrypted.append(session.ssl is not None)
        content = cast("bytes", envelope.content)
        self.letters.append(email.message_from_bytes(content, policy=default))
        return "250 OK"

    def wait_for(self, count: int) -> list[EmailMessage]:
        """Wait until the server has taken so many messages."""
        wait_until(lambda: len(self.letters) >= count, describe=lambda: str(len(self.letters)))
        return self.letters


class _AnyPort(Controller):
    """Finds out its port before it tries itself."""

    def _trigger_server(self) -> None:
        [listening] = cast("Server", self.server).sockets
        self.port = listening.getsockname()[1]
        super()._trigger_server()


@contextmanager
def running_mail_server() -> Iterator[Mailbox]:
    """Start a server on a free port, which offers STARTTLS and demands it before a sign-in."""
    # It warns of what it does itself, and tells of each client that was killed.
    logging.getLogger("mail").setLevel(logging.CRITICAL)
    mailbox = Mailbox()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert("localhost").configure_cert(context)
    controller = _AnyPort(
        mailbox,
        hostname="127.0.0.1",
        port=0,
        tls_context=context,
        authenticator=_authenticated,
        auth_required=True,
        require_starttls=True,
        ready_timeout=PATIENCE_S,
    )
    controller.start()
    mailbox.port = controller.port
    try:
        yield mailbox
    finally:
        controller.stop()


def _authenticated(
    server: Any, session: Any, envelope: Any, mechanism: str, data: Any
) -> AuthResult:
    is_known = isinstance(data, LoginPassword) and (data.login, data.password) == (
        USER.encode(),
        PASSWORD.encode(),
    )
    return AuthResult(success=is_known, handled=False)
