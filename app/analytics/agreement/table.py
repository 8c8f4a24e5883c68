"""Agreement as a table for a terminal."""

from collections.abc import Iterator, Mapping
from typing import Any

_BAR_WIDTH = 20
# A kappa of 0.6 or more is marked as good (docs/reviews.md).
_GOOD_KAPPA = 0.6
_NUMBER_STATISTICS = (
    ("mean distance", "mae"),
    ("bias (AI - human)", "bias"),
    ("within 5 points", "share_within5"),
    ("Pearson", "pearson"),
    ("Spearman", "spearman"),
)


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a report of `agreement.report.show`."""
    yield f"{report['evaluations']} reviewed evaluations, {report['reviewers']} reviewers"
    yield f"statistics of fewer than {report['least_pairs']} pairs are not shown; [..] is 95 %"
    yield ""
    yield f"{'criterion':34} {'pairs':>5}  {'agree':>6}  kappa  {'0':<{_BAR_WIDTH - 1}}1"
    for criterion in report["criteria"]:
        yield _category_line(criterion["key"], criterion)
    yield _category_line("resolution", report["resolution"])
    yield ""
    yield from _number_lines("score", report["score"])
    yield from _number_lines("satisfaction", report["satisfaction"])
    with_confusion = [
        criterion for criterion in report["criteria"] if criterion["confusion"] is not None
    ]
    if with_confusion:
        yield ""
        yield "confusion: one row for each human answer, one column for each answer of the judge"
    for criterion in with_confusion:
        yield from _confusion_lines(criterion)


def _category_line(name: str, statistics: Mapping[str, Any]) -> str:
    line = f"{name[:34]:34} {statistics['pairs']:>5}"
    kappa = statistics["kappa"] or statistics["weighted_kappa"]
    agreement = statistics["percent_agreement"]
    if agreement is None:
        return f"{line}  {_reason(statistics)}"
    line = f"{line}  {agreement['value']:5.1f}%"
    if kappa is None:
        return f"{line}  {_reason(statistics)}"
    mark = "good" if kappa["value"] >= _GOOD_KAPPA else ""
    people = statistics["human_human"]
    human_kappa = people["kappa"] or people["weighted_kappa"]
    humans = f"  humans {human_kappa['value']:.2f}" if human_kappa else ""
    return f"{line}  {kappa['value']:5.2f}  {_bar(kappa)} {mark}{humans}".rstrip()


def _bar(estimate: Mapping[str, float | None]) -> str:
    """Draw a value from 0 to 1 as a bar, and its interval as a line across the end of the bar."""
    value, low, high = (_place(estimate[name]) for name in ("value", "low", "high"))
    cells = ["█" if place < value else " " for place in range(_BAR_WIDTH)]
    if estimate["low"] is not None and estimate["high"] is not None:
        for place in range(low, min(high + 1, _BAR_WIDTH)):
            cells[place] = "▓" if place < value else "─"
    return f"|{''.join(cells)}|"


def _place(value: float | None) -> int:
    return round(_BAR_WIDTH * min(1.0, max(0.0, value or 0.0)))


def _number_lines(name: str, statistics: Mapping[str, Any]) -> Iterator[str]:
    yield f"{name}: {statistics['pairs']} pairs"
    shown = [(title, key) for title, key in _NUMBER_STATISTICS if statistics.get(key) is not None]
    for title, key in shown:
        human = statistics["human_human"].get(key)
        humans = f"   humans {_interval(human)}" if human else ""
        yield f"  {title:20} {_interval(statistics[key])}{humans}"
    alpha = statistics["human_human"]["alpha"]
    if alpha is not None:
        yield f"  {'Krippendorff alpha':20} humans {_interval(alpha)}"
    if not shown:
        yield f"  {_reason(statistics)}"


def _interval(estimate: Mapping[str, Any]) -> str:
    value = f"{estimate['value']:7.3f}"
    if estimate["low"] is None:
        return value
    return f"{value} [{estimate['low']:.3f}, {estimate['high']:.3f}]"


def _reason(statistics: Mapping[str, Any]) -> str:
    return str(statistics["missing"][0]["reason"])


def _confusion_lines(criterion: Mapping[str, Any]) -> Iterator[str]:
    confusion = criterion["confusion"]
    yield f"  {criterion['key']}"
    yield f"    {'':>8}" + "".join(f"{category:>7g}" for category in confusion["categories"])
    for category, counts in zip(confusion["categories"], confusion["counts"], strict=True):
        yield f"    {category:>8g}" + "".join(f"{count:>7}" for count in counts)
    for title, key in (
        ("yes agreed", "true_positive_rate"),
        ("no agreed", "true_negative_rate"),
    ):
        rate = criterion[key]
        if rate is not None:
            yield f"    {title:16} {_interval(rate)} of {rate['count']}"
