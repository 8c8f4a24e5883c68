"""Commands that maintain the service: doctor, secrets, openapi."""

import base64
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import orjson

from app.core.settings import Settings
from app.factory import create_app
from app.operations import stored_secrets
from app.operations.environment import settings_here, unknown_settings
from app.operations.failure import plain_errors
from app.system import checks
from app.web.current import current_runtime
from app.web.openapi.pages import document_of


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(*, as_json: bool) -> None:
    """Check the installation and print what is wrong."""
    with plain_errors():
        results = checks.examine(settings_here())
    results += [
        checks.CheckResult("settings", checks.Verdict.WARN, sentence)
        for sentence in unknown_settings()
    ]
    if as_json:
        click.echo(orjson.dumps(results, option=orjson.OPT_INDENT_2).decode())
    else:
        for result in results:
            click.echo(f"{result.verdict:<4}  {result.check:<12}  {result.message}")
    if any(result.verdict is checks.Verdict.FAIL for result in results):
        sys.exit(1)


@click.group("secrets")
def secrets() -> None:
    """Maintain the encrypted secrets of the database."""


@secrets.command("rewrap")
def secrets_rewrap() -> None:
    """Encrypt every stored secret again, with the first master key."""
    with plain_errors():
        counts = stored_secrets.rewrap(current_runtime())
    for kind, count in counts.items():
        click.echo(f"{count} {kind} secrets encrypted again, 0 left")


@click.command("openapi")
@click.option("--write", type=click.Path(dir_okay=False), help="Write to this file instead.")
def openapi(write: str | None) -> None:
    """Print the OpenAPI document, which depends on the code alone and on no setting."""
    # The application never serves a request: its key and its folder are temporary.
    key = base64.b64encode(os.urandom(32)).decode()
    with TemporaryDirectory() as folder:
        document = document_of(create_app(Settings(data_dir=Path(folder), master_keys=f"k1:{key}")))
    text = orjson.dumps(orjson.loads(document), option=orjson.OPT_INDENT_2).decode()
    if write:
        Path(write).write_text(text + "\n")
    else:
        click.echo(text)
