"""What asking a model has come to: requests, tokens and what they cost."""

from dataclasses import replace

from app.ai.judge import ModelUse, Quality
from app.ai.language_model.asking import Tally
from app.core.settings import TokenPrices

_MILLION = 1_000_000


def quality_of(tally: Tally, use: ModelUse, prices: TokenPrices | None, *, dropped: int) -> Quality:
    """Write down what was asked; tokens and cost are None where the endpoint doesn't tell them."""
    return Quality(
        unverified_evidence_count=dropped,
        model_calls=tally.requests,
        retries=tally.retries,
        cost_estimate=_cost(tally, prices),
        model=replace(
            use,
            prompt_tokens=tally.prompt_tokens if tally.tokens_known else None,
            answer_tokens=tally.answer_tokens if tally.tokens_known else None,
            latency_ms=tally.latency_ms,
            repairs=tally.repairs,
            answer_form=tally.form if tally.requests else None,
        ),
    )


def _cost(tally: Tally, prices: TokenPrices | None) -> float | None:
    if not tally.requests:
        return 0.0
    if prices is None or not tally.tokens_known:
        return None
    cost = tally.prompt_tokens * prices.prompt + tally.answer_tokens * prices.answer
    return round(cost / _MILLION, 6)
