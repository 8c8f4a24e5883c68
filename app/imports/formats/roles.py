"""Roles of speakers: from the format or from the caller's mapping, never guessed."""

from collections.abc import Iterable, Mapping

from app.imports.formats.items import Fault, Unreadable

OURS = ("customer", "agent", "bot", "system")
_OURS = {role: role for role in OURS}


class Roles:
    """Finds the role behind a word or a name, in any case and spacing; the caller's map wins."""

    def __init__(
        self, given: Mapping[str, str], format_words: Mapping[str, str] | None = None
    ) -> None:
        self._given = {_key(name): role for name, role in given.items()}
        words = {**_OURS, **(format_words or {})}
        self._roles = {**{_key(name): role for name, role in words.items()}, **self._given}

    def mapped(self, name: object) -> str | None:
        """Return what the caller's map alone says of a name."""
        return self._given.get(_key(name)) if isinstance(name, str) else None

    def of(self, *words: object, names: Iterable[object] = (), line: int = 0) -> str:
        """Return what the caller's map says of the names, or the role of the first word with one.

        A name means nothing by itself: a customer may be called Bot.

        Raises:
            Unreadable: no role is found.
        """
        names = list(names)
        for name in names:
            if role := self.mapped(name):
                return role
        for word in words:
            if isinstance(word, str) and (role := self._roles.get(_key(word))):
                return role
        told = (each for each in (*words, *names) if isinstance(each, str) and each.strip())
        shown = next(told, None)
        if shown is None:
            raise Unreadable(Fault.UNKNOWN_ROLE, "It is not said who speaks here.", line)
        raise Unreadable(
            Fault.UNKNOWN_ROLE,
            f"The role of {shown[:80]!r} is not known: map it to one of {', '.join(OURS)}.",
            line,
        )


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()
