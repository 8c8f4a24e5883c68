"""The seam to where answers are kept, so that the same question is asked once."""

from collections.abc import Mapping
from typing import Any, Protocol


class AnswerStore(Protocol):
    """Keeps a model's documents by the hash of all that they depend on."""

    def find(self, key: str) -> Mapping[str, Any] | None:
        """Return what was kept."""

    def keep(self, key: str, kept: Mapping[str, Any], *, evaluation_id: str | None) -> None:
        """Keep a document; a key that is there already stays as it is."""
