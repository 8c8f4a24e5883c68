"""The judge that runs inside the service: rules, metrics and models of our own, no network."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from app.core.process.stopping import never_stop
from app.judge.acts.reading import shipped_readers
from app.judge.context import Context
from app.judge.dialogue.evidence import verified
from app.judge.facts.conversation_facts import Facts, facts_of
from app.judge.judge import CpuLimit, Engine, Judgement, Quality
from app.judge.languages.detection import name_of
from app.judge.results import judgement_of
from app.judge.rules import judging
from app.judge.rules.judging import speaks
from app.judge.rules.second_look import looked_at_again
from app.judge.scorecard.values import Scorecard
from app.judge.scoring.answers import Answer
from app.judge.scoring.score import ErrorCode, Problem, Score, score_of
from app.judge.wording import listed, sentence
from app.transcript import Transcript

# Raise the number whenever a rule, a phrase or a formula changes what a conversation scores.
ENGINE = Engine(kind="rules", provider="embedded", model="rules-21")


class RuleJudge:
    """Judges the criteria that rules can judge; the others are not applicable, with the reason.

    Raises:
        CpuLimitExceeded: the rules need more processor time than is allowed.
    """

    def __init__(self, cpu_limit_s: float = math.inf, *, fast: bool = False) -> None:
        """Make a judge; a `fast` one reads English without the encoder."""
        self._cpu_limit_s = cpu_limit_s
        self._fast = fast

    def judge(
        self,
        transcript: Transcript,
        scorecard: Scorecard,
        context: Context,
        *,
        should_stop: Callable[[], bool] = never_stop,
    ) -> Judgement:
        """Judge a conversation; the same input gives the same judgement."""
        limit = CpuLimit(self._cpu_limit_s)
        facts = facts_of(transcript, scorecard, context, readers=shipped_readers(fast=self._fast))
        ruled = ruled_by(facts, scorecard, limit)
        score = score_by_rules(facts, scorecard, ruled.answers)
        return judgement_of(facts, scorecard, score, ENGINE, Quality(ruled.dropped))


class Ruled(NamedTuple):
    """Answers by criterion whose evidence is in the transcript, and how much was dropped of it."""

    answers: dict[str, Answer]
    dropped: int


def ruled_by(facts: Facts, scorecard: Scorecard, limit: CpuLimit) -> Ruled:
    """Answer every criterion by its rule as far as a reader would agree, or say why not."""
    answers = {}
    for item in scorecard.criteria:
        limit.check()
        answers[item.key] = looked_at_again(facts, item, judging.answer(facts, item))
    limit.check()
    return checked(answers, facts.dialogue.transcript)


def score_by_rules(facts: Facts, scorecard: Scorecard, answers: dict[str, Answer]) -> Score:
    """Score the answers of the rules; a language that they can't read is said as the reason."""
    problem = too_little(facts, scorecard)
    score = score_of(scorecard, answers, problem)
    if score.problem and problem is None and not facts.dialogue.readable:
        return replace(score, problem=_of_language(score.problem, facts))
    return score


def checked(answers: dict[str, Answer], transcript: Transcript) -> Ruled:
    """Drop the evidence that the transcript doesn't hold."""
    segments = {segment.id: segment for segment in transcript.segments}
    dropped = 0
    valid_answers = {}
    for key, answer in answers.items():
        evidence, count = verified(answer.evidence, segments)
        valid_answers[key] = replace(answer, evidence=evidence) if count else answer
        dropped += count
    return Ruled(valid_answers, dropped)


def too_little(facts: Facts, scorecard: Scorecard) -> Problem | None:
    """Say why there is too little to judge at all: no words, or fewer than the scorecard asks."""
    if not facts.dialogue.lines:
        return Problem(ErrorCode.EMPTY_TRANSCRIPT, sentence("no_score.no_words"))
    if scorecard.languages and speaks(facts, scorecard.languages) is False:
        return Problem(
            ErrorCode.UNSUPPORTED_LANGUAGE,
            sentence(
                "no_score.other_language",
                languages=listed([name_of(tag) for tag in scorecard.languages]),
            ),
        )
    words, least = facts.dialogue.word_count, scorecard.minimum.words
    if words < least and not facts.dialogue.unspaced:
        return Problem(
            ErrorCode.INSUFFICIENT_CONTENT,
            sentence("no_score.few_words", words=words, least=least),
        )
    return None


def _of_language(problem: Problem, facts: Facts) -> Problem:
    unserved = facts.dialogue.attributed and not facts.dialogue.service
    if unserved or problem.code is not ErrorCode.INSUFFICIENT_CONTENT:
        return problem
    return Problem(
        ErrorCode.UNSUPPORTED_LANGUAGE,
        sentence("no_score.unread", reason=facts.dialogue.unread_reason),
    )
