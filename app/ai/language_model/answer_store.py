"""Interface of the store of model answers, so that no question is asked twice."""

from collections.abc import Mapping
from typing import Any, Protocol


class AnswerStore(Protocol):
    """Stores a model's documents by the hash of all that they depend on."""

    def find(self, key: str) -> Mapping[str, Any] | None:
        """Return the stored document."""

    def keep(self, key: str, document: Mapping[str, Any], *, evaluation_id: str | None) -> None:
        """Store a document; one that is stored under the key already stays."""
