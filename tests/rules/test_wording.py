"""Every template of a sentence, read with sample values as a person would read it."""

import re
import string
from pathlib import Path

import pytest

from app.judge.scorecard.schema import EVENTS, KNOWN_METRICS
from app.judge.wording import (
    clauses,
    clock,
    counted,
    first,
    in_quotes,
    listed,
    percent,
    quote_at_end,
    sentence,
    templates,
    times,
)

SOURCES = "\n".join(
    file.read_text("utf-8") for file in (Path(__file__).parents[2] / "app").rglob("*.py")
)
# Templates that are parts of sentences and not whole ones.
PARTS = re.compile(
    r"(?:event|metric|obstacle)\.|conduct\.(?!found|none)|no_repetition\.(?:fallbacks|repeats|no_.*)|metric_range\.(?:full|half)"
    r"|summary\.another|act\.(?:at_.*|not_at_all)|pace\.(?:interrupted|patient)|turn_taking\.(?!measured)"
)
SAMPLES = {
    "waited": "70 seconds",
    "agent": "the agent",
    "customer": "the customer",
    "reason": "The transcript has no times.",
    "quote": "“I have sent it.”",
    "failed": "“I could not change it.”",
    "given": "a greeting and the company name",
    "missing": "no recap and no offer of more help",
    "said": "which company it speaks for",
    "turns": "first two turns",
    "times": "twice",
    "titles": "“Recording” and “Risk”",
    "languages": "French or Hindi",
    "language": "French",
    "directions": "inbound",
    "labels": "team north",
    "events": "a complaint or an interruption",
    "metric": "number of words",
    "range": "at least 12",
    "wanted": "full score: at least 12",
    "told": "the agent did what was asked for.",
    "who": "the agent",
    "what": "offers more help or “anything else”",
    "words": "“hm tja”",
    "interruptions": "never interrupted the customer",
    "talked_over": "never talked over the caller",
    "talked_on": "kept talking twice when the caller interrupted",
    "fallbacks": "failed to understand at least once",
    "repeats": "asked no question twice",
    "chance": "92 %",
    "other": "the customer",
    "title": "Recording",
    "problems": "the answer is missing",
    "explanation": "The agent asked first.",
    "model": "The agent asked first.",
    "rules": "The agent was courteous.",
}
NUMBERS = (
    "least",
    "most",
    "seconds",
    "full",
    "half",
    "wpm",
    "limit",
    "longest",
    "value",
    "percent",
)
SAMPLES |= dict.fromkeys(NUMBERS, "12")


def read(key: str) -> str:
    wanted = {name for _, name, _, _ in string.Formatter().parse(templates()[key]) if name}
    assert wanted <= SAMPLES.keys(), f"no sample for {wanted - SAMPLES.keys()}"
    return sentence(key, **{name: SAMPLES[name] for name in wanted})


@pytest.mark.parametrize("key", templates())
def test_a_template_reads_as_english(key: str) -> None:
    text = read(key)
    assert text == " ".join(text.split()), "no double or trailing spaces"
    assert not re.search(r"\s[.,;:!?)]", text), "no space before a mark"
    assert not re.search(r"\.\.|,,|\(\)", text)
    assert not re.search(r"seg_|\b[a-z]+[A-Z]\w*|\bcue|\blexicon|\bsegment", text), "no inner terms"
    assert not re.search(r"\b(\w+) \1\b", text.lower()), "no word twice in a row"
    if PARTS.match(key):
        assert not text.endswith("."), "a part of a sentence has no full stop"
    else:
        assert text.endswith((".", ".”")), "a sentence ends with a full stop"
        assert text[0].isupper()


@pytest.mark.parametrize("key", templates())
def test_every_template_is_used(key: str) -> None:
    group, _, name = key.partition(".")
    stem = re.sub(r"_after_done$", "", name)
    named = [f'"{key}"', f'"{name}"', f'"{group}.{stem}', f'f"{group}.{{', f'"{stem}"']
    assert any(text in SOURCES for text in named)


def test_every_key_in_the_code_has_a_template() -> None:
    groups = {key.partition(".")[0] for key in templates()}
    used = set(re.findall(r'(?:sentence|part)\(\s*"([a-z_]+\.[a-zA-Z_.]+)"', SOURCES))
    assert used
    assert used <= templates().keys()
    assert {key.partition(".")[0] for key in used} <= groups


def test_every_metric_and_event_has_a_name() -> None:
    assert {f"metric.{name}" for name in KNOWN_METRICS} <= templates().keys()
    assert {f"event.{name}" for name in EVENTS} <= templates().keys()


def test_numbers_and_lists_are_spelled_as_they_are_read_aloud() -> None:
    assert [counted(count, "turn") for count in (0, 1, 2, 12)] == [
        "no turns",
        "one turn",
        "two turns",
        "12 turns",
    ]
    assert [first(count, "turn") for count in (1, 3)] == ["first turn", "first three turns"]
    assert [times(count) for count in (0, 1, 2, 4)] == ["never", "once", "twice", "four times"]
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"], "or") == "a, b or c"
    assert clauses(["it rains"]) == "It rains."
    assert clauses(["it rains", "it pours"]) == "It rains, and it pours."
    assert [percent(share) for share in (0.0, 0.925, 1.0)] == ["1 %", "92 %", "99 %"]
    assert [clock(ms) for ms in (900, 65_000)] == ["0:00", "1:05"]


def test_a_quotation_is_on_one_line_and_ends_its_sentence() -> None:
    assert in_quotes("so it\n is") == "“so it is”"
    assert quote_at_end("so it is,") == "“so it is.”"
    assert quote_at_end("Is it?") == "“Is it?”"
    assert len(quote_at_end("word " * 99)) < 330
