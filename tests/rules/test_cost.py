"""Masking and the import readers take linear time, whatever they are given."""

import io
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from app.imports.call_records import calls_of
from app.imports.formats.catalogue import READERS, detect_format
from app.imports.formats.records import ReaderOptions
from app.imports.loading.input import ImportOptions
from app.judge.facts.phrases import PhraseIndex
from app.redaction.conversation_text import SpeakerTurn
from app.redaction.masking import mask_turns
from tests.growth import cost_s, is_linear

# Without these words most of the masking is skipped.
_CUES = "my name is Bob at com pin card address born password iban passport 12 1234 "
_MASKED = (
    *("a", "1", " ", "-", ".", "@", ":", "a ", "1 ", "Ab ", "1-", "a@", "a dot a at "),
    *("at com @ 1-1-1-", "@ aaaa", "a @ ", "1.1.1.1 ", "1:", "pin 1234 ", "1234 is my pin "),
    *("card 4111 1111 1111 1111 ", "4 ", "+1 ", "DE89 ", "password is a1 ", "12 A, ", "1 Main St "),
    *("my name is Bob ", "My name is Abc. ", "I am A ", "born 1 ", "may 1 ", "one ", "oh ", "(1"),
)
_HOSTILE = {
    "vtt": (
        *("<v", "<v ", "<v.a", "<v \t", "<v B>a", "<", "&#", "&#1", "a ", "a\n"),
        *("-->", "\n\n-->\n", "\n\n00:01.000 --> 00:02.000\n<v B>a", "NOTE", "NOTE\n\n", "\n"),
    ),
    "srt": (
        *("[a", "[a]", "a:", "- ", "{\\", "{\\a}", "&#1;", "a\n", "1\n", "\n\n1\n-->\n"),
        *("\n\n1\n00:00:01,000 --> 00:00:02,000\nAgent: a",),
    ),
    "csv": ('"', '""', ",", "a,", "\n", "a\n", '"\n', "1,agent,a\n", "1,agent\n", '1,agent,"a\n'),
    "native": ("[", "{", '{"a":', "\n", "a", "{}\n", '{"externalId":"a"}\n', '"', "\\u0000"),
    "openai": ("[", '{"messages":[', "{}\n", '{"messages":[]}\n', '"'),
    "contact_lens": ("[", "{", '{"Transcript":[]}\n', '"'),
    "vcon": ("[", "{", '{"vcon":"1"}\n', '"'),
}
_HEADS = {
    "vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Bob>",
    "srt": "1\n00:00:01,000 --> 00:00:02,000\nAgent: ",
    "csv": "conversation_id,role,text\n1,agent,",
}


@pytest.mark.parametrize("unit", _MASKED, ids=ascii)
def test_masking_of_one_text_is_linear(unit: str) -> None:
    def make(length: int) -> list[SpeakerTurn]:
        return [SpeakerTurn("a", _CUES + (unit * length)[:length])]

    assert is_linear(mask_turns, make, 2_000, enough_s=0.02)


def test_masking_of_many_turns_is_linear() -> None:
    for unit in ("a ", "12 ", "o ", "card? 1 ", "my name is Abc ", "pin? "):
        for speakers in (2, 1_000_000):

            def make(turns: int, unit: str = unit, speakers: int = speakers) -> list[SpeakerTurn]:
                return [
                    SpeakerTurn(str(place % min(speakers, turns // 2)), unit)
                    for place in range(turns)
                ]

            assert is_linear(mask_turns, make, 250, enough_s=0.02), (unit, speakers)


def test_masking_of_many_names_is_linear() -> None:
    def make(turns: int) -> list[SpeakerTurn]:
        names = ("".join(chr(97 + int(digit)) for digit in f"{place:06}") for place in range(turns))
        return [SpeakerTurn("a", f"My name is {name.capitalize()}.") for name in names]

    assert is_linear(mask_turns, make, 250, enough_s=0.02)


@pytest.mark.parametrize("name", READERS)
def test_reading_of_a_file_is_linear(name: str) -> None:
    slow = [unit for unit in _HOSTILE[name] if not _is_read_in_linear_time(name, unit)]
    assert slow == []


def _is_read_in_linear_time(name: str, unit: str) -> bool:
    def make(length: int) -> bytes:
        return (_HEADS.get(name, "") + (unit * length)[:length]).encode()

    def read(content: bytes) -> Sequence[object]:
        return list(READERS[name](io.BytesIO(content), ReaderOptions({}, None, None)))

    return is_linear(read, make, 16_000, enough_s=0.02)


@pytest.mark.parametrize("unit", ["1\n", "1 \n", "\n", " ", '"vcon" ', "{", "a,", "1:", ";"])
def test_telling_the_format_of_a_file_is_linear(unit: str) -> None:
    assert is_linear(
        detect_format, lambda length: (unit * length)[:length].encode(), 16_000, enough_s=0.02
    )


def test_joining_recordings_to_a_log_of_one_number_is_linear() -> None:
    def make(calls: int) -> tuple[bytes, list[dict[str, str]]]:
        starts = [datetime(2026, 7, 1, tzinfo=UTC) + timedelta(minutes=5 * n) for n in range(calls)]
        named = [{"recordedAt": start.isoformat(), "number": "+442079460018"} for start in starts]
        rows = [f"{fields['recordedAt']},{fields['number']}" for fields in named]
        return "\n".join(["recordedAt,fromNumber", *rows]).encode(), named

    def join(given: tuple[bytes, list[dict[str, str]]]) -> None:
        log, named = given
        calls = calls_of(io.BytesIO(log), "calls.csv", ImportOptions())
        assert all(calls.row_of("7.wav", fields) for fields in named)
        assert calls.unused == []

    assert is_linear(join, make, 300, enough_s=0.02)


def test_hostile_texts_cost_little() -> None:
    question = SpeakerTurn("b", "Your name and your address?", is_service=True)
    for unit in ("at com @ 1-1-1-", "@ aaaa", "a @ ", "a dot a at a ", "4 ", "a-b ", "dr A "):
        turns = [question, SpeakerTurn("a", (f"my name is Bob at com {unit * 20_000}")[:20_000])]
        cost = min(map(partial(cost_s, mask_turns), [turns] * 3))
        plain = min(map(partial(cost_s, mask_turns), [[SpeakerTurn("a", "at com 1 " * 2_222)]] * 3))
        assert cost < 20 * plain


def test_looking_for_phrases_is_linear() -> None:
    nested = [" ".join(["a"] * words) for words in range(1, 41)]
    alike = [f"a a b{number}" for number in range(500)]
    unspaced = ["\u0e01" * letters for letters in range(1, 41)]
    for phrases, word in ((nested, "a "), (alike, "a "), (unspaced, "\u0e01")):

        def search(texts: list[str], phrases: list[str] = phrases) -> int:
            index = PhraseIndex(texts, phrases)
            return sum(1 for phrase in phrases for _ in index.find([phrase], (0, 0), len(texts)))

        def make(texts: int, word: str = word) -> list[str]:
            return [word * 100] * texts

        assert is_linear(search, make, 10, enough_s=0.02), phrases[0]


def test_the_cost_of_phrases_does_not_grow_with_their_number() -> None:
    texts = ["a b c d e f " * 100] * 50

    def search(phrases: list[str]) -> PhraseIndex:
        return PhraseIndex(texts, phrases)

    few, many = ([f"a b x{number}" for number in range(count)] for count in (1, 200))
    assert min(cost_s(search, many) for _ in range(3)) < 5 * min(
        cost_s(search, few) for _ in range(3)
    )


_ALL_LEADS = (
    "my name frau mr regards speaking this is calling here street who is spell password call me "
    "welcome to ich 12 "
)


@pytest.mark.parametrize(
    "unit", ["Anna ", "4 7 1 2, ", "dr Anna ", "1 d.o.b. ", _ALL_LEADS + "a b c " * 60]
)
def test_after_many_finds_the_rest_of_a_conversation_is_masked_whole(unit: str) -> None:
    """Also where names are found again, where each turn begins with a number, and after many cues."""
    turns = [SpeakerTurn("a", "My name is Anna Brown, my card is 4111 1111 1111 1111.")]
    turns += [SpeakerTurn("ab"[place % 2], unit * (20_000 // len(unit))) for place in range(40)]
    first, *_, last, empty = mask_turns([*turns, SpeakerTurn("a", "")])
    assert first.text in ("My name is [NAME], my card is [CARD].", "[MASKED]")
    assert (last.text, empty.text) == ("[MASKED]", "")


def test_a_very_long_ordinary_conversation_is_not_masked_whole() -> None:
    said = "This is Anna. I'm calling about order 123 for Mr Brown, my address is 1 Main Street: who is here?"
    turns = [SpeakerTurn("ab"[place % 2], said) for place in range(1_000)]
    assert "about order 123 for" in mask_turns(turns)[-1].text
