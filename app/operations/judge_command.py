"""Command group `judge`, for the embedded judge."""

import importlib
import json
import sys
from pathlib import Path

import click

import app
from app.ai.weights import MODELS

_CHECKOUT = Path(app.__file__).parent.parent


@click.group("judge")
def judge() -> None:
    """Train the models of the embedded judge."""


@judge.command("train")
@click.argument("data_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=MODELS,
    help="Folder for the models; by default that of the package.",
)
def train(data_dir: Path, into: Path) -> None:
    """Fit the models to labelled data and write them with a manifest.

    DATA_DIR holds `star.jsonl`, the conversations of STAR, and `turns.jsonl.gz`, single turns of
    GoEmotions, MultiDoGO and STAR; docs/judge-model.md describes both. Turns written for this
    project come from training/data/bank.jsonl.

    The same files give the same models. It takes some minutes, the extra `train`, and a checkout of
    the source code: an installed package has no training code.
    """
    if not (_CHECKOUT / "training").is_dir():
        raise click.ClickException("Training needs a checkout of the source code.")
    sys.path.append(str(_CHECKOUT))
    try:
        # Not at the top: the service has neither numpy nor this package.
        trainer = importlib.import_module("training.trainer")
        manifest = trainer.train(data_dir, into)
    except ModuleNotFoundError as missing:
        raise click.ClickException(
            f"{missing.name} is missing: pip install 'cqe-service[train]'"
        ) from missing
    except FileNotFoundError as missing:
        raise click.ClickException(str(missing)) from missing
    click.echo(json.dumps(manifest, indent=2))
