"""Judge that asks a language model; the rules judge alone where the model does not answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

from app.core.outgoing_http.model_server import Endpoint, EndpointMemory, ModelError, Reason
from app.core.outgoing_http.reply import HttpClient
from app.core.process.stopping import never_stop
from app.core.setting_parsers import TokenPrices
from app.judge import rule_judge
from app.judge.acts.reading import shipped_readers
from app.judge.context import Context
from app.judge.facts.conversation_facts import Facts, facts_of
from app.judge.insights.outcome import outcome_of
from app.judge.judge import CpuLimit, Engine, Fallback, Judgement, ModelUse, Quality
from app.judge.language_model.answers import BY, answers_of, evidence_of
from app.judge.language_model.asking import Asking, Limits, ModelUsage
from app.judge.language_model.prompt import PromptRequest, prompt_request_of, shipped_prompt
from app.judge.language_model.questions import problems_of
from app.judge.language_model.read_facts import facts_as_read, is_surer, summary_of
from app.judge.language_model.reading import LISTS, Reading, reading_of
from app.judge.ledger.status import UNKNOWN
from app.judge.results import judgement_of
from app.judge.rule_judge import Ruled, checked, ruled_by, score_by_rules, too_little
from app.judge.rules.judging import unmet
from app.judge.scorecard.values import Criterion, Scorecard
from app.judge.scoring.answers import Answer, unjudged
from app.judge.scoring.score import ErrorCode, Problem, Score, score_of, unscored
from app.judge.wording import sentence
from app.transcript import Transcript

PROVIDER = "openai_compatible"
# If the scores by model and by rules differ by more points, a person has to review.
_MOST_DIFFERENCE = 30
_MILLION = 1_000_000


class AnswerStore(Protocol):
    """Stores a model's documents by the hash of all that they depend on."""

    def find(self, key: str) -> Mapping[str, Any] | None:
        """Return the stored document."""

    def keep(self, key: str, document: Mapping[str, Any], *, evaluation_id: str | None) -> None:
        """Store a document; one that is stored under the key already stays."""


@dataclass(frozen=True, slots=True)
class Access:
    """Access to the model: its endpoint, limits and prices, and the store of its answers."""

    endpoint: Endpoint
    memory: EndpointMemory
    limits: Limits
    open_sender: Callable[[], HttpClient]
    store: AnswerStore
    input_tokens: int
    prices: TokenPrices | None
    mask: bool


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The model's document, and the usage that it cost."""

    document: Mapping[str, Any]
    use: ModelUse
    usage: ModelUsage


@dataclass(frozen=True, slots=True)
class _Asked:
    """Answers of the rules from before the model was asked."""

    facts: Facts
    scorecard: Scorecard
    ruled: Ruled
    by_rules: Score


class LanguageModelJudge:
    """Asks a model about the criteria that models judge; the rules judge the others.

    A `hybrid` asks about every criterion that a model may judge, and takes the better shown answer where
    both have judged. What the model has read of requests, feelings and rude lines replaces what the rules
    have read. Where it does not answer, the rules judge alone, and the result says so.
    Where speakers are unknown, or there is too little to judge, nothing is asked.
    """

    def __init__(self, access: Access, *, hybrid: bool, cpu_limit_s: float, fast: bool) -> None:
        self._access = access
        self._hybrid = hybrid
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
        """Judge a conversation; raise `Stopped` when the work has to end before the model answers."""
        limit = CpuLimit(self._cpu_limit_s)
        facts = facts_of(transcript, scorecard, context, readers=shipped_readers(fast=self._fast))
        ruled = ruled_by(facts, scorecard, limit)
        criteria = self._asked(facts, scorecard, ruled)
        by_rules = score_by_rules(facts, scorecard, ruled.answers)
        if not criteria:
            quality = Quality(ruled.dropped)
            return judgement_of(facts, scorecard, by_rules, rule_judge.ENGINE, quality)
        access = self._access
        asking = Asking(
            access.endpoint, access.memory, access.limits, access.open_sender, should_stop
        )
        try:
            prompt_request = prompt_request_of(
                facts.dialogue,
                criteria,
                input_tokens=access.input_tokens,
                mask=access.mask,
            )
            verdict = self._ask(asking, prompt_request, context.evaluation_id)
        except ModelError as error:
            return self._by_rules_alone(facts, scorecard, ruled, criteria, error, asking.usage)
        asked = _Asked(facts, scorecard, ruled, by_rules)
        return self._judged(asked, prompt_request, verdict, limit)

    def _asked(self, facts: Facts, scorecard: Scorecard, ruled: Ruled) -> list[Criterion]:
        if too_little(facts, scorecard) or not facts.dialogue.service:
            return []
        return [
            item
            for item in scorecard.criteria
            if self._is_for_the_model(item, ruled.answers[item.key]) and unmet(facts, item) is None
        ]

    def _is_for_the_model(self, criterion: Criterion, by_rule: Answer) -> bool:
        if "model" not in criterion.methods:
            return False
        return self._hybrid or criterion.methods[0] == "model" or by_rule.unjudged

    def _ask(
        self, asking: Asking, prompt_request: PromptRequest, evaluation_id: str | None
    ) -> _Verdict:
        access = self._access
        key = prompt_request.key(access.endpoint, access.limits.output_tokens)
        excerpt_use = ModelUse(
            messages_omitted=prompt_request.excerpt.omitted,
            messages_shortened=prompt_request.excerpt.shortened,
            masked_count=prompt_request.masked_count,
        )
        stored = access.store.find(key)
        if stored is not None:
            use = replace(
                excerpt_use,
                returned_model=stored["model"],
                request_id=stored["requestId"],
                cached=True,
            )
            return _Verdict(stored["document"], use, asking.usage)
        reply = asking.ask(prompt_request.messages(), prompt_request.questions)
        answers = reply.document["answers"]
        document = {
            **{name: reply.document.get(name) for name in LISTS},
            "answers": {
                question.id: answers.get(question.id) for question in prompt_request.questions
            },
        }
        if not problems_of(document, prompt_request.questions):
            stored = {"document": document, "model": reply.model, "requestId": reply.request_id}
            access.store.keep(key, stored, evaluation_id=evaluation_id)
        use = replace(excerpt_use, returned_model=reply.model, request_id=reply.request_id)
        return _Verdict(document, use, asking.usage)

    def _judged(
        self, asked: _Asked, prompt_request: PromptRequest, verdict: _Verdict, limit: CpuLimit
    ) -> Judgement:
        scorecard, by_rules = asked.scorecard, asked.by_rules
        sources = prompt_request.sources
        answers, dropped = answers_of(verdict.document, prompt_request.questions, sources)
        answers, unfound = checked(answers, asked.facts.dialogue.transcript)
        reading = reading_of(verdict.document, partial(evidence_of, sources=sources))
        read = _read(asked.facts, reading)
        facts = read.shown
        # What the rules judge is to follow from the same ledger.
        ruled = ruled_by(facts, scorecard, limit) if facts.read_by_model else asked.ruled
        problem = too_little(facts, scorecard)

        def score(hybrid: bool) -> Score:
            mixed = {
                item.key: answer_of_both(
                    ruled.answers[item.key], answers[item.key], item, hybrid=hybrid
                )
                if item.key in answers
                else ruled.answers[item.key]
                for item in scorecard.criteria
            }
            return score_of(scorecard, mixed, problem)

        by_model, final = score(hybrid=False), score(hybrid=self._hybrid)
        quality = _quality(
            verdict.usage,
            replace(verdict.use, model_score=by_model.score, embedded_score=by_rules.score),
            self._access.prices,
            dropped=ruled.dropped + dropped + unfound + (reading.dropped if reading else 0),
        )
        engine = Engine(
            kind="hybrid" if self._hybrid else "model",
            provider=PROVIDER,
            model=self._access.endpoint.model,
            prompt_version=shipped_prompt().version,
        )
        summary = None
        if reading is not None and facts.read_by_model:
            summary = summary_of(facts, reading, outcome_of(facts))
        judgement = judgement_of(facts, scorecard, final, engine, quality, summary)
        steered = any(source.addresses_judge for source in sources.values())
        judgement = replace(judgement, needs_review=steered or _differ(by_model, by_rules))
        return judgement if read.other is None else with_otherwise(judgement, read.other)

    def _by_rules_alone(
        self,
        facts: Facts,
        scorecard: Scorecard,
        ruled: Ruled,
        criteria: list[Criterion],
        error: ModelError,
        usage: ModelUsage,
    ) -> Judgement:
        reason = sentence("model.outage", reason=error.message)
        missing = [item for item in criteria if _is_open(ruled.answers[item.key])]
        answers = ruled.answers | {item.key: unjudged(reason, by=BY) for item in missing}
        score = score_by_rules(facts, scorecard, answers)
        if missing and (score.problem or _outweigh(missing, score)):
            score = unscored(score, _of_outage(error))
        quality = replace(
            _quality(
                usage,
                ModelUse(embedded_score=score.score),
                self._access.prices,
                dropped=ruled.dropped,
            ),
            fallback=Fallback(str(error.reason), error.message),
        )
        return judgement_of(facts, scorecard, score, rule_judge.ENGINE, quality)


def _is_open(answer: Answer) -> bool:
    return answer.unjudged and answer.estimate is None


def _differ(one: Score, other: Score) -> bool:
    if one.score is None or other.score is None:
        return False
    return abs(one.score - other.score) > _MOST_DIFFERENCE


def _outweigh(missing: list[Criterion], score: Score) -> bool:
    """Tell whether the model was to judge more weight than the rules have judged."""
    judged = sum(item.criterion.weight for item in score.judged if item.answer.applicable)
    return sum(item.weight for item in missing) > judged


def _of_outage(error: ModelError) -> Problem:
    invalid = error.reason is Reason.INVALID_OUTPUT
    code = ErrorCode.ENGINE_OUTPUT_INVALID if invalid else ErrorCode.ENGINE_UNAVAILABLE
    return Problem(code, f"{error.message} Rules alone can judge too little of the scorecard.")


def _quality(
    usage: ModelUsage, use: ModelUse, prices: TokenPrices | None, *, dropped: int
) -> Quality:
    """Return the quality of a judgement; tokens and cost are None if the endpoint reports none."""
    return Quality(
        unverified_evidence_count=dropped,
        model_calls=usage.requests,
        retries=usage.retries,
        cost_estimate=_cost(usage, prices),
        model=replace(
            use,
            prompt_tokens=usage.prompt_tokens if usage.tokens_known else None,
            answer_tokens=usage.answer_tokens if usage.tokens_known else None,
            latency_ms=usage.latency_ms,
            repairs=usage.repairs,
            answer_form=usage.form if usage.requests else None,
        ),
    )


def _cost(usage: ModelUsage, prices: TokenPrices | None) -> float | None:
    if not usage.requests:
        return 0.0
    if prices is None or not usage.tokens_known:
        return None
    cost = usage.prompt_tokens * prices.prompt + usage.answer_tokens * prices.answer
    return round(cost / _MILLION, 6)


class _Read(NamedTuple):
    """The facts that are shown, and those of the other judge where there are some."""

    shown: Facts
    other: Facts | None = None


def _read(facts: Facts, reading: Reading | None) -> _Read:
    """Choose between what the rules and what the model has read."""
    if reading is None or not reading.trusted:
        return _Read(facts)
    by_model = facts_as_read(facts, reading)
    return _Read(by_model, facts) if is_surer(facts, reading) else _Read(facts, by_model)


def with_otherwise(judgement: Judgement, other: Facts) -> Judgement:
    """Note the outcome that the other judge has read, where it is another one."""
    outcome = outcome_of(other)
    if outcome.status in (judgement.resolution, UNKNOWN):
        return judgement
    otherwise = {
        "status": outcome.status,
        "explanation": outcome.explanation,
        "judgedBy": BY if other.read_by_model else "rule",
    }
    resolution = {**judgement.results["resolution"], "otherwise": otherwise}
    return replace(judgement, results={**judgement.results, "resolution": resolution})


def answer_of_both(rule: Answer, model: Answer, criterion: Criterion, *, hybrid: bool) -> Answer:
    """Return the model's answer, or in a hybrid the one that is shown with a quote and surer.

    A critical failure that a rule has shown with a quote always stays. The other answer is noted where
    it gives another score.
    """
    if rule.score is None:
        return model
    by_rule = _is_shown_failure(rule, criterion) or (hybrid and _strength(rule) > _strength(model))
    shown, other = (rule, model) if by_rule else (model, rule)
    differs = other.score is not None and other.score != shown.score
    return replace(shown, otherwise=other) if differs else shown


def _strength(answer: Answer) -> tuple[bool, bool, float]:
    return answer.score is not None, bool(answer.evidence), answer.confidence or 0.0


def _is_shown_failure(rule: Answer, criterion: Criterion) -> bool:
    return (
        criterion.criticality != "none"
        and rule.score is not None
        and rule.score <= criterion.fails_at
        and bool(rule.evidence)
    )
