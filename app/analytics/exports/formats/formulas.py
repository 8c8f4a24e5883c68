"""Protection of cells that a spreadsheet would read as formulas."""

import re
from typing import Any

# Full-width signs count as well. A spreadsheet that expects another delimiter than the file's begins a
# cell in the middle of a text; there only a sign before an operand counts, so that emoticons stay.
_FORMULA = re.compile(
    "(?:^(?=[\"']*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-])"
    "|(?<=[,;|\t])(?=[\"']*[=+@\uff1d\uff0b\uff0d\uff20-][\\w(@\"']))"
)


def defuse(value: Any) -> Any:
    """Put an apostrophe before each place of a text where a formula could begin."""
    return _FORMULA.sub("'", value) if type(value) is str else value


def joined(value: Any) -> Any:
    """Join a list to one text; return any other value as it is."""
    return "; ".join(map(str, value)) if type(value) is list else value
