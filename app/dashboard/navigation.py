"""Navigation of the frame, the query that its links keep, and the own paths that redirects may lead to."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flask import current_app, request, url_for

from app.dashboard.views import filters
from app.people.gate import may_open
from app.people.sessions import Person

_OWN_PATH = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")
# The frame reads this parameter; no schema knows it.
_NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Link:
    """A page in the navigation: its text, its endpoint within the dashboard, its keys if any.

    With `keeps_filters` the link keeps the period and the filters of the page that it is on.
    """

    text: str
    endpoint: str
    keys: str = ""
    keeps_filters: bool = False


@dataclass(frozen=True, slots=True)
class ShownLink:
    text: str
    keys: str
    url: str
    is_here: bool


# Sections of the navigation with their titles, in their order on the page.
SECTIONS: Mapping[str, tuple[Link, ...]] = {
    "Mine": (
        Link("My results", "own_results.show", "g m", keeps_filters=True),
        Link("My coaching", "coaching.show_own"),
    ),
    "Quality": (
        Link("Overview", "overview.show", "g o", keeps_filters=True),
        Link("Evaluations", "evaluation_list.show", "g e", keeps_filters=True),
        Link("Review", "review_queue.show", "g r", keeps_filters=True),
        Link("My reviews", "plans.show_own"),
        Link("Review plans", "plans.list_page"),
        Link("Trends", "trends.show", "g t", keeps_filters=True),
        Link("Topics", "trends.topics", keeps_filters=True),
    ),
    "Teams": (
        Link("Agents", "leaderboards.executives", keeps_filters=True),
        Link("Campaigns", "leaderboards.campaigns", keeps_filters=True),
        Link("Call centres", "leaderboards.call_centers", keeps_filters=True),
        Link("Coaching", "coaching.list_page"),
    ),
    "Conversations": (
        Link("Add", "add.show"),
        Link("Work", "work.show"),
        Link("Exports", "exports.show"),
    ),
    "Set up": (
        Link("Scorecards", "scorecards.list_page"),
        Link("Sources", "sources.list_page"),
        Link("Messages", "messages.show"),
        Link("Webhooks", "webhooks.list_page"),
        Link("Keys", "keys.list_page"),
        Link("People", "people.list_page"),
    ),
    "Service": (
        Link("System", "operation.show_system"),
        Link("Usage", "operation.show_usage"),
        Link("Audit trail", "audit.show"),
        Link("Settings", "account.show"),
    ),
}


def sections_for(person: Person) -> Iterator[tuple[str, list[ShownLink]]]:
    carried = filters.carried(request_texts())
    for title, section in SECTIONS.items():
        links = [
            _shown(link, carried)
            for link in section
            if may_open(current_app, f"dashboard.{link.endpoint}", person)
        ]
        if links:
            yield title, links


def _shown(link: Link, carried: Mapping[str, str]) -> ShownLink:
    path = url_for(f"dashboard.{link.endpoint}")
    is_below = path != "/" and request.path.startswith(f"{path}/")
    return ShownLink(
        text=link.text,
        keys=link.keys,
        url=filters.url(path, carried if link.keeps_filters else {}),
        is_here=request.path == path or is_below,
    )


def request_texts() -> dict[str, str]:
    """Return the query of this request without its notice; repeated values become a comma list."""
    joined = {name: ",".join(filter(None, values)) for name, values in request.args.lists()}
    return {name: text for name, text in joined.items() if text and name != _NOTICE}


def own_path(text: str) -> str:
    """Return a path of this service as it is; for any other address return `/`."""
    return text if _OWN_PATH.fullmatch(text) else "/"
