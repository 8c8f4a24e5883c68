"""Commands over the embedded judge: `flask judge …`."""

import importlib
import json
from pathlib import Path

import click

from app.ai.insights.linear import MODELS


@click.group("judge")
def judge() -> None:
    """Make the models of the embedded judge anew."""


@judge.command("train")
@click.argument("data_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=MODELS,
    help="Folder for the models; that of the package unless said.",
)
def train(data_dir: Path, into: Path) -> None:
    """Fit the models to the labelled conversations in DATA_DIR/star.jsonl.

    The same file gives the same models. It takes a minute, and the extra `train`.
    """
    try:
        # Not at the top: the service runs without numpy.
        trainer = importlib.import_module("app.ai.training.trainer")
        manifest = trainer.train(data_dir, into)
    except ModuleNotFoundError as missing:
        raise click.ClickException(
            f"{missing.name} is missing: pip install 'cqe-service[train]'"
        ) from missing
    except FileNotFoundError as missing:
        raise click.ClickException(f"there is no {missing.filename}") from missing
    click.echo(json.dumps(manifest, indent=2))
