"""Questions to a model: criteria of the scorecard, and the form of their answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.ai.scorecard.values import Criterion, Option

NOT_APPLICABLE = "not_applicable"
CANNOT_TELL = "cannot_tell"
FULFILLED = ("yes", "partly", "no", "unknown")
HOW = ("directly", "with detours", "with a struggle", "not at all")
SUMMARY_PARTS = ("issue", "done", "outcome", "next")
POLARITIES = ("supports", "contradicts")
# Words and their numbers: every server can restrict a model to a list of words.
CONFIDENCE = {"low": 0.4, "medium": 0.7, "high": 0.9}


@dataclass(frozen=True, slots=True)
class Question:
    """One criterion under a short id: `q1`, `q2` and so on."""

    id: str
    criterion: Criterion

    @property
    def options(self) -> dict[str, Option]:
        """Map the words of the answers to the options of the criterion."""
        return {str(option.answer): option for option in self.criterion.options}

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the allowed answers."""
        may_not_apply = (NOT_APPLICABLE,) if self.criterion.not_applicable_when else ()
        return (*self.options, *may_not_apply, CANNOT_TELL)

    def as_json(self) -> dict[str, Any]:
        """Shape the question for the prompt: each answer with its written anchor."""
        answers = [
            {"answer": answer, "when": option.anchor} for answer, option in self.options.items()
        ]
        if self.criterion.not_applicable_when:
            answers.append({"answer": NOT_APPLICABLE, "when": self.criterion.not_applicable_when})
        answers.append({"answer": CANNOT_TELL, "when": "The messages do not show it."})
        return {
            "id": self.id,
            "title": self.criterion.title,
            "question": self.criterion.question,
            "answers": answers,
        }


def questions_of(criteria: Sequence[Criterion]) -> tuple[Question, ...]:
    """Number the criteria as questions."""
    return tuple(
        Question(f"q{number}", criterion) for number, criterion in enumerate(criteria, start=1)
    )


def answer_schema(questions: Sequence[Question]) -> dict[str, Any]:
    """Write the JSON Schema of the answers, within the limits of strict structured outputs."""
    goal = _object(goal=_TEXT, fulfilled=_one_of(FULFILLED), how=_one_of(HOW))
    return _object(
        goals={"type": "array", "items": goal},
        answers=_object(**{question.id: _answer(question) for question in questions}),
        summary=_object(**dict.fromkeys(SUMMARY_PARTS, _TEXT)),
    )


def _answer(question: Question) -> dict[str, Any]:
    quote = _object(message={"type": "integer"}, quote=_TEXT, polarity=_one_of(POLARITIES))
    # A model writes the members in this order: the grounds come before the verdict.
    return _object(
        evidence={"type": "array", "items": quote},
        explanation=_TEXT,
        answer=_one_of(question.choices),
        confidence=_one_of(tuple(CONFIDENCE)),
    )


_TEXT = {"type": "string"}


def _one_of(words: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


def _object(**members: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }
