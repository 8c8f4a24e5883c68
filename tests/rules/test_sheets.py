"""Advice on sheets to print: what is most frequent, quoted once, and short enough for paper."""

from datetime import UTC, datetime
from typing import Any

from app.dashboard.views.sheets import AdvisedConversation, advice_of, frequent_advice

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def item(key: str, text: str, quote: str = "", start_ms: int | None = None) -> dict[str, Any]:
    evidence = [{"quote": quote, "startMs": start_ms}] if quote else []
    return {"criterionKey": key, "text": text, "evidence": evidence}


def conversation(number: int, *improvements: dict[str, Any]) -> AdvisedConversation:
    row = {"id": f"eval_{number}", "conversation_at": NOW}
    coaching = {"strengths": [], "improvements": improvements}
    return AdvisedConversation.of(row, {"coaching": coaching})


def test_a_quote_that_the_text_repeats_is_shown_once() -> None:
    quoted = item(
        "a", "Rude (0:08, “Check that with your bank yourself”).", "Check that with your bank"
    )
    unquoted = item("b", "The agent did not sum up.", "Anything else?", 61_000)
    shown = advice_of(conversation(1, quoted, unquoted), "improvements")
    assert [(advice.quote, advice.clock) for advice in shown] == [
        ("", ""),
        ("Anything else?", "1:01"),
    ]


def test_a_sheet_has_at_most_three_short_pieces_of_advice() -> None:
    many = [item(str(number), "word " * 400, "said " * 400, 0) for number in range(5)]
    shown = advice_of(conversation(1, *many), "improvements")
    assert len(shown) == 3
    assert all(len(advice.text) <= 320 and len(advice.quote) <= 200 for advice in shown)
    assert shown[0].text.endswith("word…")


def test_the_most_frequent_advice_comes_first_as_it_was_given_last() -> None:
    conversations = [
        conversation(3, item("recap", "newest recap"), item("greeting", "greeting")),
        conversation(2, item("recap", "older recap"), item("hold", "hold")),
        conversation(1, item("hold", "older hold"), item("tone", "tone"), item("recap", "oldest")),
    ]
    shown = frequent_advice(conversations, "improvements")
    assert [(advice.text, advice.count) for advice in shown] == [
        ("newest recap", 3),
        ("hold", 2),
        ("greeting", 1),
    ]
    assert [advice.evaluation_id for advice in shown] == ["eval_3", "eval_2", "eval_3"]
    assert frequent_advice(conversations, "strengths") == []


def test_an_evaluation_without_coaching_gives_no_advice() -> None:
    row = {"id": "eval_1", "conversation_at": NOW}
    assert advice_of(AdvisedConversation.of(row, {"coaching": None}), "strengths") == []
