"""Documentation: links lead somewhere, and fields, units and metrics are those of the service."""

import json
import re
from pathlib import Path

import pytest
from marshmallow import Schema

from app.evaluations.schemas import results
from app.evaluations.schemas.evaluations import EvaluationDetailSchema
from app.judge.scorecard.schema import KNOWN_METRICS

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("app", "docs", "clients", "bench", "training")
PAGES = [ROOT / "README.md", *(page for name in FOLDERS for page in (ROOT / name).rglob("*.md"))]
EXPLAINED: dict[str, type[Schema]] = {
    "Evaluation": EvaluationDetailSchema,
    "Results": results.ResultsSchema,
    "Criterion": results.CriterionSchema,
    "Quality": results.QualitySchema,
}


def nameless(path: str) -> str:
    """Return a path of the API without its base and the names of its parameters."""
    return re.sub(r"\{\w+\}", "{}", re.sub(r"^(/api)?/v1(?=/)", "", path))


ENDPOINTS = {
    (method.upper(), nameless(path))
    for path, methods in json.loads((ROOT / "openapi.json").read_text())["paths"].items()
    for method in methods
}


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {"#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of every row of the tables, without their heads."""
    lines = re.findall(r"^\|(?!---)(.*)\|$", re.sub(r"^.*\n\|---.*$", "", text, flags=re.M), re.M)
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def named_in(text: str) -> list[str]:
    """Return the names in the first column of the tables."""
    return [name for row in rows_of(text) for name in re.findall(r"`([^`]+)`", row[0])]


def sections_of(page: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", (ROOT / "docs" / page).read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("section", EXPLAINED)
def test_results_explains_fields_that_exist(section: str) -> None:
    schema = EXPLAINED[section]()
    declared = {field.data_key or name for name, field in schema.dump_fields.items()}
    explained = named_in(sections_of("results.md")[section])
    assert explained
    assert set(explained) <= declared


def test_every_metric_is_defined_with_its_unit() -> None:
    sections = sections_of("metrics.md")
    kinds = ("Every conversation", "Spoken conversations", "Written conversations", "Voice bots")
    text = "\n".join(sections[kind] for kind in kinds)
    assert sorted(named_in(text)) == sorted(KNOWN_METRICS)
    assert all(len(row) == 3 and all(row) for row in rows_of(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_of_the_repository(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)", page.read_text())
    targets = [(page.parent / path if path else page, anchor) for path, anchor in links]
    assert [path for path, _ in targets if not path.exists()] == []
    assert [
        (path, anchor) for path, anchor in targets if anchor and anchor not in anchors(path)
    ] == []


def test_the_tests_that_security_names_exist() -> None:
    named = re.findall(r"`(\w+/test_\w+)`", (ROOT / "docs" / "security.md").read_text())
    assert len(named) > 40
    assert [name for name in named if not (ROOT / "tests" / f"{name}.py").is_file()] == []


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_endpoints_that_a_page_names_exist(page: Path) -> None:
    endpoint = r"\b(GET|POST|PUT|PATCH|DELETE) ((?:/[\w-]+|/\{\w+\})+)(?![\w{/…-])"
    named = re.findall(endpoint, page.read_text())
    assert {(method, nameless(path)) for method, path in named} - ENDPOINTS == set()


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name != "handbook.md"],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_a_page_has_fewer_than_1500_words(page: Path) -> None:
    text = re.sub(r"^\|[-:|]+\|$", "", page.read_text(), flags=re.MULTILINE)
    assert len(re.findall(r"[^\s|]+", text)) < 1500
