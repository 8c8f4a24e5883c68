"""Fields of a scorecard document: keys, phrases, numbers and answers."""

from typing import Any

from marshmallow import ValidationError, fields, validate

from app.judge.languages.words import words_in
from app.web.schemas.base import FORMAT, LENGTH, TYPE, CodedMessage
from app.web.schemas.fields import MAX_INTEGER, Items, Number, Pattern, Text, Whole

KEY_CHARS = 64
TITLE_CHARS = 120
_MOST_PHRASES = 200
_MOST_PHRASE_CHARS = 200
_MOST_PHRASE_WORDS = 40


class Key(Pattern):
    def __init__(self, **kwargs: Any) -> None:
        long = CodedMessage(LENGTH, f"This must have at most {KEY_CHARS} characters.")
        super().__init__(
            "[a-z0-9_]+([.][a-z0-9_]+)*",
            "This must be words of a-z, 0-9 and _, separated by dots.",
            validate=validate.Length(max=KEY_CHARS, error=long),
            **kwargs,
        )


class PhraseText(Text):
    """A phrase: whole words in order, in any case."""

    default_error_messages = {
        "no_word": CodedMessage(FORMAT, "This must contain a letter or a digit."),
        "wordy": CodedMessage(LENGTH, f"This must have at most {_MOST_PHRASE_WORDS} words."),
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(_MOST_PHRASE_CHARS, low=1, **kwargs)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        phrase = super()._deserialize(value, attr, data, **kwargs)
        if not any(char.isalnum() for char in phrase):
            raise self.make_error("no_word")
        if len(words_in(phrase)) > _MOST_PHRASE_WORDS:
            raise self.make_error("wordy")
        return phrase


class Amount(Number):
    """A finite number that keeps its form: 30 does not become 30.0."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> float:
        number = super()._deserialize(value, attr, data, **kwargs)
        return value if isinstance(value, int) else number


class AnswerField(fields.Field[str | int]):
    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str | int:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise ValidationError(CodedMessage(TYPE, "This must be a string or an integer."))
        return Text(KEY_CHARS, low=1).deserialize(value) if isinstance(value, str) else value


def phrases(**kwargs: Any) -> Items:
    return Items(PhraseText(), low=1, high=_MOST_PHRASES, **kwargs)


def whole(description: str, *, low: int = 0, high: int = MAX_INTEGER) -> Whole:
    return Whole(low=low, high=high, metadata={"description": description})


def amount(description: str, *, low: float = 0, high: float | None = None, **kwargs: Any) -> Amount:
    return Amount(low=low, high=high, metadata={"description": description}, **kwargs)
