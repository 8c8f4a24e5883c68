"""Comparison of the scores that two scorecards give to the same conversations."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from app.ai.judge import Judgement


@dataclass(frozen=True, slots=True)
class TriedConversation:
    """One conversation judged by both scorecards; a score without a verdict is None."""

    evaluation_id: str
    before: int | None
    after: int | None
    passed_before: bool | None
    passed_after: bool | None

    @property
    def is_compared(self) -> bool:
        """Whether both scorecards come to a verdict."""
        return self.before is not None and self.after is not None

    @property
    def change(self) -> int:
        """Rise of the score; 0 if either score is missing."""
        return (self.after or 0) - (self.before or 0) if self.is_compared else 0


def tried(evaluation_id: str, before: Judgement, after: Judgement) -> TriedConversation:
    """Take the scores of two judgements; those without a verdict count nowhere."""
    return TriedConversation(
        evaluation_id,
        None if before.passed is None else before.score,
        None if after.passed is None else after.score,
        before.passed,
        after.passed,
    )


def compared(conversations: Sequence[TriedConversation]) -> dict[str, Any]:
    """Sum up: the mean and the passed share of those to which both give a verdict.

    The conversations are listed with the largest change first.
    """
    both = [conversation for conversation in conversations if conversation.is_compared]
    return {
        "judged": len(conversations),
        "compared": len(both),
        "without_verdict_before": sum(item.before is None for item in conversations),
        "without_verdict_after": sum(item.after is None for item in conversations),
        "before": _side([(item.before, item.passed_before) for item in both]),
        "after": _side([(item.after, item.passed_after) for item in both]),
        "conversations": sorted(
            conversations, key=lambda item: (not item.is_compared, -abs(item.change))
        ),
    }


def _side(verdicts: Sequence[tuple[int | None, bool | None]]) -> dict[str, float | None]:
    if not verdicts:
        return {"mean_score": None, "pass_rate": None}
    return {
        "mean_score": round(fmean(score or 0 for score, _ in verdicts), 2),
        "pass_rate": round(fmean(bool(passed) for _, passed in verdicts), 4),
    }
