"""Drafts of scorecards as a person edits them: the form is read and sent as a browser does."""

import json
from html.parser import HTMLParser
from typing import Any

from tests.visitor import Visitor


class FormReader(HTMLParser):
    """Reads the fields of the editor's form as a browser would send them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._is_inside = False
        self._name = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._is_inside = given.get("id") == "draft"
        name = given.get("name")
        is_off = given.get("type") == "checkbox" and "checked" not in given
        if self._is_inside and tag in ("input", "select", "textarea") and name and not is_off:
            self.fields[name] = given.get("value") or ""
            self._name = name
        if self._is_inside and tag == "option" and "selected" in given:
            self.fields[self._name] = given["value"] or ""

    def handle_endtag(self, tag: str) -> None:
        if tag in ("select", "textarea", "input"):
            self._name = ""

    def handle_data(self, data: str) -> None:
        if self.lasttag == "textarea" and self._name:
            self.fields[self._name] += data


def begun(visitor: Visitor, start: str, **form: str) -> str:
    """Begin a draft; return its path."""
    visitor.get("/scorecards")
    answer = visitor.post("/scorecards/drafts", {"startFrom": start, **form})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["Location"])


def fields_of(visitor: Visitor, path: str) -> dict[str, str]:
    """Open a draft and return what its form would send."""
    page = visitor.get(path)
    assert page.status_code == 200, page.text
    return FormReader(page.text).fields


def document_of(visitor: Visitor, path: str) -> dict[str, Any]:
    """Return the draft as its JSON tab shows it."""

    class Area(FormReader):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self._is_inside = True
            super().handle_starttag("" if tag == "form" else tag, attrs)

    document: dict[str, Any] = json.loads(Area(visitor.get(f"{path}/json").text).fields["json"])
    return document


def saved(visitor: Visitor, path: str, action: str = "save", **changes: str) -> dict[str, Any]:
    """Type into the form of a draft, press a button, and return the document."""
    answer = visitor.post(path, {**fields_of(visitor, path), **changes, "action": action})
    assert answer.status_code == 303, answer.text
    return document_of(visitor, path)
