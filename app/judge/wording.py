"""Sentences that people read in results: the templates of `wording.toml`, and words to fill them."""

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_NUMBERS = (
    "no one two three four five six seven eight nine ten".split()  # noqa: SIM905
)
_TIMES = ("never", "once", "twice")
_MOST_QUOTED_CHARS = 160
_MOST_SENTENCE_CHARS = 320
_SHORT_CHARS = 100
_ENDS = (".", "!", "?", "\u2026", "\u0964", "\u3002")
_TEMPLATES = Path(__file__).parent / "wording.toml"


def sentence(key: str, **values: str | int) -> str:
    """Fill the template of a sentence and begin it with a capital letter.

    Args:
        key: group and name of the template, such as `greeting.missing`.
        values: one for each placeholder of the template; others are ignored.

    Raises:
        KeyError: there is no such template, or a placeholder has no value.
    """
    return _capital(part(key, **values))


def part(key: str, **values: str | int) -> str:
    """Fill the template of a part of a sentence, as `sentence` does, without the capital letter."""
    return templates()[key].format_map(values)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def templates() -> dict[str, str]:
    """Read the templates by their keys."""
    groups = tomllib.loads(_TEMPLATES.read_text("utf-8"))
    return {
        f"{group}.{name}": text for group, texts in groups.items() for name, text in texts.items()
    }


def number(count: int) -> str:
    """Spell a count up to ten, and write a larger one in digits."""
    return _NUMBERS[count] if 0 <= count < len(_NUMBERS) else str(count)


def counted(count: int, noun: str) -> str:
    """Count a noun whose plural ends in s: "one turn", "three turns"."""
    return f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"


def first(count: int, noun: str) -> str:
    """Name the first ones: "first turn", "first two turns"."""
    return f"first {noun}" if count == 1 else f"first {counted(count, noun)}"


def times(count: int) -> str:
    """Say how often: "never", "once", "twice", "three times"."""
    return _TIMES[count] if count < len(_TIMES) else f"{number(count)} times"


def listed(items: Sequence[str], joint: str = "and") -> str:
    """Join with commas and, before the last, a joint."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {joint} {items[-1]}"


def clauses(items: Sequence[str]) -> str:
    """Join main clauses into one sentence with its capital letter and full stop."""
    joined = items[0] if len(items) == 1 else f"{', '.join(items[:-1])}, and {items[-1]}"
    return _capital(f"{joined}.")


def no(noun: str) -> str:
    """Deny a noun with its article: "a greeting" becomes "no greeting"."""
    return f"no {noun.split(' ', 1)[1]}"


def in_quotes(text: str) -> str:
    """Quote a text on one line, the end of a long one cut off between two words."""
    return f"\u201c{shortened(text, _MOST_QUOTED_CHARS)}\u201d"


def quote_at_end(text: str) -> str:
    """Quote a text that ends a sentence, as a sentence of its own; only an endless one is cut off."""
    return f"\u201c{as_sentence(shortened(text, _MOST_SENTENCE_CHARS))}\u201d"


def as_sentence(text: str) -> str:
    """Bring a text to one line that ends with a mark: a full stop unless it has one."""
    line = " ".join(text.split()).rstrip(",;:\u2013\u2014 ")
    return line if line.endswith(_ENDS) else f"{line}."


def shortened(text: str, most: int = _SHORT_CHARS) -> str:
    """Bring a text to one line of so many characters, cut off between two words."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + " …"


def percent(share: float) -> str:
    """Write a share of 0 to 1 as a percentage, never as 0 % or 100 % unless it is certain."""
    return f"{min(99, max(1, round(100 * share)))} %"


def clock(ms: int) -> str:
    """Write a place in a recording as minutes and seconds: "1:05"."""
    minutes, seconds = divmod(ms // 1000, 60)
    return f"{minutes}:{seconds:02d}"
