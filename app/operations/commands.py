"""Commands that maintain the service: doctor, secrets, openapi."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import orjson

from app.core.commands import print_line
from app.core.secrets.encryption import new_master_key
from app.core.settings import Settings
from app.factory import create_app
from app.operations import start_checks, stored_secrets
from app.operations.environment import settings_here, unknown_settings
from app.operations.failure import EXPECTED, plain_errors, text_of
from app.system import checks
from app.web.current import current_runtime
from app.web.openapi.pages import document_of


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(*, as_json: bool) -> None:
    """Check the installation and print what is wrong."""
    with plain_errors():
        settings = settings_here()
        results = [*checks.examine(settings), _start(settings)]
    results += [
        checks.CheckResult("settings", checks.Verdict.WARN, sentence)
        for sentence in unknown_settings()
    ]
    if as_json:
        click.echo(orjson.dumps(results, option=orjson.OPT_INDENT_2).decode())
    else:
        for result in results:
            print_line(f"{result.verdict:<4}  {result.check:<12}  {result.message}")
    if any(result.verdict is checks.Verdict.FAIL for result in results):
        sys.exit(1)


def _start(settings: Settings) -> checks.CheckResult:
    """Print what `up` would print."""
    try:
        start_checks.require_startable(settings)
    except EXPECTED as error:
        return checks.CheckResult("start", checks.Verdict.FAIL, text_of(error))
    return checks.CheckResult("start", checks.Verdict.OK, "nothing is in its way")


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


@click.command("master-key")
def master_key() -> None:
    """Print a new master key for CQE_MASTER_KEYS; it is not stored."""
    click.echo(new_master_key())


@click.command("openapi")
@click.option("--write", type=click.Path(dir_okay=False), help="Write to this file instead.")
def openapi(write: str | None) -> None:
    """Print the OpenAPI document; it is the same with any settings."""
    # The application never serves a request: its key and its folder are temporary.
    with TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), master_keys=new_master_key())
        document = document_of(create_app(settings))
    text = orjson.dumps(orjson.loads(document), option=orjson.OPT_INDENT_2).decode()
    if write:
        Path(write).write_text(text + "\n")
    else:
        click.echo(text)
