import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judge.context import Context
from app.judge.facts.conversation_facts import facts_of
from app.judge.facts.timing import gaps_between, intersection, percentile, total_length, union
from app.transcript import Transcript
from tests.talks import call, scorecard, words

VOICE = scorecard("voice")


def metrics(transcript: Transcript) -> dict:
    return facts_of(transcript, VOICE, Context()).measures.values


def missing(transcript: Transcript) -> dict:
    return facts_of(transcript, VOICE, Context()).measures.missing


INTERVALS = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 100)).map(lambda pair: (pair[0], sum(pair)))
)


def seconds_of(intervals: list[tuple[int, int]]) -> set[int]:
    return {moment for start, end in intervals for moment in range(start, end)}


@given(INTERVALS, INTERVALS)
def test_interval_arithmetic_is_that_of_sets(left, right) -> None:
    one, two = union(left), union(right)
    assert seconds_of(one) == seconds_of(left)
    assert total_length(one) == len(seconds_of(left))
    assert seconds_of(intersection(one, two)) == seconds_of(left) & seconds_of(right)
    if one:
        covered = set(range(one[0][0], one[-1][1]))
        assert seconds_of(gaps_between(one)) == covered - seconds_of(one)


LINES = st.lists(
    st.tuples(
        st.sampled_from("acu"),
        st.integers(0, 60_000),
        st.integers(0, 20_000),
        st.sampled_from(["yes", words(3), words(40), "is it so?", "one moment please"]),
    ).map(lambda line: (line[0], line[1], line[1] + line[2], line[3])),
    max_size=12,
).map(lambda lines: sorted(lines, key=lambda line: line[1]))


@given(LINES, st.integers(0, 100_000))
def test_the_metrics_of_any_call_agree_with_each_other(lines, duration) -> None:
    values = metrics(call(*lines, duration=duration))
    assert set(missing(call(*lines, duration=duration))) == {
        name for name, value in values.items() if value is None
    }
    if values["silenceMs"] is None or values["agentTalkMs"] is None:
        return
    total = max([duration, *(end for _, _, end, _ in lines)])
    speech = values["agentTalkMs"] + values["customerTalkMs"] - values["overtalkMs"]
    others = any(letter == "u" for letter, *_ in lines)
    assert values["silenceMs"] + speech <= total
    if not others:
        assert values["silenceMs"] + speech == total
    assert 0 <= values["overtalkMs"] <= min(values["agentTalkMs"], values["customerTalkMs"])
    assert values["deadAirMs"] <= values["nonTalkMs"] <= values["silenceMs"]
    assert values["longestSilenceMs"] <= values["silenceMs"]
    assert values["interruptionsByAgent"] + values["interruptionsByCustomer"] <= len(lines)
    assert values["longestMonologueMs"] <= total


@given(LINES)
def test_moving_a_call_in_time_changes_no_talk(lines) -> None:
    moved = [(letter, start + 5_000, end + 5_000, text) for letter, start, end, text in lines]
    before, after = metrics(call(*lines)), metrics(call(*moved))
    for name in ("agentTalkMs", "overtalkMs", "interruptionsByAgent", "deadAirCount", "agentWpm"):
        assert before[name] == after[name]


@given(LINES)
def test_exchanging_the_sides_exchanges_their_numbers(lines) -> None:
    other = {"a": "c", "c": "a", "u": "u"}
    before = metrics(call(*lines))
    after = metrics(call(*((other[letter], *rest) for letter, *rest in lines)))
    assert before["agentTalkMs"] == after["customerTalkMs"]
    assert before["overtalkMs"] == after["overtalkMs"]
    assert before["interruptionsByAgent"] == after["interruptionsByCustomer"]


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 100))
def test_a_percentile_lies_between_the_extremes(values, percent) -> None:
    assert min(values) <= percentile(values, percent) <= max(values) + 1e-6


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)
