"""Command `python -m training`: fits the models of the embedded judge."""

import json
from functools import partial
from pathlib import Path

import click

from app.judge.weights import MODELS
from training.trainer import train


@click.command("training")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=MODELS,
    help="Folder for the models; by default that of the package.",
)
@click.option(
    "--encoder-base",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of all-MiniLM-L6-v2; without it the encoder stays as it is.",
)
def main(into: Path, encoder_base: Path | None) -> None:
    """Fit the models to the labelled conversations in training/data, and write them with a manifest.

    It takes some minutes and the extra `train`. The encoder takes torch, transformers and onnx as
    well, and half an hour (training/README.md).
    """
    manifest = train(into, base=encoder_base, progress=partial(click.echo, err=True))
    click.echo(json.dumps(manifest, indent=2))


if __name__ == "__main__":
    main()
