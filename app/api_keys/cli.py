"""Commands over API keys: `flask keys …`, `flask secrets …`, `flask signing …`."""

import json
from datetime import datetime, timedelta
from typing import Any

import click

from app.api_keys import credentials, records, service
from app.api_keys.credentials import Issued
from app.core.clock import as_utc, iso_utc, utc_now
from app.core.database.paging import PageRequest
from app.core.database.session import after_commit
from app.core.errors import AppError
from app.core.settings.parsers import network
from app.usage import meter
from app.web.current import current_runtime


@click.group("keys")
def keys() -> None:
    """Make, list, revoke and rotate API keys."""


@keys.command("create")
@click.option("--name", required=True, help="What the key is for.")
@click.option("--scopes", required=True, help="Comma list of scopes, or '*' for all.")
@click.option("--ip-allowlist", default="", help="Comma list of networks; empty: from anywhere.")
@click.option(
    "--signature-policy",
    type=click.Choice(["default", "required", "optional"]),
    default="default",
    show_default=True,
    help="Where Bearer alone is enough.",
)
@click.option("--require-nonce", is_flag=True, help="Want an X-Nonce on every change.")
@click.option("--expires-at", default=None, help="ISO 8601 moment at which the key ends.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def create(
    name: str,
    scopes: str,
    ip_allowlist: str,
    signature_policy: str,
    require_nonce: bool,
    expires_at: str | None,
    as_json: bool,
) -> None:
    """Make a key and print its two strings, this once."""
    runtime = current_runtime()
    try:
        networks = [str(network(each.strip())) for each in ip_allowlist.split(",") if each.strip()]
        ends = as_utc(datetime.fromisoformat(expires_at)) if expires_at else None
        with runtime.db.writing() as session:
            issued = service.create_key(
                session,
                runtime.keyring,
                name=name,
                scopes=[each.strip() for each in scopes.split(",")],
                ip_allowlist=networks,
                signature_policy=signature_policy,
                require_nonce=require_nonce,
                expires_at=ends,
            )
    except (AppError, ValueError) as error:
        raise click.ClickException(_sentence(error)) from error
    _print_issued(issued, as_json=as_json)


@keys.command("list")
@click.option("--unused-days", type=int, default=None, help="Only keys unused for so many days.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(unused_days: int | None, as_json: bool) -> None:
    """List the keys with their scopes and last use."""
    meter.flush(current_runtime())
    with current_runtime().db.reading() as session:
        found = _all_records(session)
    if unused_days is not None:
        before = utc_now() - timedelta(days=unused_days)
        found = [each for each in found if (each["last_used_at"] or each["created_at"]) < before]
    if as_json:
        click.echo(json.dumps(found, default=iso_utc, indent=2))
        return
    for each in found:
        used = iso_utc(each["last_used_at"]) if each["last_used_at"] else "never used"
        scopes = ",".join(each["scopes"])
        click.echo(f"{each['id']}  {each['status']:8}  {used:24}  {each['name']}  {scopes}")


@keys.command("revoke")
@click.argument("key_id")
def revoke(key_id: str) -> None:
    """Revoke a key for good."""
    runtime = current_runtime()
    try:
        with runtime.db.writing() as session:
            key = service.revoke_key(session, key_id, caller=None)
            after_commit(session, runtime.state.new_key_version)
    except AppError as error:
        raise click.ClickException(error.message) from error
    click.echo(f"revoked {key.id} ({key.name})")


@keys.command("rotate")
@click.argument("key_id")
@click.option(
    "--grace-seconds",
    type=click.IntRange(0, 604800),
    default=0,
    show_default=True,
    help="How long the strings before stay good.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def rotate(key_id: str, grace_seconds: int, as_json: bool) -> None:
    """Replace both strings of a key and print the new ones, this once."""
    runtime = current_runtime()
    try:
        with runtime.db.writing() as session:
            issued = credentials.rotate_key(
                session, runtime.keyring, key_id, grace_period_s=grace_seconds, caller=None
            )
            after_commit(session, runtime.state.new_key_version)
    except AppError as error:
        raise click.ClickException(error.message) from error
    _print_issued(issued, as_json=as_json)


def _print_issued(issued: Issued, *, as_json: bool) -> None:
    shown = {
        "id": issued.key.id,
        "name": issued.key.name,
        "scopes": issued.key.scopes,
        "apiKey": issued.pair.api_key,
        "secret": issued.pair.secret,
    }
    if as_json:
        click.echo(json.dumps(shown))
        return
    click.echo(f"key     {shown['id']} ({shown['name']})")
    click.echo(f"apiKey  {shown['apiKey']}")
    click.echo(f"secret  {shown['secret']}")
    click.echo("Keep both now: they are not shown again.")


def _all_records(session: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    page = 1
    while True:
        part = service.list_page(session, PageRequest(page=page, page_size=100))
        found += records.records_of(session, part.items)
        if page >= part.total_pages:
            return found
        page += 1


def _sentence(error: AppError | ValueError) -> str:
    if isinstance(error, AppError):
        return "; ".join(each["message"] for each in error.details) or error.message
    return str(error)
