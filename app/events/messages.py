"""Messages for people: sections of lines, each with the page behind it."""

from typing import NotRequired, TypedDict


class SentLine(TypedDict):
    """One line; `words` are words of the conversation, if the rule asks for them."""

    text: str
    url: str | None
    words: str | None


class SentSection(TypedDict):
    """Some lines; the heading may be empty."""

    heading: str
    lines: list[SentLine]


class SentMessage(TypedDict):
    """A message of a rule or a digest; `source_id` is its id, and `url` the page to act on."""

    source_id: str
    title: str
    sections: list[SentSection]
    url: str
    unsubscribe_url: str | None
    test: NotRequired[bool]


_URL = "https://quality.example.com"
SAMPLE_ALERT = SentMessage(
    source_id="rule_01k9zq3s7vf0mb5e2wd8yhx4cn",
    title="Auto-fails of Spring support",
    sections=[
        SentSection(
            heading="",
            lines=[
                SentLine(
                    text="Auto-fail: Priya Nair, chat, 41 of 100",
                    url=f"{_URL}/evaluations/eval_01k9zq4v2me8wb7xq3s5ndt6ha",
                    words=None,
                )
            ],
        )
    ],
    url=f"{_URL}/evaluations?autoFailed=true",
    unsubscribe_url=None,
)
SAMPLE_DIGEST = SentMessage(
    source_id="dig_01k9zq3s7vf0mb5e2wd8yhx4cn",
    title="Week of 16 November: Spring support",
    sections=[
        SentSection(
            heading="What needs a person",
            lines=[
                SentLine(
                    text="2 open disputes",
                    url=f"{_URL}/evaluations?reviewStatus=disputed",
                    words=None,
                )
            ],
        )
    ],
    url=_URL,
    unsubscribe_url=f"{_URL}/unsubscribe/dig_01k9zq3s7vf0mb5e2wd8yhx4cn/AbCd",
)
