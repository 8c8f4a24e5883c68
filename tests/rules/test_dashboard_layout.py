"""Layout rules of the dashboard: scopes of pages, templates, scripts and the budget of assets."""

import re
from pathlib import Path

import pytest
from flask import Flask

from app.analytics.enums import Dataset, GroupBy
from app.dashboard.navigation import SECTIONS
from app.dashboard.views.filters import FIELDS
from app.people.roles import ADMIN, OWN_RESULTS, ROLES

DASHBOARD = Path(__file__).parents[2] / "app" / "dashboard"
TEMPLATES = sorted((DASHBOARD / "templates").rglob("*.html"))
# Every endpoint of the dashboard that answers with JSON; pages have no API of their own.
LIVE = {"live.progress", "live.preview", "live.lint", "live.hits"}
SCRIPTS = sorted((DASHBOARD / "static").rglob("*.js"))


def test_every_scope_of_a_page_is_one_of_a_role(flask_app: Flask) -> None:
    views = [
        flask_app.view_functions[rule.endpoint]
        for rule in flask_app.url_map.iter_rules()
        if rule.endpoint.startswith("dashboard.")
    ]
    scopes = {view.required_scope for view in views if hasattr(view, "required_scope")}
    assert scopes
    assert scopes - {OWN_RESULTS} <= ROLES[ADMIN]


def test_json_comes_from_the_live_endpoints_alone(flask_app: Flask) -> None:
    endpoints = {
        rule.endpoint.removeprefix("dashboard.")
        for rule in flask_app.url_map.iter_rules()
        if rule.rule.startswith("/live/")
    }
    assert endpoints == LIVE
    using = {
        file.stem for file in (DASHBOARD / "pages").rglob("*.py") if "jsonify" in file.read_text()
    }
    assert using == {endpoint.partition(".")[0] for endpoint in LIVE}


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_a_template_has_no_inline_style_script_or_unescaped_text(file: Path) -> None:
    text = file.read_text()
    assert not re.search(r"\sstyle\s*=|\son\w+\s*=|<style|javascript:", text, re.IGNORECASE)
    assert not re.search(r"<script(?![^>]*\ssrc=)", text, re.IGNORECASE)
    assert not re.search(r"\|\s*safe\b|autoescape\s+false|Markup", text)


def test_a_page_with_a_panel_loads_the_styles_of_panels() -> None:
    pages = [file for file in TEMPLATES if file.parent.name != "_macros"]
    lacking = [
        file.name
        for file in pages
        if re.search(r'class="[^"]*\bpanel\b', text := file.read_text())
        and 'asset("figures.css")' not in text
    ]
    assert lacking == []


def test_no_script_writes_markup() -> None:
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\("
    assert not [file.name for file in SCRIPTS if re.search(forbidden, file.read_text())]


def scripts_of(template: Path) -> set[Path]:
    """Return the scripts of a page, with those that they import."""
    names = re.findall(r'asset\("(\w+\.js)"\)', template.read_text())
    waiting, scripts = ["frame.js", *names], set()
    while waiting:
        script = DASHBOARD / "static" / waiting.pop()
        scripts.add(script)
        imported = re.findall(r'^import .*?"\./(.+?)";$', script.read_text(), re.MULTILINE)
        waiting += [name for name in imported if script.with_name(name) not in scripts]
    return scripts


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_the_scripts_of_a_page_keep_their_budget(file: Path) -> None:
    assert sum(script.stat().st_size for script in scripts_of(file)) <= 20 * 1024


def test_the_style_of_the_frame_keeps_its_budget() -> None:
    assert (DASHBOARD / "static" / "app.css").stat().st_size <= 16 * 1024


def visible_texts(template: Path) -> list[str]:
    """Words of a template: its texts, its labels, and the words that its expressions write."""
    source = re.sub(
        r"{#.*?#}|{%-? *import.*?%}|{% from.*?%}", " ", template.read_text(), flags=re.S
    )
    expressions = re.findall(r"{[{%](.*?)[}%]}", source, re.DOTALL)
    strings = [text for one in expressions for text in re.findall(r'"([^"]*)"', one)]
    written = [text for text in strings if re.search(r"[A-Za-z] [a-z]", text)]
    plain = re.sub(r"{{.*?}}|{%.*?%}", " ", source, flags=re.S)
    labels = re.findall(r'(?:aria-label|placeholder|title)="([^"]*)"', plain)
    plain = re.sub(r"<code>.*?</code>|<[^>]*>", " ", plain, flags=re.S)
    return [plain, *labels, *written]


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_a_page_speaks_of_agents_and_of_no_field_of_the_api(file: Path) -> None:
    said = " ".join(visible_texts(file))
    assert not re.findall(r"\bexecutives?\b|see details", said, re.IGNORECASE)
    assert set(re.findall(r"\b[a-z]+[A-Z][A-Za-z]+\b", said)) <= {"vCon"}


def test_filters_and_menus_speak_of_agents() -> None:
    texts = [field.label for field in FIELDS]
    texts += [link.text for section in SECTIONS.values() for link in section]
    texts += [member.label for names in (GroupBy, Dataset) for member in names]
    assert not [text for text in texts if re.search("executive", text, re.IGNORECASE)]
