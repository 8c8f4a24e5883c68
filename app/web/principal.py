"""Principal of the current request, and the scopes that endpoints and unmasked texts need."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from flask import g

from app.core.errors import InsufficientScope
from app.core.principal import Principal

logger = logging.getLogger(__name__)

View = TypeVar("View", bound=Callable[..., Any])

DEFAULT, EXPENSIVE, KEYS = "default", "expensive", "keys"
RAW_TEXTS = "transcripts:raw"


def current_principal() -> Principal:
    principal: Principal = g.principal
    return principal


def require_scope(scope: str, *, policy: str = DEFAULT) -> Callable[[View], View]:
    """Mark an endpoint with its scope and its rate-limit policy.

    The blueprint reads the mark when the endpoint is registered. It checks the scope before it
    parses arguments, so that 403 comes before 422.
    """

    def mark(view: View) -> View:
        if hasattr(view, "required_scope"):
            raise TypeError(
                f"{view.__name__} has a scope already; put its route above @require_scope"
            )
        view.required_scope = scope  # type: ignore[attr-defined]
        view.rate_policy = policy  # type: ignore[attr-defined]
        return view

    return mark


def has_scope(view: object, scope: str | None) -> bool:
    """Return whether a view is marked with a scope; without a mark, it gets the one of its blueprint."""
    if scope is not None and callable(view) and not hasattr(view, "required_scope"):
        require_scope(scope)(view)
    return hasattr(view, "required_scope")


def check_scope(*scopes: str) -> None:
    """Raise `InsufficientScope` if the key of this request lacks one of these scopes."""
    for scope in scopes:
        if scope not in current_principal().scopes:
            raise InsufficientScope(f"This request needs the scope {scope}.")


def check_raw(object_id: str, *, redacted: bool) -> None:
    """Refuse unmasked texts without the scope, and log the access, never a text."""
    if redacted:
        return
    check_scope(RAW_TEXTS)
    logger.info("unmasked texts of %s were shown to key %s", object_id, current_principal().key_id)
