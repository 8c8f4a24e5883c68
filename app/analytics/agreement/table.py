"""Agreement as a table for a terminal."""

from collections.abc import Iterator, Mapping
from typing import Any

_WIDTH = 20
# From here on kappa is called good (docs/reviews.md).
_GOOD = 0.6
_OF_SCORE = (
    ("mean distance", "mae"),
    ("bias (AI - human)", "bias"),
    ("within 5 points", "share_within5"),
    ("Pearson", "pearson"),
    ("Spearman", "spearman"),
)


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the report on what `agreement.show` has found."""
    evaluations, reviewers = found["evaluations"], found["reviewers"]
    yield f"{evaluations} reviewed evaluations, {reviewers} reviewers"
    yield f"figures with under {found['least_pairs']} pairs are not shown; [..] is 95 %"
    yield ""
    yield f"{'criterion':34} {'pairs':>5}  {'agree':>6}  kappa  {'0':<{_WIDTH - 1}}1"
    for each in found["criteria"]:
        yield _row(each["key"], each)
    yield _row("resolution", found["resolution"])
    yield ""
    yield from _numbers("score", found["score"])
    yield from _numbers("satisfaction", found["satisfaction"])
    tables = [each for each in found["criteria"] if each["confusion"] is not None]
    if tables:
        yield ""
        yield "confusion: a row for each human answer, a column for each of the judge"
    for each in tables:
        yield from _table(each)


def _row(name: str, found: Mapping[str, Any]) -> str:
    start = f"{name[:34]:34} {found['pairs']:>5}"
    kappa = found["kappa"] or found["weighted_kappa"]
    agreed = found["percent_agreement"]
    if agreed is None:
        return f"{start}  {_reason(found)}"
    told = f"{start}  {agreed['value']:5.1f}%"
    if kappa is None:
        return f"{told}  {_reason(found)}"
    mark = "good" if kappa["value"] >= _GOOD else ""
    people = found["human_human"]
    among = people["kappa"] or people["weighted_kappa"]
    beside = f"  humans {among['value']:.2f}" if among else ""
    return f"{told}  {kappa['value']:5.2f}  {_bar(kappa)} {mark}{beside}".rstrip()


def _bar(found: Mapping[str, float | None]) -> str:
    """Draw a figure from 0 to 1 as a bar, its interval as a line through its end."""
    value, low, high = (_place(found[name]) for name in ("value", "low", "high"))
    cells = ["█" if place < value else " " for place in range(_WIDTH)]
    if found["low"] is not None and found["high"] is not None:
        for place in range(low, min(high + 1, _WIDTH)):
            cells[place] = "▓" if place < value else "─"
    return f"|{''.join(cells)}|"


def _place(value: float | None) -> int:
    return round(_WIDTH * min(1.0, max(0.0, value or 0.0)))


def _numbers(name: str, found: Mapping[str, Any]) -> Iterator[str]:
    yield f"{name}: {found['pairs']} pairs"
    figures = [(title, key) for title, key in _OF_SCORE if found.get(key) is not None]
    for title, key in figures:
        beside = found["human_human"].get(key)
        humans = f"   humans {_interval(beside)}" if beside else ""
        yield f"  {title:20} {_interval(found[key])}{humans}"
    alpha = found["human_human"]["alpha"]
    if alpha is not None:
        yield f"  {'Krippendorff alpha':20} humans {_interval(alpha)}"
    if not figures:
        yield f"  {_reason(found)}"


def _interval(found: Mapping[str, Any]) -> str:
    shown = f"{found['value']:7.3f}"
    if found["low"] is None:
        return shown
    return f"{shown} [{found['low']:.3f}, {found['high']:.3f}]"


def _reason(found: Mapping[str, Any]) -> str:
    return str(found["missing"][0]["reason"])


def _table(found: Mapping[str, Any]) -> Iterator[str]:
    table = found["confusion"]
    yield f"  {found['key']}"
    yield f"    {'':>8}" + "".join(f"{each:>7g}" for each in table["categories"])
    for category, counts in zip(table["categories"], table["counts"], strict=True):
        yield f"    {category:>8g}" + "".join(f"{count:>7}" for count in counts)
    for title, key in (
        ("said yes of yes", "true_positive_rate"),
        ("no of no", "true_negative_rate"),
    ):
        rate = found[key]
        if rate is not None:
            yield f"    {title:16} {_interval(rate)} of {rate['count']}"
