"""The command that prints the OpenAPI document."""

import base64
import secrets
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import orjson

from app.core.settings import Settings
from app.factory import create_app
from app.web.docs import document_of


@click.command("openapi")
@click.option("--write", type=click.Path(dir_okay=False), help="Write to this file instead.")
def openapi(write: str | None) -> None:
    """Print the OpenAPI document, generated from the code alone; it needs no settings."""
    # An application that never serves: the keys and the folder go with it.
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    with TemporaryDirectory() as folder:
        document = document_of(create_app(Settings(data_dir=Path(folder), master_keys=f"k1:{key}")))
    text = orjson.dumps(orjson.loads(document), option=orjson.OPT_INDENT_2).decode()
    if write:
        Path(write).write_text(text + "\n")
    else:
        click.echo(text)
