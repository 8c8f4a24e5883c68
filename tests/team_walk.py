"""Walk over every route and every page, as people and keys that are limited to teams."""

import re
from difflib import unified_diff
from typing import Any

import requests
from flask import Flask
from werkzeug.routing import Rule

from app.api_keys.authentication import PUBLIC_ENDPOINTS
from app.api_keys.enums import TEAM_SCOPES
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.people import service as people
from app.people.roles import AGENT, LEAD, OWN_ACCOUNT, OWN_RESULTS, ROLES
from tests.caller import Caller
from tests.sampling import NIGHTLY
from tests.team_world import MARK, Team
from tests.visitor import Visitor, add_user

NOTHING = new_id("eval")
PERIOD = "from=2026-11-01&to=2026-12-01"
# What differs between two equal answers.
_PASSING = re.compile(
    r'req_\w{26}|name="form_token" value="[^"]+"|data-token="[^"]+"'
    r'|<code>[A-Z2-7]{32}</code>|name="secret" value="[^"]+"|<svg class="scan".*?</svg>'
    r"|[?&](amp;)?(exp|expires|sig|signature|holder)=[\w.~-]+|[?&]X-[^\"&]+"
)
_QUERIES = ("", f"?{PERIOD}&compare=previous_period")
_SEARCHES = (f"?q={MARK}", f"?said={MARK}")
_SEARCHED = re.compile(r"/(evaluations|conversations|voice-calls|audio-files|campaigns)")


def limited_person(base: str, runtime: Runtime, role: str, **teams: Any) -> Visitor:
    user_id = add_user(runtime, role, name=f"{role}{len(teams)}{new_id('x')[-4:]}")
    with runtime.db.writing() as session:
        user = people.get(session, user_id)
        people.change_role(session, user, role, **teams)
        name = user.name
    visitor = Visitor(base)
    assert visitor.sign_in(name).status_code == 303
    return visitor


class Asker:
    """A limited caller: a person over the pages, or a key over the API.

    People share the pages, and keys the routes of the API; at night each walks over all of them.
    """

    def __init__(self, who: str, caller: Visitor | Caller, *, share: slice = slice(None)) -> None:
        self.who, self._caller, self._share = who, caller, share

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> requests.Response:
        if isinstance(self._caller, Caller):
            return self._caller.call(method, path, None if method in ("GET", "DELETE") else body)
        answer: requests.Response = (
            self._caller.get(path) if method == "GET" else self._caller.post(path, body)
        )
        return answer

    def routes(self, app: Flask) -> list[tuple[str, Rule]]:
        """Return the methods and rules that this caller could call, or its share of them."""
        rules = self.all_rules(app)
        return with_methods(rules if NIGHTLY else rules[self._share])

    def all_rules(self, app: Flask) -> list[Rule]:
        is_person = isinstance(self._caller, Visitor)
        return [
            rule for rule in rules_of(app) if rule.endpoint.startswith("dashboard.") is is_person
        ]


def rules_of(app: Flask) -> list[Rule]:
    """Return the rules of every route that is not public; the second names of the API's are left out."""
    return [
        rule
        for rule in app.url_map.iter_rules()
        if rule.endpoint not in PUBLIC_ENDPOINTS
        and not hasattr(app.view_functions[rule.endpoint], "is_public")
        and not str(rule).startswith("/v1/")
    ]


def with_methods(rules: list[Rule]) -> list[tuple[str, Rule]]:
    return [
        (method, rule)
        for rule in rules
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]


def open_to_teams(app: Flask) -> list[Rule]:
    """Return the rules that a person, or a key, that is limited to teams has a scope for."""
    of_people = (ROLES[AGENT] | ROLES[LEAD]) & {*TEAM_SCOPES, OWN_ACCOUNT, OWN_RESULTS}
    return [
        rule
        for rule in rules_of(app)
        if getattr(app.view_functions[rule.endpoint], "required_scope", "")
        in (of_people if rule.endpoint.startswith("dashboard.") else TEAM_SCOPES)
    ]


def path_of(rule: Rule, ids: dict[str, str]) -> str:
    return re.sub(r"<(?:\w+:)?(\w+)>", lambda match: ids.get(match[1], NOTHING), str(rule))


def shown(answer: requests.Response, *asked_ids: str) -> tuple[int, str]:
    """Return an answer without what differs between equal ones."""
    text = _PASSING.sub("", answer.text)
    for asked in asked_ids:
        text = text.replace(asked, "ASKED")
    return answer.status_code, text


def read_all(asker: Asker, app: Flask, team: Team) -> dict[str, tuple[int, str]]:
    """Open every page and call every reading route with the team's own ids, and some queries."""
    answers = {}
    for method, rule in asker.routes(app):
        if method != "GET":
            continue
        path = path_of(rule, team.ids)
        queries = _QUERIES if not rule.arguments else _QUERIES[:1]
        for query in queries + (_SEARCHES if _SEARCHED.search(path[-14:]) else ()):
            answer = asker.ask(method, path + query)
            assert answer.status_code < 500, (asker.who, path + query, answer.text)
            answers[path + query] = shown(answer)
    return answers


def assert_equal(now: tuple[int, str], before: tuple[int, str], where: Any) -> None:
    """Compare two answers; a difference is shown by its lines."""
    former, lines = (text.replace(",", ",\n").splitlines() for _, text in (before, now))
    assert now == before, (where, now[0], before[0], [*unified_diff(former, lines, n=0)][:20])
