"""Answers of a language model, verified against the transcript before they count."""

from collections.abc import Mapping, Sequence
from typing import Any
from unicodedata import normalize

from app.judge.dialogue.evidence import SUPPORTS, Evidence, sentence_around
from app.judge.language_model.prompt import Source
from app.judge.language_model.questions import (
    CANNOT_TELL,
    CONFIDENCE,
    NOT_APPLICABLE,
    Question,
    answer_problems,
)
from app.judge.scorecard.values import Option
from app.judge.scoring.answers import Answer, failed, judged, not_applicable
from app.judge.wording import sentence

BY = "model"
_LEAST_CONFIDENCE = 0.25
# The highest confidence of an answer that something is missing: that cannot be quoted.
_ABSENT_CONFIDENCE = 0.5
_MOST_QUOTES = 3
_MOST_CHARS = 600


def answers_of(
    document: Mapping[str, Any], questions: Sequence[Question], sources: Mapping[int, Source]
) -> tuple[dict[str, Answer], int]:
    """Map the keys of criteria to their answers; count the evidence that was dropped.

    Args:
        document: what the model answered.
        sources: by the numbers of the messages that it was shown.
    """
    answers, dropped = {}, 0
    for question in questions:
        raw_answer = document["answers"].get(question.id)
        problems = answer_problems(raw_answer, question)
        if problems:
            reason = sentence("model.unusable", problems="; ".join(problems))
            answers[question.criterion.key] = failed("invalid_output", clean(reason), by=BY)
            continue
        answer, count = _answer(raw_answer, question, sources)
        answers[question.criterion.key] = answer
        dropped += count
    return answers, dropped


def _answer(
    raw_answer: Mapping[str, Any], question: Question, sources: Mapping[int, Source]
) -> tuple[Answer, int]:
    quotes = raw_answer["evidence"][:_MOST_QUOTES]
    evidence = [piece for quote in quotes if (piece := evidence_of(quote, sources)) is not None]
    dropped = len(quotes) - len(evidence)
    explanation = clean(raw_answer["explanation"]) or sentence("model.no_reason")
    if raw_answer["answer"] == NOT_APPLICABLE:
        return not_applicable(explanation, by=BY), dropped
    if raw_answer["answer"] == CANNOT_TELL:
        return failed("insufficient_content", explanation, by=BY), dropped
    option = question.options[raw_answer["answer"]]
    sure = CONFIDENCE[raw_answer["confidence"]]
    confidence = sure * (len(evidence) / len(quotes) if quotes else 1.0)
    if not evidence:
        if not _says_what_is_missing(question, option):
            reason = sentence("model.no_quote", explanation=explanation)
            return failed("low_confidence", reason, by=BY), dropped
        confidence = min(sure, _ABSENT_CONFIDENCE)
    if confidence < _LEAST_CONFIDENCE:
        reason = sentence("model.unsure", explanation=explanation)
        return failed("low_confidence", reason, by=BY), dropped
    answer = judged(
        option.answer, option.score, explanation, confidence=confidence, by=BY, evidence=evidence
    )
    return answer, dropped


def _says_what_is_missing(question: Question, option: Option) -> bool:
    """Tell whether an answer needs no quote: a plain "no" that fails nothing else."""
    criterion = question.criterion
    return criterion.kind == "binary" and criterion.criticality == "none" and option.score == 0


def evidence_of(quoted: Mapping[str, Any], sources: Mapping[int, Source]) -> Evidence | None:
    """Find a quote in the message that it names, and quote the whole sentence; None if it is not there."""
    source = sources.get(quoted["message"])
    quote = "" if source is None else _as_shown(quoted["quote"].strip(), source.shown.text)
    if source is None or not quote or source.addresses_judge:
        return None
    start = source.shown.text.find(quote)
    # The mark at the end of a shortened message was never said.
    if source.masked.text[start : start + len(quote)] != quote:
        return None
    begin, end = source.masked.original_span(start, start + len(quote))
    return sentence_around(source.segment, begin, end, quoted.get("polarity", SUPPORTS))


def _as_shown(quote: str, text: str) -> str:
    """Spell a quote as the text does; empty where it does not occur there.

    Models rarely repeat a combining accent of the text as such.
    """
    forms = (quote, normalize("NFD", quote), normalize("NFC", quote))
    return next((form for form in forms if form in text), "")


def clean(text: str) -> str:
    """Put a text on one line, without unprintable characters, and shorten it."""
    words = "".join(char if char.isprintable() else " " for char in text).split()
    line = " ".join(words)
    return line if len(line) <= _MOST_CHARS else line[: _MOST_CHARS - 1] + "…"
