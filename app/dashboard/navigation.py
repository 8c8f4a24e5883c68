"""Navigation of the frame, and the own paths that redirects may lead to."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flask import current_app, request, url_for

from app.people.gate.admission import may_open
from app.people.sessions import Person

_OWN_PATH = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")


@dataclass(frozen=True, slots=True)
class Link:
    """A page in the navigation: its text, its endpoint within the dashboard, its keys if any."""

    text: str
    endpoint: str
    keys: str = ""


@dataclass(frozen=True, slots=True)
class ShownLink:
    """A link of the navigation as a template shows it."""

    text: str
    keys: str
    url: str
    is_here: bool


# Sections of the navigation, in their order on the page.
SECTIONS: tuple[tuple[Link, ...], ...] = (
    (
        Link("Overview", "overview.show", "g o"),
        Link("Evaluations", "evaluation_list.show", "g e"),
    ),
    (Link("People", "people.list_page"), Link("Audit trail", "audit.show")),
    (Link("Settings", "account.show"),),
)


def sections_for(person: Person) -> Iterator[list[ShownLink]]:
    """Yield the sections with the links that a person may open."""
    for section in SECTIONS:
        links = [
            ShownLink(
                text=link.text,
                keys=link.keys,
                url=url_for(f"dashboard.{link.endpoint}"),
                is_here=request.blueprint == f"dashboard.{link.endpoint.partition('.')[0]}",
            )
            for link in section
            if may_open(current_app, f"dashboard.{link.endpoint}", person)
        ]
        if links:
            yield links


def own_path(text: str) -> str:
    """Return a path of this service as it is; for any other address return `/`."""
    return text if _OWN_PATH.fullmatch(text) else "/"
