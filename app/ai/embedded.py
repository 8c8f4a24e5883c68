"""The judge that runs inside the service: rules, metrics and two linear models of our own, no network."""

from dataclasses import replace

from app.ai import rules
from app.ai.answers import Answer
from app.ai.context import Context
from app.ai.evidence import verified
from app.ai.facts import Facts, facts_of
from app.ai.judge import Engine, Judgement, Quality
from app.ai.results import judgement_of
from app.ai.scorecard import Scorecard
from app.ai.scoring import ErrorCode, Problem, score_of
from app.ai.transcript import Transcript

# Raise the number whenever a rule, a phrase or a formula changes what a conversation scores.
ENGINE = Engine(kind="rules", provider="embedded", model="rules-2")


class EmbeddedJudge:
    """Judges what rules can honestly judge; the rest is not applicable, with that reason."""

    def judge(self, transcript: Transcript, scorecard: Scorecard, context: Context) -> Judgement:
        """Judge a conversation; the same input gives the same judgement."""
        facts = facts_of(transcript, scorecard, context)
        answers, dropped = checked(
            {item.key: rules.answer(facts, item) for item in scorecard.criteria}, transcript
        )
        score = score_of(scorecard, answers, too_little(facts, scorecard))
        if score.problem and not facts.dialogue.english:
            score = replace(score, problem=_of_language(score.problem, facts))
        return judgement_of(facts, scorecard, score, ENGINE, Quality(dropped))


def checked(answers: dict[str, Answer], transcript: Transcript) -> tuple[dict[str, Answer], int]:
    """Drop the evidence that the transcript doesn't hold; return the answers and the count."""
    segments = {segment.id: segment for segment in transcript.segments}
    dropped = 0
    kept = {}
    for key, answer in answers.items():
        evidence, count = verified(answer.evidence, segments)
        kept[key] = replace(answer, evidence=evidence) if count else answer
        dropped += count
    return kept, dropped


def too_little(facts: Facts, scorecard: Scorecard) -> Problem | None:
    """Say why there is too little to judge at all: no words, or fewer than the scorecard asks."""
    if not facts.dialogue.lines:
        return Problem(ErrorCode.EMPTY_TRANSCRIPT, "The transcript holds no words.")
    words, least = facts.dialogue.word_count, scorecard.minimum.words
    if words < least:
        return Problem(
            ErrorCode.INSUFFICIENT_CONTENT,
            f"The conversation has {words} words; a score needs {least}.",
        )
    return None


def _of_language(problem: Problem, facts: Facts) -> Problem:
    language = facts.dialogue.language
    if problem.code is not ErrorCode.INSUFFICIENT_CONTENT or not language:
        return problem
    return Problem(
        ErrorCode.UNSUPPORTED_LANGUAGE,
        f"The embedded engine does not read the words of {language}, and too little is left.",
    )
