"""Policy for URLs of subscriptions: the sender's own rules, refused with a 422."""

from app.core.errors import InvalidInput
from app.core.outgoing_http.addresses import (
    NOT_REACHABLE,
    AddressPolicy,
    NameNotResolved,
    UrlRefused,
)
from app.core.settings import Settings

_RESOLVE_WITHIN_S = 5.0


def address_policy(settings: Settings) -> AddressPolicy:
    """Return the policy of this deployment; the same at create, change, test and delivery."""
    return AddressPolicy(settings.webhook_allowed_cidrs, settings.webhook_allow_http)


def check_url(settings: Settings, url: str) -> None:
    """Refuse a URL that could not be delivered to; call it outside a transaction.

    Raises:
        InvalidInput: naming the field `url`, and the setting that would allow it.
    """
    try:
        address_policy(settings).locate(url, timeout_s=_RESOLVE_WITHIN_S)
    except UrlRefused as error:
        raise InvalidInput.field("url", str(error)) from error
    except (NameNotResolved, TimeoutError) as error:
        raise InvalidInput.field("url", NOT_REACHABLE) from error
