"""Sign-in provider for tests: the server half of authlib on a real port, whose tokens can be spoiled."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import requests
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import UserInfo
from authlib.oidc.core.grants import OpenIDCode
from flask import Flask, jsonify, request
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet
from werkzeug.serving import make_server

from app.core.clock import utc_now
from tests.visitor import Visitor

CLIENT_ID, CLIENT_SECRET = "cqe", "a secret of the client / + %"
ALGORITHM = "ES256"
Claims = dict[str, Any]
Change = Callable[[Claims], None]


class Client:
    """The client that the provider knows."""

    client_id = CLIENT_ID

    def get_client_id(self) -> str:
        return self.client_id

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return urlsplit(redirect_uri).path == "/sign-in/provider/back"

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == CLIENT_SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_post"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


class Code:
    """A code that was given out, with the request for it."""

    def __init__(self, payload: Any, user: "User", auth_time: int) -> None:
        self.data, self.user, self.auth_time = dict(payload.data), user, auth_time
        self.code_challenge = payload.data.get("code_challenge")
        self.code_challenge_method = payload.data.get("code_challenge_method")

    def get_redirect_uri(self) -> str:
        return self.data["redirect_uri"]

    def get_scope(self) -> str:
        return self.data["scope"]

    def get_nonce(self) -> str:
        return self.data["nonce"]

    def get_auth_time(self) -> int:
        return self.auth_time

    def get_acr(self) -> None:
        return None

    def get_amr(self) -> None:
        return None


class User:
    """The person at the provider."""

    def __init__(self, claims: Claims) -> None:
        self.claims = claims

    def get_user_id(self) -> str:
        return str(self.claims["sub"])


class SignInProvider:
    """Lets in `person` at once; `change` changes the claims of ID tokens.

    `key` signs, `published` are the keys that are told. Without `tells_all`, tokens have only the
    subject, and the rest is at the endpoint for user information.
    """

    def __init__(self) -> None:
        self.person: Claims = {
            "sub": "subject-1",
            "preferred_username": "nora",
            "name": "Nora North",
            "email": "nora@example.com",
            "email_verified": True,
            "groups": ["qa-leads"],
            "sid": "session-1",
        }
        self.change: Change = lambda claims: None
        self.key = ECKey.generate_key("P-256", {"kid": "one", "use": "sig"})
        self.published = [self.key]
        self.tells_all = True
        self.auth_time = 0
        self.user_info: Claims = {}
        self.codes: dict[str, Code] = {}
        self.requests: list[str] = []
        self._server = make_server("127.0.0.1", 0, self._app(), threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def settings(self, **changes: Any) -> dict[str, Any]:
        """Settings of a service whose people sign in here."""
        known = {"oidc_client_id": CLIENT_ID, "oidc_client_secret": CLIENT_SECRET}
        return {"oidc_issuer": self.issuer, **known, **changes}

    def send_back(self, url: str) -> str:
        """Sign in at this address as a browser would; return the path to which it is sent back."""
        answer = requests.get(url, allow_redirects=False, timeout=30)
        assert answer.status_code == 302, answer.text
        return path_of(answer.headers["Location"])

    def signed(self, claims: Claims) -> str:
        """Sign claims with the key of the moment."""
        return jwt.encode({"alg": ALGORITHM, "kid": self.key.kid}, claims, self.key, [ALGORITHM])

    def logout_token(self, **changes: Any) -> str:
        """Return a token that ends the sessions of the person."""
        now = int(utc_now().timestamp())
        event: Claims = {"http://schemas.openid.net/event/backchannel-logout": {}}
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 120,
            "jti": "one",
            "sub": self.person["sub"],
            "events": event,
        }
        known = {**claims, **changes}
        return self.signed({name: value for name, value in known.items() if value is not None})

    def _app(self) -> Flask:
        app = Flask("provider")
        server = AuthorizationServer(app, lambda _: Client(), lambda token, request: None)
        grant = type("Grant", (Grant,), {"provider": self})
        tokens = Tokens(require_nonce=True)
        tokens.provider = self
        server.register_grant(grant, [tokens, CodeChallenge(required=True)])

        def authorize() -> Any:
            user = User(self.person)
            known = server.get_consent_grant(end_user=user)
            return server.create_authorization_response(grant_user=user, grant=known)

        answers: dict[str, Callable[[], Any]] = {
            ".well-known/openid-configuration": lambda: jsonify(self._metadata()),
            "keys": lambda: jsonify(KeySet([*self.published]).as_dict(private=False)),
            "authorize": authorize,
            "token": server.create_token_response,
            "userinfo": lambda: jsonify(self.user_info or self.person),
        }
        for path, answer in answers.items():
            method = "POST" if path == "token" else "GET"
            app.add_url_rule(f"/{path}", path, partial(self._noted, path, answer), methods=[method])
        return app

    def _noted(self, path: str, answer: Callable[[], Any]) -> Any:
        self.requests.append(path)
        has_token = request.headers.get("Authorization", "").startswith("Bearer ")
        assert has_token is (path == "userinfo")
        return answer()

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "end_session_endpoint": f"{self.issuer}/end",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }


class Grant(AuthorizationCodeGrant):
    """Codes, kept by the provider."""

    TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_post",)
    provider: SignInProvider

    def save_authorization_code(self, code: str, request: Any) -> None:
        at = self.provider.auth_time or int(utc_now().timestamp())
        self.provider.codes[code] = Code(request.payload, request.user, at)

    def query_authorization_code(self, code: str, client: Client) -> Code | None:
        return self.provider.codes.get(code)

    def delete_authorization_code(self, authorization_code: Code) -> None:
        codes = self.provider.codes.items()
        self.provider.codes = {code: kept for code, kept in codes if kept is not authorization_code}

    def authenticate_user(self, authorization_code: Code) -> User:
        return authorization_code.user


class Tokens(OpenIDCode):
    """ID tokens, which the provider may change before it signs them."""

    provider: SignInProvider

    def exists_nonce(self, nonce: str, request: Any) -> bool:
        return False

    def get_client_algorithm(self, client: Client) -> str:
        return ALGORITHM

    def get_client_claims(self, client: Client) -> Claims:
        return {"iss": self.provider.issuer}

    def resolve_client_private_key(self, client: Client) -> Any:
        return self.provider.key

    def generate_user_info(self, user: User, scope: str) -> UserInfo:
        wanted = user.claims if self.provider.tells_all else {"sub": user.claims["sub"]}
        return UserInfo(**wanted)

    def encode_id_token(self, token: Any, request: Any) -> str:
        made = jwt.decode(super().encode_id_token(token, request), self.provider.key, [ALGORITHM])
        # The clock of tests is that of the service.
        now = int(utc_now().timestamp())
        claims = {**made.claims, "iat": now, "exp": now + 600}
        self.provider.change(claims)
        return self.provider.signed(claims)


def path_of(url: str) -> str:
    """Return path and query of an address."""
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def query_of(url: str) -> dict[str, str]:
    """Return the query of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def begin(visitor: Visitor, path: str = "/sign-in/provider") -> str:
    """Begin to sign in; return the address of the provider to which the browser is sent."""
    answer = visitor.get(path)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["Location"])


def sign_in(visitor: Visitor, provider: SignInProvider, path: str = "/sign-in/provider") -> Any:
    """Sign in with the provider; return the answer to the browser that comes back."""
    answer = visitor.get(provider.send_back(begin(visitor, path)))
    if answer.status_code == 303:
        visitor.get("/settings")
    return answer
