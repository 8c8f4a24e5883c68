"""Answers of a language model, verified against the transcript before they count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

from app.ai.dialogue.evidence import Evidence, sentence_around
from app.ai.language_model.excerpt import PromptMessage
from app.ai.language_model.masking import MaskedText
from app.ai.language_model.questions import (
    CANNOT_TELL,
    CONFIDENCE,
    NOT_APPLICABLE,
    SUMMARY_PARTS,
    Question,
)
from app.ai.language_model.reading import answer_problems
from app.ai.scorecard.values import Option
from app.ai.scoring.answers import Answer, failed, judged, not_applicable
from app.ai.transcript import Segment
from app.ai.wording.sentences import sentence

BY = "model"
LEAST_CONFIDENCE = 0.25
# What is missing can't be quoted: the most that such an answer is believed.
_ABSENT_CONFIDENCE = 0.5
_MOST_QUOTES = 3
_MOST_CHARS = 600


@dataclass(frozen=True, slots=True)
class Source:
    """A message as it was shown, and the segment with the words that it replaces.

    What `addresses_judge` is quoted as evidence of nothing.
    """

    shown: PromptMessage
    segment: Segment
    masked: MaskedText
    addresses_judge: bool = False


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
        told = document["answers"].get(question.id)
        problems = answer_problems(told, question)
        if problems:
            reason = sentence("model.unusable", problems="; ".join(problems))
            answers[question.criterion.key] = failed("invalid_output", _clean(reason), by=BY)
            continue
        answer, count = _answer(told, question, sources)
        answers[question.criterion.key] = answer
        dropped += count
    return answers, dropped


def summary_of(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read the summary that a model wrote, in the shape of the results; None where there is none."""
    written = document.get("summary")
    if not isinstance(written, Mapping):
        return None
    texts = {part: written.get(part) for part in SUMMARY_PARTS}
    told = {part: _clean(text) for part, text in texts.items() if isinstance(text, str)}
    if not told.get("issue") or not told.get("outcome"):
        return None
    parts = [told[part] for part in SUMMARY_PARTS if told.get(part)]
    return {
        "overview": " ".join(dict.fromkeys(parts)),
        "issue": told["issue"],
        "outcome": told["outcome"],
        "actionItems": [told["next"]] if told.get("next") else [],
    }


def _answer(
    told: Mapping[str, Any], question: Question, sources: Mapping[int, Source]
) -> tuple[Answer, int]:
    quotes = told["evidence"][:_MOST_QUOTES]
    found = [evidence for quote in quotes if (evidence := _found(quote, sources)) is not None]
    dropped = len(quotes) - len(found)
    explanation = _clean(told["explanation"]) or sentence("model.no_reason")
    if told["answer"] == NOT_APPLICABLE:
        return not_applicable(explanation, by=BY), dropped
    if told["answer"] == CANNOT_TELL:
        return failed("insufficient_content", explanation, by=BY), dropped
    option = question.options[told["answer"]]
    sure = CONFIDENCE[told["confidence"]]
    confidence = sure * (len(found) / len(quotes) if quotes else 1.0)
    if not found:
        if not _says_what_is_missing(question, option):
            reason = sentence("model.no_quote", explanation=explanation)
            return failed("low_confidence", reason, by=BY), dropped
        confidence = min(sure, _ABSENT_CONFIDENCE)
    if confidence < LEAST_CONFIDENCE:
        reason = sentence("model.unsure", explanation=explanation)
        return failed("low_confidence", reason, by=BY), dropped
    answer = judged(
        option.answer, option.score, explanation, confidence=confidence, by=BY, evidence=found
    )
    return answer, dropped


def _says_what_is_missing(question: Question, option: Option) -> bool:
    """Tell whether an answer needs no quote: a plain "no" that fails nothing else."""
    criterion = question.criterion
    return criterion.kind == "binary" and criterion.criticality == "none" and option.score == 0


def _found(told: Mapping[str, Any], sources: Mapping[int, Source]) -> Evidence | None:
    source = sources.get(told["message"])
    quote = "" if source is None else _as_shown(told["quote"].strip(), source.shown.text)
    if source is None or not quote or source.addresses_judge:
        return None
    start = source.shown.text.find(quote)
    # The mark at the end of a shortened message is ours, and not what was said.
    if source.masked.text[start : start + len(quote)] != quote:
        return None
    begin, end = source.masked.original_span(start, start + len(quote))
    return sentence_around(source.segment, begin, end, told["polarity"])


def _as_shown(quote: str, text: str) -> str:
    """Spell a quote as the text does; empty where it does not occur there.

    An accent that is a sign of its own in the text is seldom one in what a model repeats.
    """
    forms = (quote, normalize("NFD", quote), normalize("NFC", quote))
    return next((form for form in forms if form in text), "")


def _clean(text: str) -> str:
    """Keep what can be shown and stored, on one line."""
    words = "".join(char if char.isprintable() else " " for char in text).split()
    line = " ".join(words)
    return line if len(line) <= _MOST_CHARS else line[: _MOST_CHARS - 1] + "…"
