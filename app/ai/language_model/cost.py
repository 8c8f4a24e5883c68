"""Cost of a language model: requests, tokens and money."""

from dataclasses import replace

from app.ai.judge import ModelUse, Quality
from app.ai.language_model.asking import ModelUsage
from app.core.settings import TokenPrices

_MILLION = 1_000_000


def quality_of(
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
