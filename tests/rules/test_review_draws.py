"""Draws of review plans: uniform, repeatable, and dealt by shares to those who may see them."""

from collections import Counter

from app.core.principal import TeamScope
from app.reviews.drawing import PlanReviewer, draw
from bench.draws import EACH, WEEKS, candidates, simulated


def test_in_1000_weeks_each_conversation_is_drawn_as_often_as_any_other() -> None:
    for draws in simulated(WEEKS):
        # Nor does one reviewer get more of an agent than the other.
        assert draws.is_fair, (draws.of, draws.farthest, draws.bound)


def test_the_seed_repeats_a_draw_whatever_the_order() -> None:
    reviewers = [PlanReviewer("user_1", 1), PlanReviewer("user_2", 3)]
    first, counts = draw(candidates(), reviewers, lambda pool: 4, "1:2026-11-23")
    again, _ = draw(candidates()[::-1], reviewers, lambda pool: 4, "1:2026-11-23")
    other, _ = draw(candidates(), reviewers, lambda pool: 4, "1:2026-11-30")
    assert first == again != other
    assert {(count.pool, count.wanted, count.drawn) for count in counts} == {(EACH, 4, 4)}


def test_shares_are_kept_and_spread_over_the_working_days() -> None:
    reviewers = [PlanReviewer("user_1", 1), PlanReviewer("user_2", 3)]
    dealt, _ = draw(candidates(), reviewers, lambda pool: 10, "1")
    assert Counter(item.user_id for item in dealt) == {"user_1": 15, "user_2": 45}
    days = Counter(item.day for item in dealt if item.user_id == "user_2")
    assert days == dict.fromkeys(range(5), 9)


def test_reviewers_get_only_what_their_teams_show() -> None:
    west = TeamScope(call_center_ids=("west",))
    items = [
        *candidates(agents=1, call_center_id="west"),
        *candidates(agents=2, call_center_id="east")[EACH:],
    ]
    limited = PlanReviewer("user_1", 5, west)
    dealt, counts = draw(items, [limited], lambda pool: 5, "1")
    assert {item.candidate.call_center_id for item in dealt} == {"west"}
    assert len(counts) == 1
    both, _ = draw(items, [limited, PlanReviewer("user_2", 1)], lambda pool: 5, "1")
    assert {(item.user_id, item.candidate.call_center_id) for item in both} >= {("user_2", "east")}
    assert ("user_1", "east") not in {
        (item.user_id, item.candidate.call_center_id) for item in both
    }


def test_an_agent_with_too_few_gives_all_and_the_counts_say_so() -> None:
    dealt, [count] = draw(candidates(2, 1), [PlanReviewer("u", 1)], lambda pool: 3, "1")
    assert len(dealt) == 2
    assert (count.pool, count.wanted, count.drawn) == (2, 3, 2)
