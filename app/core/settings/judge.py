"""The settings of the judgement: which engine judges, and how the language model is reached."""

from dataclasses import dataclass

from app.core.settings import parsers as read
from app.core.settings.fields import setting

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """What a million tokens cost, in the currency that the operator reckons in."""

    prompt: float
    answer: float


def _prices(text: str) -> TokenPrices:
    return TokenPrices(*read.pair(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The part of the settings that is about the judge."""

    judge: str = setting(
        "CQE_JUDGE",
        EMBEDDED,
        read.judge,
        "embedded; openai: a language model judges what rules cannot; hybrid: the mean of both",
    )
    judge_url: str = setting(
        "CQE_JUDGE_URL",
        "",
        read.model_url,
        "Base address of an OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1",
    )
    judge_model: str = setting(
        "CQE_JUDGE_MODEL", "", read.text, "Name of the model that the endpoint is asked for"
    )
    judge_api_key: str = setting(
        "CQE_JUDGE_API_KEY",
        "",
        read.token,
        "Key of the endpoint, sent as a bearer token; empty: none is sent",
        secret=True,
    )
    judge_ca_bundle: str = setting(
        "CQE_JUDGE_CA_BUNDLE", "", read.existing_file, "File of certificates that vouch for it"
    )
    judge_timeout_s: float = setting(
        "CQE_JUDGE_TIMEOUT_SECONDS", 60.0, read.seconds, "Whole time of one request to the model"
    )
    judge_deadline_s: float = setting(
        "CQE_JUDGE_DEADLINE_SECONDS",
        150.0,
        read.seconds,
        "Whole time for one conversation, retries and waits included",
    )
    judge_concurrency: int = setting(
        "CQE_JUDGE_CONCURRENCY",
        4,
        read.positive,
        "Conversations that each worker process asks the model about at once",
    )
    judge_input_tokens: int = setting(
        "CQE_JUDGE_INPUT_TOKENS",
        24_000,
        read.token_budget,
        "Most tokens of a prompt, estimated; the middle of a longer conversation is left out",
    )
    judge_output_tokens: int = setting(
        "CQE_JUDGE_OUTPUT_TOKENS", 4_000, read.token_budget, "Most tokens of an answer"
    )
    judge_prices: TokenPrices | None = setting(
        "CQE_JUDGE_PRICES",
        None,
        _prices,
        "prompt/answer price of a million tokens, such as 0.4/1.6, for the cost estimate",
    )
    judge_mask: bool = setting(
        "CQE_JUDGE_MASK",
        True,
        read.boolean,
        "Mask card and phone numbers, addresses and the like before text leaves the machine",
    )
    retention_model_answers_days: int = setting(
        "CQE_RETENTION_MODEL_ANSWERS_DAYS",
        30,
        read.positive,
        "How long the model's answers are kept, so that the same question is not asked twice",
    )

    def judge_problem(self) -> str:
        """Name the judge's setting that is missing for the others, or return an empty text."""
        if self.judge == EMBEDDED:
            return ""
        for variable, value in (
            ("CQE_JUDGE_URL", self.judge_url),
            ("CQE_JUDGE_MODEL", self.judge_model),
        ):
            if not value:
                return f"{variable}: must be set when CQE_JUDGE is {self.judge}"
        return ""
