"""A person who visits the dashboard over plain HTTP: keeps the cookie, sends forms as browsers do."""

import re
from typing import Any

import requests
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from requests.adapters import HTTPAdapter

from app.core.runtime import Runtime
from app.people import service

PASSWORD = "four brown horses by the sea"
# The service verifies any hash by the parameters that it names; its own take 25 milliseconds.
_PASSWORD_HASH = Argon2id(
    salt=bytes(16), length=32, iterations=1, lanes=1, memory_cost=8
).derive_phc_encoded(PASSWORD.encode())
# Without a session, which keeps cookies and follows redirects: it took half of a request's time.
_ADAPTER = HTTPAdapter()
_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')


def add_user(runtime: Runtime, role: str, name: str = "") -> str:
    """Create a user who has changed the one-time password to PASSWORD already; return the id."""
    with runtime.db.writing() as session:
        user = service.create(session, name=name or role, role=role, password_hash="none")
        service.change_password(session, user, _PASSWORD_HASH, keep="")
        return user.id


class Visitor:
    """One browser without scripts. Paths are of the dashboard; redirects are not followed.

    `cookie` is that of the session; `known` that of a browser in which somebody has signed in before,
    `pending` that of a sign-in that has begun.
    """

    def __init__(self, base: str) -> None:
        self.base = base
        self.cookie = ""
        self.known = ""
        self.pending = ""
        self.token = ""

    def get(self, path: str, headers: dict[str, str] | None = None) -> requests.Response:
        """Open a page, and remember its form token."""
        answer = self._send("GET", path, headers={"Accept": "text/html", **(headers or {})})
        found = _TOKEN.search(answer.text)
        self.token = found[1] if found else self.token
        return answer

    def post(
        self,
        path: str,
        data: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        files: dict[str, tuple[str, bytes]] | None = None,
    ) -> requests.Response:
        """Send a form of the page that was opened last; a header of an empty text is left out."""
        sent = {"Origin": self.base, "Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
        sent.update(headers or {})
        form = {"form_token": self.token, **(data or {})}
        return self._send(
            "POST",
            path,
            data=form,
            files=files,
            headers={name: text for name, text in sent.items() if text},
        )

    def sign_in(self, name: str, password: str = PASSWORD, path: str = "/sign-in") -> Any:
        """Sign in, open the first page for its form token, and return the answer to the form."""
        answer = self.post(path, {"name": name, "password": password})
        if answer.status_code == 303:
            self.get("/settings")
        return answer

    def _send(self, method: str, path: str, headers: dict[str, str], **more: Any) -> Any:
        pairs = (self.cookie, self.known, self.pending)
        headers["Cookie"] = "; ".join(filter(None, pairs))
        headers["Connection"] = "close"
        request = requests.Request(method, self.base + path, headers=headers, **more).prepare()
        answer = _ADAPTER.send(request, timeout=30)
        assert answer.content is not None  # reads it whole
        for header in answer.raw.headers.getlist("Set-Cookie"):
            pair = header.partition(";")[0]
            if "browser=" in pair:
                self.known = pair
            elif "pending=" in pair:
                self.pending = pair if pair.partition("=")[2] else ""
            else:
                self.cookie = pair if pair.partition("=")[2] else ""
        return answer


def signed_in(base: str, runtime: Runtime, role: str) -> Visitor:
    """Return the visitor of a new user with this role, who has signed in."""
    add_user(runtime, role)
    visitor = Visitor(base)
    assert visitor.sign_in(role).status_code == 303
    return visitor
