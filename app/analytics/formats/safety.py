"""Cells that a spreadsheet would take for a formula."""

import re
from typing import Any

# Full-width signs count as well. A spreadsheet that takes another delimiter than the file's begins a
# cell in the middle of a text; there a sign needs an operand behind it, which an emoticon lacks.
_FORMULA = re.compile(
    "(?:^(?=[\"']*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-])"
    "|(?<=[,;|\t])(?=[\"']*[=+@\uff1d\uff0b\uff0d\uff20-][\\w(@\"']))"
)


def safe(value: Any) -> Any:
    """Put an apostrophe before each place of a text where a formula could begin; numbers stay."""
    return _FORMULA.sub("'", value) if type(value) is str else value


def flat(value: Any) -> Any:
    """Bring a list into one cell; anything else stays."""
    return "; ".join(map(str, value)) if type(value) is list else value
