"""Accessibility checks of a page: by axe-core, and that nothing is cut on narrow screens."""

import os
from importlib.resources import files
from pathlib import Path

from playwright.sync_api import Page

from tests.sampling import NIGHTLY

# The checks use the newest axe; that of the package serves where there is no registry of npm.
_BUNDLED = str(files("axe_playwright_python") / "axe.min.js")
_AXE = Path(os.environ.get("CQE_TEST_AXE", _BUNDLED)).read_text()
# Describing what passes would take longer than finding what does not.
_RUN = """options => axe.run(document, {...options, resultTypes: ["violations"]}).then(
    results => results.violations.flatMap(
        violation => violation.nodes.map(node => `${violation.id}: ${node.html}`)))"""
_ALL = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# The dark scheme changes colours alone.
_COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
# What scrolls sideways with the whole page, and what is cut because it does not scroll.
_CUT = """() => [...document.querySelectorAll("html, body *")].filter(element =>
    element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 1 &&
    (element === document.documentElement ||
        ["hidden", "clip"].includes(getComputedStyle(element).overflowX)) &&
    !element.matches("input, select")).map(element => element.outerHTML.slice(0, 120))"""
_WIDE = {"width": 1280, "height": 720}
# A phone, and a screen of 1280 pixels at a zoom of 200 %.
_NARROW = ({"width": 320, "height": 640}, {"width": 640, "height": 360})


def check_narrow_screens(page: Page) -> None:
    """Fail where a page is cut or scrolls sideways, left to right or right to left."""
    page.emulate_media(forced_colors="active")
    for size in _NARROW:
        page.set_viewport_size(size)  # type: ignore[arg-type]
        for direction in ("rtl", "ltr"):
            page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
            cut = page.evaluate(_CUT)
            assert cut == [], f"{page.url}, {size['width']}, {direction}: {cut}"
    page.emulate_media(forced_colors="none")
    page.set_viewport_size(_WIDE)  # type: ignore[arg-type]


def check_accessibility(page: Page, *, in_dark: bool = NIGHTLY) -> None:
    """Fail on any finding of axe in the page as it is now; its dark colours are checked at night."""
    # The page's own policy refuses a script tag.
    if page.evaluate("!window.axe"):
        page.evaluate(_AXE)
    schemes = {"light": _ALL, **({"dark": _COLOURS} if in_dark else {})}
    for scheme, options in schemes.items():
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        violations = page.evaluate(_RUN, options)
        assert violations == [], f"{page.url}, {scheme}: {violations}"
