"""Who speaks: words that a format defines and names that the caller maps; nothing is guessed."""

from collections.abc import Mapping

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

    def of(self, *names: object, line: int = 0) -> str:
        """Return the role of the first name that has one.

        Raises:
            Unreadable: none has.
        """
        for name in names:
            if isinstance(name, str) and (role := self._roles.get(_key(name))):
                return role
        shown = next((name for name in names if isinstance(name, str) and name.strip()), None)
        if shown is None:
            raise Unreadable(Fault.UNKNOWN_ROLE, "It is not said who speaks here.", line)
        raise Unreadable(
            Fault.UNKNOWN_ROLE,
            f"The role of {shown[:80]!r} is not known: map it to one of {', '.join(OURS)}.",
            line,
        )


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()
