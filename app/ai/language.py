"""Whether a conversation is in English, which the word rules and the sentiment lexicon need."""

import re
from collections.abc import Iterable

_WORD = re.compile(r"[a-z']+")
# Function words that are frequent in English and rare in the languages that share its letters.
_COMMON_WORDS = (
    "the you and it for that your have can of my what are this with please yes thank thanks is "
    "be we will would like how was there not i'm don't that's hello need know help"
)
_COMMON = frozenset(_COMMON_WORDS.split())
_ENOUGH_SHARE = 0.15
_SAMPLE_CHARS = 20_000


def is_english(texts: Iterable[str], declared: str | None) -> bool:
    """Tell whether the texts are English: by the declared BCP-47 tag, else by their common words.

    `und` counts as not declared. The guess reads the first 20,000 characters.
    """
    if declared and declared.lower() != "und":
        return declared.lower().split("-")[0].split("_")[0] in ("en", "eng")
    words = _WORD.findall(" ".join(texts)[:_SAMPLE_CHARS].lower())
    hits = sum(word in _COMMON for word in words)
    return bool(words) and hits / len(words) >= _ENOUGH_SHARE
