"""Choice of the judge by the settings."""

from functools import partial

from app.core.outgoing_http.model_server import Endpoint, EndpointMemory
from app.core.settings import EMBEDDED, Settings
from app.judge.judge import Judge
from app.judge.language_model.asking import ANSWER_BODY, Limits
from app.judge.language_model.judge import Access, AnswerStore, LanguageModelJudge
from app.judge.rule_judge import RuleJudge


def build_judge(settings: Settings, store: AnswerStore) -> Judge:
    """Make the judge; nothing connects before it is asked. Threads may share it."""
    if settings.judge == EMBEDDED:
        return RuleJudge(settings.evaluation_cpu_s, fast=settings.judge_fast)
    endpoint = endpoint_of(settings)
    access = Access(
        endpoint=endpoint,
        memory=EndpointMemory(
            settings.data_dir / "judge.endpoint", f"{endpoint.url} {endpoint.model}"
        ),
        limits=Limits(
            timeout_s=settings.judge_timeout_s,
            deadline_s=settings.judge_deadline_s,
            output_tokens=settings.judge_output_tokens,
        ),
        open_sender=partial(endpoint.open_client, ca_bundle=settings.judge_ca_bundle),
        store=store,
        input_tokens=settings.judge_input_tokens,
        prices=settings.judge_prices,
        mask=settings.judge_mask,
    )
    return LanguageModelJudge(
        access,
        hybrid=settings.judge == "hybrid",
        cpu_limit_s=settings.evaluation_cpu_s,
        fast=settings.judge_fast,
    )


def endpoint_of(settings: Settings) -> Endpoint:
    """Name the model that the settings ask for."""
    return Endpoint(settings.judge_url, settings.judge_model, settings.judge_api_key, ANSWER_BODY)


def requests_at_once(settings: Settings) -> int:
    """Say how many conversations a process judges at once: rules compute, models are waited for."""
    return 1 if settings.judge == EMBEDDED else settings.judge_concurrency
