"""Encoder of lines: a small transformer that reads a line together with the one before it.

It runs in onnxruntime, which comes with the transcriber; without it the classifiers read alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from app.judge.acts.catalogue import Act
from app.judge.acts.features import MOST_CHARS, EncodedLine, Heard
from app.judge.weights import MODELS

MODEL, TOKENIZER = "acts.onnx", "acts-tokenizer.json"
# A longer line is read in windows of so many tokens, and the last tokens of the line before.
OWN_TOKENS, BEFORE_TOKENS = 80, 24
_STEP = 64
_BEFORE_CHARS = 300
CLS, SEP = 101, 102
# The inner value that the heads read: the meaning of a line as 384 numbers.
_MEANING = "/Div_output_0"
_MOST_KEPT = 2_000
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
            _with_output(model.read_bytes(), _MEANING), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        told = self._session.get_modelmeta().custom_metadata_map
        customer, service = (list(map(Act, told[side].split())) for side in _SIDES)
        self._meaning = lru_cache(_MOST_KEPT)(self._read_meaning)
        # Where the head of the customer (True) and that of the service side begin.
        self._heads = {True: (0, customer), False: (len(customer), service)}

    @classmethod
    def shipped(cls, models: Path = MODELS) -> "Encoder | None":
        """Return the encoder in a folder, that of the package; None without it or onnxruntime."""
        if (
            not (models / MODEL).is_file()
            or find_spec("onnxruntime") is None
            or find_spec("tokenizers") is None
        ):
            return None
        return cls(models / MODEL, models / TOKENIZER)

    def read(self, lines: Sequence[Heard]) -> list[EncodedLine]:
        """Read each line of a conversation together with the one before it."""
        found: list[EncodedLine] = []
        for line, pieces in zip(lines, pieces_of(lines, self._tokenizer), strict=True):
            place, acts = self._heads[line.by_customer]
            runs = [self._run(piece, "logits", _MEANING) for piece in pieces]
            logits = np.max([row[place : place + len(acts)] for row, _ in runs], axis=0)
            likely = (1 / (1 + np.exp(-logits))).tolist()
            meaning = _of_length_one(np.mean([vector for _, vector in runs], axis=0))
            found.append(EncodedLine(dict(zip(acts, likely, strict=True)), meaning))
        return found

    def meaning(self, text: str, *, by_customer: bool) -> Any:
        """Return the meaning of the beginning of a line as a vector of length 1; the last ones are kept."""
        return self._meaning(text, by_customer)

    def _read_meaning(self, text: str, by_customer: bool) -> Any:
        [[piece, *_]] = pieces_of([Heard(by_customer, text)], self._tokenizer)
        (vector,) = self._run(piece, _MEANING)
        return _of_length_one(vector)

    def _run(self, piece: Piece, *outputs: str) -> Any:
        # One by one: weights of eight bits round by the largest number of all that is read at once, so
        # that a line would be read differently next to others.
        tokens = np.array([piece.tokens], np.int64)
        types = np.ones_like(tokens)
        types[0, : piece.own] = 0
        asked = {"tokens": tokens, "types": types, "mask": np.ones_like(tokens)}
        return [row for (row,) in self._session.run(outputs, asked)]


def _of_length_one(vector: Any) -> Any:
    return vector / np.linalg.norm(vector)


def _with_output(model: bytes, name: str) -> bytes:
    """Let a model also return one of its inner values.

    Parts that are appended to a message of protobuf are merged into it: here into the list of outputs (field
    12) of the graph (field 7), by its name (field 1).
    """
    part = name.encode()
    for field in (1, 12, 7):
        part = bytes([field << 3 | 2, len(part)]) + part
    return model + part


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
