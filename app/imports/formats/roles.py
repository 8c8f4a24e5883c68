"""Roles of speakers, from the format or from the caller's mapping; a role is never guessed."""

from collections.abc import Iterable, Mapping

from app.imports.formats.records import Fault, Unreadable

ROLES = ("customer", "agent", "bot", "system")


class RoleResolver:
    """Maps words and names to roles, in any case and spacing; the caller's mapping wins."""

    def __init__(
        self, mapping: Mapping[str, str], format_words: Mapping[str, str] | None = None
    ) -> None:
        self._mapping = {_key(name): role for name, role in mapping.items()}
        words = {**{role: role for role in ROLES}, **(format_words or {})}
        self._roles = {**{_key(word): role for word, role in words.items()}, **self._mapping}

    def mapped(self, name: object) -> str | None:
        """Return the role of a name in the caller's mapping."""
        return self._mapping.get(_key(name)) if isinstance(name, str) else None

    def role_of(self, *words: object, names: Iterable[object] = (), line: int = 0) -> str:
        """Return the mapped role of the first mapped name, else the role of the first known word.

        A name alone has no role: a customer may be called Bot.

        Raises:
            Unreadable: no name is mapped and no word is known.
        """
        names = list(names)
        for name in names:
            if role := self.mapped(name):
                return role
        for word in words:
            if isinstance(word, str) and (role := self._roles.get(_key(word))):
                return role
        texts = (text for text in (*words, *names) if isinstance(text, str) and text.strip())
        unknown = next(texts, None)
        if unknown is None:
            raise Unreadable(Fault.UNKNOWN_ROLE, "The speaker is missing.", line)
        raise Unreadable(
            Fault.UNKNOWN_ROLE,
            f"The role of {unknown[:80]!r} is unknown: map it to one of {', '.join(ROLES)}.",
            line,
        )


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()
