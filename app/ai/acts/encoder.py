"""Encoder of lines: a small transformer that reads a line together with the one before it.

It runs in onnxruntime, which comes with the transcriber; without it the classifiers read alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from app.ai.acts.catalogue import Act
from app.ai.acts.features import MOST_CHARS, Heard
from app.ai.weights import MODELS

MODEL, TOKENIZER = "acts.onnx", "acts-tokenizer.json"
# A longer line is read in windows of so many tokens, and the last tokens of the line before.
OWN_TOKENS, BEFORE_TOKENS = 80, 24
_STEP = 64
_BEFORE_CHARS = 300
_BATCH = 32
CLS, SEP = 101, 102
_SIDES = ("customer", "service")


class Piece(NamedTuple):
    """Tokens of a line, or a window of it, with those of the line before; `own` counts the first."""

    tokens: list[int]
    own: int


class Encoder:
    """A transformer with a head for each side."""

    def __init__(self, model: Path, tokenizer: Path) -> None:
        import onnxruntime  # noqa: PLC0415 - installed with the transcriber
        from tokenizers import Tokenizer  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        # The jobs run next to each other already.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session: Any = onnxruntime.InferenceSession(
            model.read_bytes(), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        told = self._session.get_modelmeta().custom_metadata_map
        customer, service = (list(map(Act, told[side].split())) for side in _SIDES)
        # Where the head of the customer (True) and that of the service side begin.
        self._heads = {True: (0, customer), False: (len(customer), service)}

    @classmethod
    def shipped(cls) -> "Encoder | None":
        """Return the encoder of the package; None where onnxruntime is not installed."""
        if (
            not (MODELS / MODEL).is_file()
            or find_spec("onnxruntime") is None
            or find_spec("tokenizers") is None
        ):
            return None
        return cls(MODELS / MODEL, MODELS / TOKENIZER)

    def probabilities(self, lines: Sequence[Heard]) -> list[dict[Act, float]]:
        """Return how likely each line of a conversation performs each act of its side."""
        pieces = [
            (index, piece)
            for index, line_pieces in enumerate(pieces_of(lines, self._tokenizer))
            for piece in line_pieces
        ]
        # Lines of about one length are read together.
        pieces.sort(key=lambda pair: len(pair[1].tokens))
        found: list[dict[Act, float]] = [{} for _ in lines]
        for first in range(0, len(pieces), _BATCH):
            batch = pieces[first : first + _BATCH]
            for (index, _), row in zip(batch, self._run([p for _, p in batch]), strict=True):
                place, acts = self._heads[lines[index].by_customer]
                for act, probability in zip(acts, row[place:], strict=False):
                    found[index][act] = max(found[index].get(act, 0.0), probability)
        return found

    def _run(self, pieces: Sequence[Piece]) -> list[list[float]]:
        longest = max(len(piece.tokens) for piece in pieces)
        tokens, types, mask = (np.zeros((len(pieces), longest), np.int64) for _ in range(3))
        for row, piece in enumerate(pieces):
            size = len(piece.tokens)
            tokens[row, :size] = piece.tokens
            types[row, piece.own : size] = 1
            mask[row, :size] = 1
        (logits,) = self._session.run(None, {"tokens": tokens, "types": types, "mask": mask})
        rows: list[list[float]] = (1 / (1 + np.exp(-logits))).tolist()
        return rows


def pieces_of(lines: Sequence[Heard], tokenizer: Any) -> Iterator[list[Piece]]:
    """Yield what is read of each line of a conversation: the line, in windows where it is long."""
    last: Mapping[bool, list[int]] = {}
    for line in lines:
        tokens: list[int] = tokenizer.encode(line.text[:MOST_CHARS], add_special_tokens=False).ids
        before = last.get(not line.by_customer, [])
        side = _side_token(tokenizer, by_customer=line.by_customer)
        yield [
            Piece([CLS, side, *window, SEP, *before, SEP], len(window) + 3)
            for window in _windows(tokens)
        ]
        end: list[int] = tokenizer.encode(line.text[-_BEFORE_CHARS:], add_special_tokens=False).ids
        last = {**last, line.by_customer: end[-BEFORE_TOKENS:]}


def _side_token(tokenizer: Any, *, by_customer: bool) -> int:
    token: int = tokenizer.token_to_id("customer" if by_customer else "agent")
    return token


def _windows(tokens: list[int]) -> Iterator[list[int]]:
    for start in range(0, max(1, len(tokens) - (OWN_TOKENS - _STEP)), _STEP):
        yield tokens[start : start + OWN_TOKENS]
