"""Fits the encoder of lines: a small sentence transformer, its upper layers tuned to the acts.

The lower layers stay as they are, so that what they make of the lines is worked out once. The result is
written with weights of eight bits, which onnxruntime reads.
"""

import math
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from onnxruntime.quantization import quantize_dynamic
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertModel

from app.judge.acts.encoder import Piece, pieces_of
from training.acts.labelled import Talk, acts_of_side

_SEED = 7
_FROZEN_LAYERS = 3
_EPOCHS, _BATCH, _POOL = 3, 32, 40
_LEARNING_RATE, _OF_HEADS, _DECAY = 8e-5, 2e-3, 0.01
_WARM_UP, _LEAST_RATE = 0.06, 0.03
# What is rare weighs more, up to this share of what is not.
_SHARE_OF_YES, _MOST_WEIGHT = 0.12, 5.0
_OPSET = 17


class _Line(NamedTuple):
    """A line to learn from: its first piece, its side, the acts as 0 and 1, and what the lower layers made of it."""

    piece: Piece
    by_customer: bool
    given: list[float]
    hidden: Tensor


class _Net(nn.Module):  # type: ignore[misc] # torch has no types here
    """The transformer with a head for each side; a line is the mean over its own tokens."""

    def __init__(self, base: Path) -> None:
        super().__init__()
        self.bert = BertModel.from_pretrained(
            base, add_pooling_layer=False, attn_implementation="eager"
        )
        width = self.bert.config.hidden_size
        self.heads = nn.ModuleList(
            nn.Linear(width, len(acts_of_side(customer=side))) for side in (True, False)
        )

    def lower(self, tokens: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        hidden = self.bert.embeddings(input_ids=tokens, token_type_ids=types)
        return self._through(self.bert.encoder.layer[:_FROZEN_LAYERS], hidden, mask)

    def upper(self, hidden: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        hidden = self._through(self.bert.encoder.layer[_FROZEN_LAYERS:], hidden, mask)
        own = (mask * (types == 0)).unsqueeze(-1)
        return (hidden * own).sum(1) / own.sum(1)

    def forward(self, tokens: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        line = self.upper(self.lower(tokens, types, mask), types, mask)
        return torch.cat([head(line) for head in self.heads], dim=1)

    @staticmethod
    def _through(layers: Sequence[Any], hidden: Tensor, mask: Tensor) -> Tensor:
        hidden_from = ((1.0 - mask[:, None, None, :].float()) * -1e4).to(hidden.dtype)
        for layer in layers:
            made = layer(hidden, hidden_from)
            hidden = made[0] if isinstance(made, tuple) else made
        return hidden


def fit_encoder(
    talks: Sequence[Talk], base: Path, into: Path, progress: Callable[[str], None]
) -> None:
    """Fit the encoder and write its model and its tokenizer.

    Args:
        base: folder of the sentence transformer to begin with (config.json, model.safetensors,
            tokenizer.json).
        progress: told how far it is.
    """
    torch.manual_seed(_SEED)
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    net = _Net(base)
    _fit(net, _lines(net, talks, tokenizer), progress)
    into.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(into / "acts-tokenizer.json"), pretty=False)
    write_model(net, into / "acts.onnx")


def _lines(net: _Net, talks: Sequence[Talk], tokenizer: Any) -> list[_Line]:
    """Read the lines through the lower layers, those of about one length together."""
    plain = [
        (pieces[0], line.by_customer, _given(acts, customer=line.by_customer))
        for talk in talks
        for line, pieces, acts in zip(
            talk.lines, pieces_of(talk.lines, tokenizer), talk.acts, strict=True
        )
    ]
    plain.sort(key=lambda item: len(item[0].tokens))
    lines = []
    net.eval()
    for first in range(0, len(plain), 2 * _BATCH):
        batch = plain[first : first + 2 * _BATCH]
        tokens, types, mask = _padded([piece for piece, _, _ in batch])
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            hidden = net.lower(tokens, types, mask).to(torch.bfloat16)
        lines += [
            _Line(*item, hidden[row, : len(item[0].tokens)].clone())
            for row, item in enumerate(batch)
        ]
    return lines


def _given(acts: frozenset[Any], *, customer: bool) -> list[float]:
    return [float(act in acts) for act in acts_of_side(customer=customer)]


def _padded(pieces: Sequence[Piece]) -> tuple[Tensor, Tensor, Tensor]:
    longest = max(len(piece.tokens) for piece in pieces)
    tokens, types, mask = (torch.zeros(len(pieces), longest, dtype=torch.long) for _ in range(3))
    for row, piece in enumerate(pieces):
        size = len(piece.tokens)
        tokens[row, :size] = torch.tensor(piece.tokens)
        types[row, piece.own : size] = 1
        mask[row, :size] = 1
    return tokens, types, mask


def _fit(net: _Net, lines: list[_Line], progress: Callable[[str], None]) -> None:
    weights = [
        _prepared(head, lines, customer=side)
        for head, side in zip(net.heads, (True, False), strict=True)
    ]
    upper = [p for layer in net.bert.encoder.layer[_FROZEN_LAYERS:] for p in layer.parameters()]
    optimiser = torch.optim.AdamW(
        [
            {"params": upper, "lr": _LEARNING_RATE},
            {"params": net.heads.parameters(), "lr": _OF_HEADS},
        ],
        weight_decay=_DECAY,
    )
    steps = _EPOCHS * math.ceil(len(lines) / _BATCH)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: min(1.0, (step + 1) / (_WARM_UP * steps)) * max(_LEAST_RATE, 1 - step / steps),
    )
    order = random.Random(_SEED)  # noqa: S311 - an order, no secret
    done = 0
    net.train()
    for _ in range(_EPOCHS):
        for batch in _batches(lines, order):
            loss = _loss(net, batch, weights)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
            rate.step()
            done += 1
            if done % 100 == 0:
                progress(f"encoder: step {done} of {steps}")


def _prepared(head: Any, lines: Sequence[_Line], *, customer: bool) -> Tensor:
    """Let a head begin with the shares of its acts; return how much a "yes" of each weighs."""
    given = np.array([line.given for line in lines if line.by_customer is customer])
    share = np.clip(given.mean(axis=0), 1e-4, 0.99)
    nn.init.zeros_(head.weight)
    head.bias.data = torch.tensor(np.log(share / (1 - share)), dtype=torch.float)
    return torch.tensor(np.clip(_SHARE_OF_YES / share, 1, _MOST_WEIGHT), dtype=torch.float)


def _batches(lines: list[_Line], order: random.Random) -> Iterator[list[_Line]]:
    """Yield the lines in an order of chance, those of about one length together."""
    order.shuffle(lines)
    size = _BATCH * _POOL
    batches = []
    for first in range(0, len(lines), size):
        pool = sorted(lines[first : first + size], key=lambda line: len(line.piece.tokens))
        batches += [pool[start : start + _BATCH] for start in range(0, len(pool), _BATCH)]
    order.shuffle(batches)
    yield from batches


def _loss(net: _Net, batch: Sequence[_Line], weights: Sequence[Tensor]) -> Tensor:
    _, types, mask = _padded([line.piece for line in batch])
    hidden = nn.utils.rnn.pad_sequence([line.hidden for line in batch], batch_first=True)
    with torch.autocast("cpu", torch.bfloat16):
        read = net.upper(hidden.float(), types, mask).float()
    loss = torch.zeros(())
    for head, weight, customer in zip(net.heads, weights, (True, False), strict=True):
        rows = [row for row, line in enumerate(batch) if line.by_customer is customer]
        if rows:
            given = torch.tensor([batch[row].given for row in rows])
            loss = loss + nn.functional.binary_cross_entropy_with_logits(
                head(read[rows]), given, pos_weight=weight, reduction="sum"
            )
    return loss / len(batch)


def write_model(net: _Net, file: Path) -> None:
    """Write the encoder with weights of eight bits, and the acts of its heads."""
    net.eval()
    example = tuple(torch.ones(2, 8, dtype=torch.long) for _ in range(3))
    names = ["tokens", "types", "mask"]
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "full.onnx"
        torch.onnx.export(
            net,
            example,
            full,
            input_names=names,
            output_names=["logits"],
            dynamic_axes={name: {0: "lines", 1: "length"} for name in names},
            opset_version=_OPSET,
            dynamo=False,
        )
        # Without these two, rounding moves what is read by a tenth.
        quantize_dynamic(full, file, per_channel=True, reduce_range=True)
    model = onnx.load(file)
    for name, customer in (("customer", True), ("service", False)):
        told = model.metadata_props.add()
        told.key, told.value = name, " ".join(acts_of_side(customer=customer))
    onnx.save(model, file)
