"""Sign-in provider: the code flow with PKCE, and the checks of the tokens that it issues."""

import hmac
import logging
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import orjson
from cachetools import TTLCache

from app.core.clock import utc_now
from app.core.errors import AppError, ServiceUnavailable
from app.core.outgoing_http.addresses import ANYWHERE
from app.core.outgoing_http.reply import AttemptOutcome, BodyLimit, HttpClient, Reply
from app.core.settings import Settings

logger = logging.getLogger(__name__)
_TIMEOUT_S = 5.0
_MOST_BYTES = 256 * 1024
_KEPT_S = 3600
# A key that is not known yet may be new; asking for it again is no way to make us send requests.
_ASKED_AGAIN_S = 60
# Requests to the provider at once in each process: a silent one must not take its threads.
_AT_ONCE = 4
_LEEWAY_S = 60
# Of a sign-in that was to be a new one.
FRESH_S = 300
# Keys of ours are no keys of the provider's: with HS256 its public key would be one.
_ALGORITHMS = (
    *(f"{kind}{size}" for kind in ("RS", "PS", "ES") for size in (256, 384, 512)),
    "EdDSA",
    "Ed25519",
)
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_SIGNED_OUT = "http://schemas.openid.net/event/backchannel-logout"
Claims = Mapping[str, Any]


class ProviderAway(ServiceUnavailable):
    message = "The sign-in provider does not answer as it should: try again in a moment."

    def __init__(self) -> None:
        super().__init__(retry_after_s=5)


class SignInRefused(AppError):
    status, code = 401, "SIGN_IN_REFUSED"
    message = "The sign-in could not be verified: begin again."


@dataclass(frozen=True, slots=True)
class Flow:
    """One sign-in at the provider; the browser keeps it, sealed, until it comes back.

    `again` asks the provider to let the person sign in once more.
    """

    state: str
    nonce: str
    verifier: str
    path: str
    again: bool

    @classmethod
    def begin(cls, path: str, *, again: bool) -> Self:
        """Begin a sign-in that leads to a path."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, path, again)

    def as_document(self) -> dict[str, Any]:
        """Return the form that the browser keeps."""
        return asdict(self)


class Provider:
    """The provider of the settings, as one process knows it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        # Caches are for one thread at a time.
        self._lock = threading.Lock()
        self._documents: TTLCache[str, dict[str, Any]] = TTLCache(2, _KEPT_S)
        self._asked_again: TTLCache[str, bool] = TTLCache(1, _ASKED_AGAIN_S)

    def authorization_url(self, flow: Flow, redirect_uri: str) -> str:
        """Return the address at which the person signs in.

        Raises:
            ProviderAway: the provider does not tell its addresses.
        """
        # Not at the top: importing it takes 0.1 s, and most services have no provider.
        from authlib.oauth2.client import OAuth2Client  # noqa: PLC0415

        client = OAuth2Client(
            None,
            self._settings.oidc_client_id,
            scope=self._settings.oidc_scopes,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
        )
        more = {"prompt": "login", "max_age": FRESH_S} if flow.again else {}
        url, _ = client.create_authorization_url(
            self._metadata()["authorization_endpoint"],
            state=flow.state,
            nonce=flow.nonce,
            code_verifier=flow.verifier,
            **more,
        )
        return str(url)

    def claims(self, flow: Flow, code: str, redirect_uri: str) -> Claims:
        """Exchange a code for what the provider says about the person.

        Raises:
            SignInRefused: the code or the token is not valid.
            ProviderAway: there is no proper answer.
        """
        tokens = self._tokens(flow, code, redirect_uri)
        id_token, access_token = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(id_token, str):
            raise _refused("there is no ID token")
        params = {"nonce": flow.nonce, "access_token": access_token}
        claims = self._verified(id_token, **params, max_age=FRESH_S if flow.again else None)
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), flow.nonce.encode()):
            raise _refused("the nonce is of another sign-in")
        if not claims["sub"] or len(claims["sub"]) > 255:
            raise _refused("there is no subject")
        is_old = utc_now().timestamp() - (claims.get("auth_time") or 0) > FRESH_S + _LEEWAY_S
        if flow.again and is_old:
            raise _refused("the person did not sign in again")
        return {**self._more_about(claims, access_token), **claims}

    def ended_sessions(self, logout_token: str) -> tuple[str | None, str | None, datetime]:
        """Return the subject and the session that a logout token ends; one of them may be None.

        Sessions that began after the moment are not ended: so a token that is sent twice does nothing.

        Raises:
            SignInRefused: the token is not valid.
            ProviderAway: the provider does not tell its keys.
        """
        claims = self._verified(logout_token)
        events = claims.get("events")
        if not isinstance(events, dict) or _SIGNED_OUT not in events or "nonce" in claims:
            raise _refused("it is not a logout token")
        if utc_now().timestamp() - claims["iat"] > FRESH_S:
            raise _refused("the logout token is old")
        subject, session_id = claims.get("sub"), claims.get("sid")
        if not (subject or isinstance(session_id, str)):
            raise _refused("the logout token names no person")
        began_before = datetime.fromtimestamp(claims["iat"] + _LEEWAY_S, UTC)
        return subject, session_id if isinstance(session_id, str) else None, began_before

    def sign_out_url(self, return_to: str) -> str | None:
        """Return the address at which the provider signs the person out, if it has one."""
        url = self._metadata().get("end_session_endpoint")
        if not isinstance(url, str) or not self._is_safe(url):
            return None
        query = {"client_id": self._settings.oidc_client_id, "post_logout_redirect_uri": return_to}
        return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}"

    @property
    def issuer(self) -> str:
        return str(self._metadata()["issuer"])

    def check(self) -> None:
        """Ask for addresses and keys; raise `ProviderAway` if there is no proper answer."""
        self._keys()

    def _tokens(self, flow: Flow, code: str, redirect_uri: str) -> dict[str, Any]:
        from authlib.oauth2.auth import ClientAuth  # noqa: PLC0415

        settings, metadata = self._settings, self._metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": flow.verifier,
        }
        known = metadata.get("token_endpoint_auth_methods_supported") or ()
        method = "client_secret_post" if "client_secret_post" in known else "client_secret_basic"
        auth = ClientAuth(
            settings.oidc_client_id,
            settings.oidc_client_secret,
            method if settings.oidc_client_secret else "none",
        )
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        url, headers, body = auth.prepare(
            "POST", metadata["token_endpoint"], headers, urlencode(form)
        )
        with self._client() as client:
            reply = client.post(url, headers=headers, body=body.encode(), timeout_s=_TIMEOUT_S)
        if reply.status_code is not None and 400 <= reply.status_code < 500:
            raise _refused(f"the token endpoint answered {reply.status_code}: {reply.excerpt}")
        return _document_of(reply)

    def _verified(self, token: str, **params: Any) -> Claims:
        """Return the claims of a token that the provider has signed for us, and that is valid now."""
        from authlib.oidc.core import CodeIDToken  # noqa: PLC0415
        from joserfc.errors import InvalidKeyIdError, JoseError  # noqa: PLC0415
        from joserfc.jwt import decode  # noqa: PLC0415

        settings = self._settings
        try:
            try:
                decoded = decode(token, self._keys(), _ALGORITHMS)
            except InvalidKeyIdError:
                decoded = decode(token, self._keys(again=True), _ALGORITHMS)
            claims = CodeIDToken(
                decoded.claims,
                decoded.header,
                options={
                    "iss": {"essential": True, "value": self.issuer},
                    "aud": {"essential": True, "value": settings.oidc_client_id},
                },
                params={**params, "client_id": settings.oidc_client_id},
            )
            # A logout token may name a session instead.
            claims.setdefault("sub", "")
            claims.validate(int(utc_now().timestamp()), _LEEWAY_S)
        except (JoseError, ValueError, TypeError) as error:
            raise _refused(f"{type(error).__name__}: {error}") from error
        return dict(claims)

    def _more_about(self, claims: Claims, access_token: Any) -> Claims:
        """Return what the provider tells beside the token, where the token lacks something."""
        url = self._metadata().get("userinfo_endpoint")
        wanted = ["email", "preferred_username", "name"]
        if self._settings.oidc_groups:
            wanted.append(self._settings.oidc_groups_claim)
        if not isinstance(url, str) or not access_token or all(name in claims for name in wanted):
            return {}
        if not self._is_safe(url):
            return {}
        headers = {"Accept": "application/json", "Authorization": f"Bearer {access_token}"}
        with self._client() as client:
            document = _document_of(client.get(url, headers=headers, timeout_s=_TIMEOUT_S))
        if document.get("sub") != claims["sub"]:
            raise _refused("the user information is of somebody else")
        return document

    def _metadata(self) -> dict[str, Any]:
        with self._lock:
            known = self._documents.get("metadata")
        if known is not None:
            return known
        issuer = self._settings.oidc_issuer
        document = self._get(f"{issuer}/.well-known/openid-configuration")
        is_right = str(document.get("issuer")).rstrip("/") == issuer and all(
            isinstance(document.get(name), str) and self._is_safe(document[name])
            for name in _ENDPOINTS
        )
        if not is_right:
            logger.error("the sign-in provider describes itself as another, or lacks an address")
            raise ProviderAway()
        with self._lock:
            self._documents["metadata"] = document
        return document

    def _keys(self, *, again: bool = False) -> Any:
        from joserfc.errors import JoseError  # noqa: PLC0415
        from joserfc.jwk import KeySet  # noqa: PLC0415

        with self._lock:
            if again and "keys" not in self._asked_again:
                self._asked_again["keys"] = True
                self._documents.pop("keys", None)
            document = self._documents.get("keys")
        if document is None:
            document = self._get(self._metadata()["jwks_uri"])
        try:
            signing = [key for key in document["keys"] if key.get("use", "sig") == "sig"]
            key_set = KeySet.import_key_set({"keys": signing})
        except (JoseError, KeyError, TypeError, ValueError, AttributeError) as error:
            logger.error("the sign-in provider has no usable keys: %s", error)
            raise ProviderAway() from error
        with self._lock:
            self._documents["keys"] = document
        return key_set

    def _get(self, url: str) -> dict[str, Any]:
        with self._client() as client:
            headers = {"Accept": "application/json"}
            return _document_of(client.get(url, headers=headers, timeout_s=_TIMEOUT_S))

    def _is_safe(self, url: str) -> bool:
        """Return whether an address of the provider is as safe as its own one."""
        return urlsplit(url).scheme in ("https", urlsplit(self._settings.oidc_issuer).scheme)

    @contextmanager
    def _client(self) -> Iterator[HttpClient]:
        """Lend a client for one request.

        Raises:
            ServiceUnavailable: many requests wait for the provider already.
        """
        if not self._places.acquire(blocking=False):
            raise ServiceUnavailable(
                "Too many sign-ins at this moment: try again.", retry_after_s=2
            )
        try:
            yield _open_client(self._settings.oidc_ca_bundle)
        finally:
            self._places.release()


@lru_cache(maxsize=1)
def provider_of(settings: Settings) -> Provider:
    return Provider(settings)


@lru_cache(maxsize=1)
def _open_client(ca_bundle: str) -> HttpClient:
    from app.core.outgoing_http.client import RequestsClient  # noqa: PLC0415

    body = BodyLimit(_MOST_BYTES, within_s=None)
    return RequestsClient(ANYWHERE, ca_bundle=ca_bundle, body=body)


def _document_of(reply: Reply) -> dict[str, Any]:
    try:
        document = orjson.loads(reply.body)
    except ValueError:
        document = None
    if reply.outcome is not AttemptOutcome.SUCCESS or not isinstance(document, dict):
        why = reply.error or f"status {reply.status_code}, no JSON object"
        logger.error("the sign-in provider gave no proper answer: %s", why)
        raise ProviderAway()
    return document


def _refused(why: str) -> SignInRefused:
    """Return the error for the person; the log has the reason."""
    logger.warning("a sign-in with the provider was refused: %s", why)
    return SignInRefused()
