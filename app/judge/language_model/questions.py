"""Questions to a model: criteria of the scorecard, the form of their answers, and its check."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from app.judge.scorecard.values import Criterion, Option

NOT_APPLICABLE = "not_applicable"
CANNOT_TELL = "cannot_tell"
_POLARITIES = ("supports", "contradicts")
# Words and their numbers: every server can restrict a model to a list of words.
CONFIDENCE = {"low": 0.4, "medium": 0.7, "high": 0.9}
TEXT = {"type": "string"}
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL)
_MOST_STARTS = 50
_MOST_PROBLEMS = 12
_SHOWN_CHARS = 60


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
    return tuple(
        Question(f"q{number}", criterion) for number, criterion in enumerate(criteria, start=1)
    )


def answers_schema(questions: Sequence[Question]) -> dict[str, Any]:
    """Write the JSON Schema of the answers, within the limits of strict structured outputs."""
    return json_object(**{question.id: _answer(question) for question in questions})


def _answer(question: Question) -> dict[str, Any]:
    quote = json_object(message={"type": "integer"}, quote=TEXT, polarity=one_of(_POLARITIES))
    # A model writes the members in this order: the grounds come before the verdict.
    return json_object(
        evidence={"type": "array", "items": quote},
        explanation=TEXT,
        answer=one_of(question.choices),
        confidence=one_of(tuple(CONFIDENCE)),
    )


def one_of(words: Sequence[str]) -> dict[str, Any]:
    """Write the JSON Schema of a word of a list."""
    return {"type": "string", "enum": list(words)}


def json_object(**members: Any) -> dict[str, Any]:
    """Write the JSON Schema of an object with exactly these members."""
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


def document_in(text: str) -> dict[str, Any] | None:
    """Find the JSON object with the answers: the whole text, a fenced block, or a part of it."""
    for candidate in (text, *_FENCED.findall(text)):
        document = _loaded(candidate)
        if document is not None:
            return document
    return _embedded(text)


def problems_of(document: dict[str, Any] | None, questions: Sequence[Question]) -> list[str]:
    """List the first problems of the answers, in words for the model."""
    if document is None:
        return ['There is no JSON object with "answers" in it.']
    answers = document["answers"]
    problems = [
        f"{question.id}: {problem}"
        for question in questions
        for problem in answer_problems(answers.get(question.id), question)
    ]
    return problems[:_MOST_PROBLEMS]


def answer_problems(answer: Any, question: Question) -> list[str]:
    """List what is wrong with the answer to one question."""
    if not isinstance(answer, dict):
        return ["the answer is missing"]
    problems = []
    if not _is_word_of(question.choices, answer.get("answer")):
        word = str(answer.get("answer"))[:_SHOWN_CHARS]
        problems.append(f"answer {word!r} is not one of {', '.join(question.choices)}")
    if not _is_word_of(CONFIDENCE, answer.get("confidence")):
        problems.append(f"confidence is not one of {', '.join(CONFIDENCE)}")
    if not isinstance(answer.get("explanation"), str):
        problems.append("explanation is not a text")
    evidence = answer.get("evidence")
    if not isinstance(evidence, list) or not all(_is_evidence(piece) for piece in evidence):
        problems.append(
            "evidence is not a list of {message: integer, quote: text, polarity: "
            f"{' or '.join(_POLARITIES)}}}"
        )
    return problems


def _loaded(text: str) -> dict[str, Any] | None:
    try:
        return _with_answers(orjson.loads(text))
    except ValueError:
        return None


def _embedded(text: str) -> dict[str, Any] | None:
    decoder = json.JSONDecoder()
    start = -1
    for _ in range(_MOST_STARTS):
        start = text.find("{", start + 1)
        if start < 0:
            return None
        try:
            # Read again by the strict loader: this one takes NaN and lone surrogates.
            value, end = decoder.raw_decode(text, start)
            document = _with_answers(value) and _loaded(text[start:end])
        except (ValueError, RecursionError):
            continue
        if document:
            return document
    return None


def _with_answers(value: Any) -> dict[str, Any] | None:
    if isinstance(value, dict) and isinstance(value.get("answers"), dict):
        return value
    return None


def _is_word_of(words: Collection[str], value: Any) -> bool:
    return isinstance(value, str) and value in words


def is_quote(value: Any) -> bool:
    """Tell whether a value quotes a message by its number."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("message"), int)
        and not isinstance(value["message"], bool)
        and isinstance(value.get("quote"), str)
    )


def _is_evidence(value: Any) -> bool:
    return is_quote(value) and _is_word_of(_POLARITIES, value.get("polarity"))
