"""Views of the dashboard: numbers, changes within their error, filters in addresses, alerts."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, PackageLoader

from app.analytics.reports.means import MeasuredMean, change_of, rate
from app.core.clock import iso_utc
from app.core.errors import InvalidInput
from app.dashboard.pages.figures.overview import Situation, alerts
from app.dashboard.queries import LinkedCount
from app.dashboard.views import filters, formatting, trends

NOW = datetime(2026, 11, 22, 9, 30, 15, 123_456, tzinfo=UTC)
KOLKATA, LONDON = ZoneInfo("Asia/Kolkata"), ZoneInfo("Europe/London")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (formatting.number(1234.5, 1), "1,234.5"),
        (formatting.number(None), formatting.MISSING),
        (formatting.percent(0.714), "71 %"),
        (formatting.percent(0.0112, 1), "1.1 %"),
        (formatting.percent(None), formatting.MISSING),
        (formatting.signed(1.24), "+1.2"),
        (formatting.signed(-9.06), "-9.1"),
        (formatting.signed(-0.04), "0.0"),
        (formatting.signed(None), formatting.MISSING),
        (formatting.day_of(NOW), "22 Nov"),
        (formatting.waiting_time(95), "95 s"),
        (formatting.waiting_time(9_000), "2.5 h"),
        (formatting.duration(3_723), "1:02:03"),
        (formatting.duration(2 * 86_400 + 3 * 3_600), "2 days 3 h"),
        (formatting.duration(86_400), "1 day 0 h"),
    ],
)
def test_numbers_read_as_people_write_them(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Firefox/140.0", "Firefox on Windows"),
        ("Mozilla/5.0 (X11; Linux x86_64) Chrome/150.0.0.0 Safari/537.36", "Chrome on Linux"),
        ("Mozilla/5.0 (Linux; Android 16) Chrome/150.0 Safari/537 EdgA/150", "Edge on Android"),
        ("Mozilla/5.0 (iPhone; like Mac OS X) Version/19.0 Safari/604.1", "Safari on iOS"),
        ("curl/8.0", "curl/8.0"),
        ("", ""),
    ],
)
def test_a_browser_has_its_short_name(user_agent: str, name: str) -> None:
    assert formatting.browser_name(user_agent) == name


def test_a_change_within_its_error_is_not_clear() -> None:
    before = MeasuredMean(mean=77.0, deviation=15, count=400)
    small, large = (
        change_of(MeasuredMean(mean, deviation=15, count=400), before) for mean in (78.0, 80.0)
    )
    assert small is not None
    assert large is not None
    assert (small.value, small.is_clear, small.direction) == (1.0, False, "up")
    assert (large.value, large.is_clear) == (3.0, True)
    assert large.error == pytest.approx(1.963 * 15 * (2 / 399) ** 0.5, rel=1e-3)
    assert change_of(None, before) is None


def test_a_single_evaluation_makes_no_change_clear() -> None:
    change = change_of(MeasuredMean(20.0, 0, 1), MeasuredMean(90.0, 0, 1))
    assert change is not None
    assert (change.value, change.error, change.is_clear) == (-70.0, None, False)
    fallen = change_of(rate(0.0, 2), rate(1.0, 2))
    assert fallen is not None
    assert fallen.error == pytest.approx(4.303 * 100 * (2 * 0.75 * 0.25 / 4) ** 0.5)


@pytest.mark.parametrize(
    ("count", "half_width"),
    # Of 70, 80 alternating: t times the sample's standard deviation over the square root of the count.
    [(2, 63.53), (4, 9.187), (6, 5.748), (30, 1.899), (1000, 0.3104)],
)
def test_intervals_of_few_values_are_those_of_students_t(count: int, half_width: float) -> None:
    assert MeasuredMean(75, 5, count).half_width == pytest.approx(half_width, rel=3e-3)


def test_the_degrees_of_freedom_of_a_difference_follow_its_smaller_sample() -> None:
    few, many = MeasuredMean(60, 10, 3), MeasuredMean(80, 10, 300)
    change = change_of(few, many)
    assert change is not None
    assert change.error == pytest.approx(4.303 * (100 / 2 + 100 / 299) ** 0.5)
    same = change_of(MeasuredMean(100, 0, 3), MeasuredMean(90, 0, 3))
    assert same is not None
    assert same.is_clear


# The four degrees of freedom are computed as a bit less for 0.03.
@pytest.mark.parametrize("deviation", [0.03, 0.05, 10])
def test_three_values_on_both_sides_have_four_degrees_of_freedom(deviation: float) -> None:
    change = change_of(MeasuredMean(60, deviation, 3), MeasuredMean(80, deviation, 3))
    assert change is not None
    assert change.error == pytest.approx(2.776 * deviation, rel=1e-2)


@pytest.mark.parametrize(
    ("slope", "values", "text"),
    [
        (-0.05, [None] * 20 + [0.9, 0.85, None, 0.75], "down by 15 percentage points"),
        (0.4, [None, 0, 0, 1, 1, None], "up by 100 percentage points, may be chance"),
        (0.4, [0.1, 0.5], "up by 40 percentage points, may be chance"),
        (0.001, [0.5, 0.501, 0.502], "steady"),
        (None, [0.5], "too few points"),
    ],
)
def test_a_line_rises_only_between_its_points(
    slope: float | None, values: list[float | None], text: str
) -> None:
    series = {"slope_per_period": slope, "points": [{"value": value} for value in values]}
    said = trends.slope_text({"metric": "passRate"}, series)
    assert said == text


@pytest.mark.parametrize(
    ("means", "text"),
    [
        ([99.4, 99.6], '<td class="number">99</td>'),
        ([99.6, 100], "Every criterion that applied often enough has a mean of 100."),
        ([], "No criterion applied."),
    ],
)
def test_a_perfect_criterion_is_not_a_weakness(means: list[float], text: str) -> None:
    environment = Environment(loader=PackageLoader("app.dashboard"), autoescape=True)
    environment.filters["number"] = formatting.number
    macros: Any = environment.get_template("_macros/figures.html").module
    rows = [
        {"key": "recap", "title": "Recap", "mean_score": mean, "evaluations": 5} for mean in means
    ]
    shown = macros.criteria(rows, {"recap": []}, "Weakest", "No criterion applied.")
    assert text in shown
    assert ">100<" not in shown


def test_more_evaluations_make_the_interval_narrower() -> None:
    few, many = rate(0.7, 20), rate(0.7, 2000)
    assert few.mean == many.mean == 70
    assert 0 < many.half_width < few.half_width / 9


queries = st.dictionaries(
    st.sampled_from([*filters.CARRIED, "minScore", "q", "sort"]), st.text(min_size=1, max_size=9)
)


@given(query=queries)
def test_an_address_has_the_query_it_was_made_of(query: dict[str, str]) -> None:
    parts = urlsplit(filters.url("/evaluations", query))
    assert parts.path == "/evaluations"
    assert dict(parse_qsl(parts.query, keep_blank_values=True)) == query
    assert set(filters.carried(query)) <= set(filters.CARRIED)


def test_links_change_single_filters() -> None:
    query = {"channel": "chat", "page": "3"}
    assert (
        filters.url("/evaluations", query, page=None, q="a b") == "/evaluations?channel=chat&q=a+b"
    )
    assert filters.url("/evaluations", {}) == "/evaluations"


def test_a_chip_removes_its_filter_and_the_page() -> None:
    query = {"channel": "chat", "minScore": "80", "page": "3"}
    chat, score = filters.chips("/evaluations", query, {"channel": "Chat"}, hidden=("page",))
    assert (chat.text, chat.remove_url) == ("Chat", "/evaluations?minScore=80")
    assert (score.text, score.remove_url) == ("80", "/evaluations?channel=chat")


@pytest.mark.parametrize(
    ("query", "start", "end", "label"),
    [
        ({}, "2026-10-23T09:30:16Z", "2026-11-22T09:30:16Z", "23 Oct 2026 to 22 Nov 2026"),
        (
            {"days": "7"},
            "2026-11-15T09:30:16Z",
            "2026-11-22T09:30:16Z",
            "15 Nov 2026 to 22 Nov 2026",
        ),
        (
            {"days": "1"},
            "2026-11-21T09:30:16Z",
            "2026-11-22T09:30:16Z",
            "21 Nov 2026 to 22 Nov 2026",
        ),
        ({"days": "all"}, None, None, "all time"),
        (
            {"from": "2026-11-01", "days": "7"},
            "2026-10-31T18:30:00Z",
            None,
            "1 Nov 2026 to now",
        ),
        (
            {"from": "2026-11-01T00:00:00Z", "to": "2026-11-08"},
            "2026-11-01T00:00:00Z",
            "2026-11-07T18:30:00Z",
            "1 Nov 2026 to 8 Nov 2026",
        ),
        ({"to": "tomorrow"}, None, None, "all time"),
        ({"from": "0001-01-01"}, None, None, "all time"),
    ],
    ids=str,
)
def test_the_period_of_a_query(
    query: dict[str, str], start: str | None, end: str | None, label: str
) -> None:
    period = filters.chosen_period(query, KOLKATA, NOW)
    expected = [text and datetime.fromisoformat(text) for text in (start, end)]
    assert [period.start, period.end] == expected
    assert period.label(KOLKATA) == label


@pytest.mark.parametrize("text", ["0", "-7", "1.5", "week", "10000", "٧"])
def test_what_is_no_number_of_days_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        filters.chosen_period({"days": text}, LONDON, NOW)


def test_links_carry_the_moments_of_the_period() -> None:
    period = filters.chosen_period({"days": "7"}, LONDON, NOW)
    query = filters.with_moments({"days": "7", "channel": "chat"}, period)
    assert query == {
        "channel": "chat",
        "from": "2026-11-15T09:30:16.000Z",
        "to": "2026-11-22T09:30:16.000Z",
    }
    assert [iso_utc(moment) for moment in (period.start, period.end) if moment] == [
        query["from"],
        query["to"],
    ]


def due(**facts: Any) -> list[str]:
    return [alert.text for alert in alerts(Situation(now=NOW, **facts))]


def ago(**length: float) -> datetime:
    return NOW - timedelta(**length)


def webhook(**state: datetime) -> dict[str, Any]:
    return {
        "id": "sub_1",
        "description": "crm",
        "deactivated_at": None,
        "failing_since": None,
        **state,
    }


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, []),
        ({"auto_fails": LinkedCount(0, "/list")}, []),
        ({"auto_fails": LinkedCount(1, "/list")}, ["1 auto-fail not reviewed"]),
        ({"auto_fails": LinkedCount(3, "/list")}, ["3 auto-fails not reviewed"]),
        (
            {"disputes": LinkedCount(2, "/list", ago(days=3))},
            ["2 open disputes, the oldest from 3 d ago"],
        ),
        ({"failing_parts": ["The worker does not answer"]}, ["The worker does not answer"]),
        ({"webhooks": [webhook(failing_since=ago(minutes=59))]}, []),
        (
            {"webhooks": [webhook(failing_since=ago(minutes=61))]},
            ["Webhook crm failing for 1 h"],
        ),
        (
            {"webhooks": [webhook(deactivated_at=ago(days=2), failing_since=ago(days=9))]},
            ["Webhook crm switched off 2 d ago"],
        ),
        ({"waiting": LinkedCount(4, "/work", ago(minutes=15))}, []),
        (
            {"waiting": LinkedCount(4, "/work", ago(minutes=16))},
            ["4 under way, the oldest for 16 min"],
        ),
        ({"failed": LinkedCount(2, "/list"), "ended_count": 2}, []),
        ({"failed": LinkedCount(3, "/list"), "ended_count": 150}, []),
        (
            {"failed": LinkedCount(3, "/list"), "ended_count": 100},
            ["3 failed, 3 % of those that ended"],
        ),
        ({"usage_percents": {"API calls": 79.9}}, []),
        (
            {"usage_percents": {"API calls": 80.0}},
            ["API calls: 80 % of the plan's amount used"],
        ),
    ],
    ids=str,
)
def test_an_alert_is_due_from_its_bound_on(facts: dict[str, Any], expected: list[str]) -> None:
    assert due(**facts) == expected


def test_an_alert_leads_to_the_page_on_which_to_act() -> None:
    situation = Situation(
        now=NOW,
        failing_parts=["The worker does not answer"],
        parts_href="/system",
        webhooks=[webhook(deactivated_at=ago(days=2)), webhook(failing_since=ago(hours=2))],
        usage_percents={"API calls": 80.0},
    )
    places = [alert.href for alert in alerts(situation)]
    assert places == ["/system", "/webhooks/sub_1", "/webhooks/sub_1", "/usage"]


@pytest.mark.parametrize(
    ("mean", "count", "is_due"),
    [(75.0, 200, True), (77.5, 200, False), (60.0, 19, False), (83.0, 200, False)],
)
def test_a_lower_mean_is_reported_beyond_two_standard_errors(
    mean: float, count: int, is_due: bool
) -> None:
    before = MeasuredMean(78, deviation=10, count=200)
    texts = due(mean_now=MeasuredMean(mean, deviation=10, count=count), mean_before=before)
    assert bool(texts) is is_due
    # Two standard errors of the difference are 2.0 here.
    assert not texts or texts == ["Mean score down by 3.0 since the period before"]


def test_what_stands_still_comes_before_what_waits_for_people() -> None:
    texts = due(auto_fails=LinkedCount(1, "/list"), failing_parts=["The worker does not answer"])
    assert texts == ["The worker does not answer", "1 auto-fail not reviewed"]
