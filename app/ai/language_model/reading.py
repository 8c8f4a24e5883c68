"""Reading of a model's answer: the JSON in its text, and its problems."""

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

import orjson

from app.ai.language_model.questions import CONFIDENCE, POLARITIES, Question

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL)
_MOST_STARTS = 50
_MOST_PROBLEMS = 12
_SHOWN_CHARS = 60


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
            f"{' or '.join(POLARITIES)}}}"
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


def _is_evidence(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("message"), int)
        and not isinstance(value["message"], bool)
        and isinstance(value.get("quote"), str)
        and _is_word_of(POLARITIES, value.get("polarity"))
    )
