"""Accessibility check of a page by axe-core, in light and in dark."""

from importlib.resources import files

from playwright.sync_api import Page

_AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
_RUN = """options => axe.run(document, options).then(
    results => results.violations.flatMap(
        violation => violation.nodes.map(node => `${violation.id}: ${node.html}`)))"""
_ALL = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# The dark scheme changes colours alone.
_COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


def check_accessibility(page: Page) -> None:
    """Fail on any finding of axe in the page as it is now."""
    # The page's own policy refuses a script tag.
    if page.evaluate("!window.axe"):
        page.evaluate(_AXE)
    for scheme, options in (("light", _ALL), ("dark", _COLOURS)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert page.evaluate(_RUN, options) == [], f"{page.url}, {scheme}"
