"""The command `model serve`: a model file of yours behind an OpenAI-compatible address."""

import os
import sys
import threading
from pathlib import Path
from typing import Any

import click

from app.operations.failure import CannotRun, plain_errors

_MAGIC = b"GGUF"
_INSTALL = "the package xllamacpp is missing; `./run model serve` installs it"
_SETTINGS = """The model answers at {url}. Judge with it:
  CQE_JUDGE=openai
  CQE_JUDGE_URL={url}
  CQE_JUDGE_MODEL={name}
Stop with Ctrl-C.
"""


@click.group("model")
def model() -> None:
    """Run a language model of your own for the judge."""


@model.command("serve")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--host", default="127.0.0.1", help="Address that the server listens on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, help="0: any free port.")
@click.option("--context", type=click.IntRange(2048), default=12288, help="Tokens of the context.")
@click.option("--threads", type=click.IntRange(1), help="Threads; half of the cores by default.")
def serve(file: Path, host: str, port: int, context: int, threads: int | None) -> None:
    """Serve the model in FILE (GGUF) until it is stopped."""
    with plain_errors():
        # The server lives as long as it is referred to.
        server = _started(file, host, port, context, threads or _half_of_the_cores())
        url = f"{server.listening_address}/v1"
        sys.stdout.write(_SETTINGS.format(url=url, name=file.stem))
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            sys.stdout.write("Stopped.\n")


def _started(file: Path, host: str, port: int, context: int, threads: int) -> Any:
    if not _is_gguf(file):
        raise CannotRun(f"{file} is not a model file in the format GGUF.")
    try:
        import xllamacpp  # noqa: PLC0415
    except ImportError as error:
        raise CannotRun(_INSTALL) from error
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(file)
    parameters.model_alias = {file.stem}
    parameters.hostnames, parameters.port = [host], port
    parameters.n_ctx, parameters.n_parallel = context, 1
    parameters.cpuparams.n_threads = threads
    try:
        return xllamacpp.Server(parameters)
    except Exception as error:
        raise CannotRun(f"{file} could not be loaded: {error}") from error


def _is_gguf(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _half_of_the_cores() -> int:
    # More threads than whole cores spin while they wait for each other.
    return max(1, (os.cpu_count() or 2) // 2)
