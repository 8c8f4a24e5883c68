"""Changes between two results of one conversation: criterion, before, after, and by whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.dashboard.views.scored import answer_text

_NOT_A_CRITERION = "Not in this scorecard"
_ANSWER = ("applicable", "answer", "normalizedScore")


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """One criterion whose answer differs; `judged_by` says who gave the later one."""

    title: str
    before: str
    after: str
    judged_by: str | None


def changes_between(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> list[AnswerChange]:
    """Return the criteria whose answers differ, in the order of the later scorecard.

    Criteria that only the earlier scorecard has come last.
    """
    former = {criterion["key"]: criterion for criterion in before}
    changes = []
    for criterion in after:
        earlier = former.pop(criterion["key"], None)
        if earlier is None or any(earlier[name] != criterion[name] for name in _ANSWER):
            was = answer_text(earlier) if earlier else _NOT_A_CRITERION
            changes.append(
                AnswerChange(criterion["title"], was, answer_text(criterion), criterion["judgedBy"])
            )
    dropped = (
        AnswerChange(criterion["title"], answer_text(criterion), _NOT_A_CRITERION, None)
        for criterion in former.values()
    )
    return [*changes, *dropped]
