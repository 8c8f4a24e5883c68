"""Sentences of results, made from the templates of `english.toml`."""

import string
import tomllib
from functools import cache
from pathlib import Path

TEMPLATES_FILE = Path(__file__).parent / "english.toml"


def sentence(key: str, **values: str | int) -> str:
    """Fill the template of a sentence and begin it with a capital letter.

    Args:
        key: group and name of the template, such as `greeting.missing`.
        values: one for each placeholder of the template; others are ignored.

    Raises:
        KeyError: there is no such template, or a placeholder has no value.
    """
    return capital(part(key, **values))


def part(key: str, **values: str | int) -> str:
    """Fill the template of a part of a sentence, as `sentence` does, without the capital letter."""
    return templates()[key].format_map(values)


def capital(text: str) -> str:
    """Begin a text with a capital letter."""
    return text[:1].upper() + text[1:]


@cache
def templates() -> dict[str, str]:
    """Read the templates by their keys."""
    groups = tomllib.loads(TEMPLATES_FILE.read_text("utf-8"))
    return {
        f"{group}.{name}": text for group, texts in groups.items() for name, text in texts.items()
    }


def placeholders(template: str) -> frozenset[str]:
    """List the placeholders of a template."""
    return frozenset(name for _, name, _, _ in string.Formatter().parse(template) if name)
