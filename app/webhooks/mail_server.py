"""Mail server of the service: set once, its password encrypted and never shown again."""

from typing import Any

from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.sealed import SealedColumn
from app.core.errors import InvalidInput, NotFound
from app.core.outgoing_http.addresses import NameNotResolved, UrlRefused
from app.core.secrets.encryption import Keyring
from app.core.settings import Settings
from app.webhooks.models import MailServer
from app.webhooks.service import RESOLVE_WITHIN_S, address_policy

_ID = "mail"
_PURPOSE = "mail_server:password"


def check_address(settings: Settings, host: str, port: int) -> None:
    """Refuse a server that may not be reached; call it outside a transaction.

    Raises:
        InvalidInput: naming the field `host`, and the setting that would allow it.
    """
    try:
        address_policy(settings).locate_mail_server(host, port, timeout_s=RESOLVE_WITHIN_S)
    except UrlRefused as error:
        raise InvalidInput.field("host", str(error)) from error
    except (NameNotResolved, TimeoutError) as error:
        raise InvalidInput.field("host", "This name could not be resolved.") from error


def replace(
    session: Session, keyring: Keyring, *, password: str | None = None, **values: Any
) -> MailServer:
    """Set the mail server; without a password, that of the same host and user stays."""
    row = session.get(MailServer, _ID, with_for_update=True)
    if row is None:
        row = MailServer(id=_ID, password=None)
        session.add(row)
    elif (row.host, row.user) != (values["host"], values["user"]):
        # Of another server or account, and not to be sent there.
        row.password = None
    for name, value in values.items():
        setattr(row, name, value)
    if row.user is None:
        row.password = None
    elif password is not None:
        row.password = keyring.encrypt(password.encode(), purpose=_PURPOSE)
    elif row.password is None:
        raise InvalidInput.field("password", "Give the password of this user.", code="REQUIRED")
    row.updated_at = utc_now()
    session.flush()
    return row


def known(session: Session) -> MailServer | None:
    return session.get(MailServer, _ID)


def find(session: Session) -> MailServer:
    """Return the mail server; raise `NotFound` as long as none is set."""
    row = known(session)
    if row is None:
        raise NotFound("No mail server is set: PUT /alerts/mail-server sets one.")
    return row


def remove(session: Session) -> None:
    """Forget the mail server; e-mail waits until there is one again."""
    session.delete(find(session))


def password_of(keyring: Keyring, server: MailServer) -> str | None:
    """Decrypt the password; raise `UnknownMasterKey` when its master key is missing."""
    if server.password is None:
        return None
    return keyring.decrypt(server.password, purpose=_PURPOSE).decode()


PASSWORDS = SealedColumn("mail server", MailServer.password, lambda _: _PURPOSE)
