"""What a reviewer answers to criteria, checked against the scorecard and the transcript."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.ai.dialogue.evidence import Evidence, evidence_at
from app.ai.scorecard.values import Criterion, Scorecard
from app.ai.scoring.answers import Answer
from app.ai.transcript import Segment
from app.core.errors import InvalidInput

_NEEDED = "An answer or a normalizedScore is needed where the criterion is applicable."


@dataclass(frozen=True, slots=True)
class Rating:
    """One answer of a reviewer; `reason` is that of this criterion alone."""

    key: str
    answer: Answer
    reason: str | None

    def as_json(self) -> dict[str, Any]:
        """Show the rating as reviews do."""
        return {
            "key": self.key,
            "applicable": self.answer.applicable,
            "answer": self.answer.answer,
            "normalizedScore": self.answer.score,
            "reason": self.reason,
            "evidence": [item.as_json() for item in self.answer.evidence],
        }


def ratings_of(
    given: Sequence[Mapping[str, Any]],
    *,
    scorecard: Scorecard,
    segments: Mapping[str, Segment],
    reason: str | None,
) -> list[Rating]:
    """Check what was given for criteria.

    Args:
        given: the members of `criteria` of the request.
        segments: the transcript's, by id; quotes are looked up in them.
        reason: that of the whole review, for criteria without one of their own.

    Raises:
        InvalidInput: naming the field: no such criterion, or one twice; an answer that is none of
            its options, or a score that isn't the answer's; a quote that the transcript lacks.
    """
    known = {criterion.key: criterion for criterion in scorecard.criteria}
    found: dict[str, Rating] = {}
    for index, each in enumerate(given):
        place, key = f"criteria[{index}]", each["key"]
        if key not in known:
            raise _invalid(f"{place}.key", "The scorecard has no such criterion.")
        if key in found:
            raise _invalid(f"{place}.key", "This criterion is there already.")
        own_reason = each.get("reason")
        answer = _answer(each, known[key], place)
        evidence = tuple(
            _evidence(item, segments, f"{place}.evidence[{number}]")
            for number, item in enumerate(each.get("evidence", ()))
        )
        found[key] = Rating(
            key=key,
            answer=Answer(
                applicable=each["applicable"],
                explanation=own_reason or reason or "",
                judged_by="human",
                answer=answer[0],
                score=answer[1],
                evidence=evidence,
            ),
            reason=own_reason,
        )
    return list(found.values())


def _answer(
    given: Mapping[str, Any], criterion: Criterion, place: str
) -> tuple[str | int | float | None, float | None]:
    answer, score = given.get("answer"), given.get("normalized_score")
    if not given["applicable"]:
        if answer is not None or score is not None:
            raise _invalid(f"{place}.applicable", "What is not applicable has no answer.")
        return None, None
    if answer is None and score is None:
        raise _invalid(f"{place}.answer", _NEEDED, code="REQUIRED")
    for option in criterion.options:
        if answer in (None, option.answer) and score in (None, option.score):
            return option.answer, float(option.score)
    options = {option.answer: option.score for option in criterion.options}
    if answer is None and score is not None:
        # Between two options: the score stands without an answer.
        return None, round(score, 4)
    if answer not in options:
        listed = ", ".join(str(option) for option in options)
        raise _invalid(f"{place}.answer", f"This must be one of {listed}.", code="ENUM")
    raise _invalid(f"{place}.normalizedScore", f"This answer scores {options[answer]:g}.")


def _evidence(given: Mapping[str, Any], segments: Mapping[str, Segment], place: str) -> Evidence:
    segment = segments.get(given["segment_id"])
    if segment is None:
        raise _invalid(f"{place}.segmentId", "The transcript has no such segment.")
    quote = given["quote"]
    start = given.get("char_start")
    if start is None:
        start = segment.text.find(quote)
    if start < 0 or segment.text[start : start + len(quote)] != quote:
        raise _invalid(f"{place}.quote", "The segment does not say this, character for character.")
    return evidence_at(segment, start, start + len(quote), given["polarity"])


def _invalid(field: str, message: str, *, code: str = "FORMAT") -> InvalidInput:
    return InvalidInput.field(field, message, code=code)
