"""Accessibility check of a page by axe-core, in light and in dark."""

from importlib.resources import files

from playwright.sync_api import Page

_AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
_RUN = """tags => axe.run(document, {runOnly: tags}).then(
    found => found.violations.flatMap(
        violation => violation.nodes.map(node => `${violation.id}: ${node.html}`)))"""
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def check_accessibility(page: Page) -> None:
    """Fail on any finding of axe in the page as it is now."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        # The page's own policy refuses a script tag.
        page.evaluate(_AXE)
        assert page.evaluate(_RUN, _TAGS) == [], f"{page.url}, {scheme}"
