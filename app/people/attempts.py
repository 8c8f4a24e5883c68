"""Attempts to give a password: how many each name, address, browser and session has.

Each `spend_` raises `RateLimitExceeded` where there were too many, and `ServiceUnavailable` where
attempts cannot be counted right now; then nothing was spent.
"""

import secrets
from collections.abc import Sequence

from flask import Request, request
from itsdangerous import BadSignature, TimestampSigner
from werkzeug.wrappers import Response

from app.core.clock import utc_now
from app.core.errors import InvalidInput, RateLimitExceeded, ServiceUnavailable
from app.core.ip_addresses import counted_networks
from app.core.request_limits.state import StateUnavailable
from app.core.request_limits.values import Limit, Visit
from app.core.runtime import Runtime
from app.core.setting_parsers import RateLimit
from app.people.cookies import KNOWN_BROWSER
from app.people.service import NAME_LENGTH, compared_name
from app.web import rate_limit
from app.web.addresses import client_address
from app.web.current import current_runtime

# An office may share one address.
_PEOPLE_PER_ADDRESS = 6
# Of an address, at once; then one a second.
_AT_ONCE = 10
# Of a second factor: three codes of a million are right at any moment.
_CODES, _CODES_WINDOW_S = 5, 900
# Longer than the browser keeps a sign-in that has begun.
_STATE_WINDOW_S = 3600
_KNOWN_FOR_S = 180 * 86_400
_KEY_LABEL = "cqe/known-browser/v1"


def spend_sign_in(name: str) -> None:
    """Spend one attempt to sign in with this name.

    Strangers have attempts by name and address, so that none of them uses up those of another. A
    browser in which the name has signed in before has its own, so that no stranger at the same
    address does.

    Raises:
        InvalidInput: no account has so long a name; nothing was spent.
    """
    if len(compared_name(name)) > NAME_LENGTH:
        raise InvalidInput(f"A name has at most {NAME_LENGTH} characters.")
    runtime = current_runtime()
    rate = runtime.settings.rate_limit_sign_in
    browser_id = _known_browser(request, runtime, name)
    if browser_id:
        _spend([Limit("sign-in-browser", browser_id, rate.limit, rate.window_s)])
    else:
        _spend(_of_stranger(name, rate, runtime))


def spend_of_session(session_id: str) -> None:
    """Spend one attempt to give the password of a session again, which others cannot use up."""
    rate = current_runtime().settings.rate_limit_sign_in
    _spend([Limit("password-session", session_id, rate.limit, rate.window_s)])


def spend_second_factor(user_id: str) -> None:
    """Spend one attempt to give the second factor of an account, from wherever it comes."""
    _spend([Limit("second-factor", user_id, _CODES, _CODES_WINDOW_S)])


def spend_provider_sign_in() -> None:
    """Spend one attempt of an address to come back from the provider."""
    runtime = current_runtime()
    rate = runtime.settings.rate_limit_sign_in
    address = client_address(request, runtime.settings.trusted_proxies)
    limit = rate.limit * _PEOPLE_PER_ADDRESS
    _spend(
        [
            Limit("sign-in-provider", network, limit * factor, rate.window_s)
            for network, factor in counted_networks(address)
        ]
    )


def use_up(state: str) -> bool:
    """Return whether a sign-in at the provider is answered for the first time.

    Raises:
        ServiceUnavailable: that cannot be told right now.
    """
    try:
        _spend([Limit("sign-in-state", state, 1, _STATE_WINDOW_S)])
    except RateLimitExceeded:
        return False
    return True


def remember_browser(response: Response, name: str) -> None:
    """Make the browser known, in which this name has just signed in."""
    runtime = current_runtime()
    # The same id again: a browser must not get new attempts by each sign-in.
    browser_id = _known_browser(request, runtime, name) or secrets.token_urlsafe(12)
    value = _signer(runtime, name).sign(browser_id).decode()
    KNOWN_BROWSER.write(response, request, runtime.settings, value, max_age=_KNOWN_FOR_S)


def _known_browser(request: Request, runtime: Runtime, name: str) -> str:
    """Return the id of a browser in which this name has signed in, else an empty text."""
    value = KNOWN_BROWSER.read(request, runtime.settings)
    try:
        return _signer(runtime, name).unsign(value, max_age=_KNOWN_FOR_S).decode()
    except BadSignature:
        return ""


def _signer(runtime: Runtime, name: str) -> TimestampSigner:
    keyring = runtime.keyring
    # The last key signs, all verify.
    key_ids = sorted(keyring.key_ids, key=lambda key_id: key_id == keyring.current_id)
    keys = [keyring.subkey(_KEY_LABEL, key_id) for key_id in key_ids]
    return TimestampSigner(keys, salt=compared_name(name).encode(), key_derivation="hmac")


def _of_stranger(name: str, rate: RateLimit, runtime: Runtime) -> list[Limit]:
    address = client_address(request, runtime.settings.trusted_proxies)
    at_once = max(_AT_ONCE, rate.limit)
    limits: list[Limit] = []
    for network, factor in counted_networks(address):
        count = rate.limit * factor
        caller = f"{compared_name(name)} {network}"
        limits += [
            Limit("sign-in-name", caller, count, rate.window_s),
            Limit("sign-in-address", network, count * _PEOPLE_PER_ADDRESS, rate.window_s),
            Limit("sign-in-at-once", network, at_once * factor, at_once),
        ]
    return limits


def _spend(limits: Sequence[Limit]) -> None:
    try:
        admission = current_runtime().state.visit(Visit(now=utc_now(), limits=limits))
    except StateUnavailable as error:
        raise ServiceUnavailable(
            "Sign-in is not possible right now; try again.", retry_after_s=5
        ) from error
    if not admission.admitted:
        wait_s = rate_limit.seconds_to_wait(admission.limits)
        raise RateLimitExceeded(
            f"Too many attempts to sign in: wait {wait_s} seconds.", retry_after_s=wait_s
        )
