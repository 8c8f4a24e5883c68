"""Command group `keys`."""

import json
from datetime import timedelta
from itertools import count
from typing import Any

import click
from sqlalchemy.orm import Session

from app.api_keys import service
from app.api_keys.credentials import IssuedKey
from app.api_keys.enums import SCOPES, SignaturePolicy
from app.api_keys.schemas import MAX_GRACE_S, KeyCreate
from app.core.clock import iso_utc, utc_now
from app.core.commands import errors_as_messages, print_json
from app.core.database.paging import PageRequest
from app.core.database.session import after_commit
from app.usage import meter
from app.web.current import current_runtime
from app.web.schemas.base import load_valid


@click.group("keys")
def keys() -> None:
    """Create, list, revoke and rotate API keys."""


@keys.command("create")
@click.option(
    "--name", required=True, help="Name of the key, such as the integration that uses it."
)
@click.option("--scopes", required=True, help="Scopes, separated by commas, or '*' for all.")
@click.option(
    "--ip-allowlist",
    default="",
    help="Networks that the key works from, separated by commas. Default: any.",
)
@click.option(
    "--signature-policy",
    type=click.Choice([policy.value for policy in SignaturePolicy]),
    default=SignaturePolicy.DEFAULT.value,
    show_default=True,
    help="Where requests with Bearer alone are accepted.",
)
@click.option(
    "--require-nonce", is_flag=True, help="Require X-Nonce on requests that change something."
)
@click.option("--expires-at", help="Time at which the key expires, ISO 8601 with an offset.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@errors_as_messages()
def create(
    name: str,
    scopes: str,
    ip_allowlist: str,
    signature_policy: str,
    require_nonce: bool,
    expires_at: str | None,
    as_json: bool,
) -> None:
    """Create a key and print its two strings. They are not shown again."""
    fields = {
        "name": name,
        "scopes": list(SCOPES) if scopes == "*" else _members(scopes),
        "ipAllowlist": _members(ip_allowlist),
        "signaturePolicy": signature_policy,
        "requireNonce": require_nonce,
        "expiresAt": expires_at,
    }
    values = load_valid(KeyCreate(), fields, location="option")
    runtime = current_runtime()
    with runtime.db.writing() as session:
        issued = service.create_key(session, runtime.keyring, **values)
    _print_issued(issued, as_json=as_json)


@keys.command("list")
@click.option(
    "--unused-days",
    type=click.IntRange(0, 36_500),
    help="Only keys that were not used for so many days.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(unused_days: int | None, as_json: bool) -> None:
    """List the keys with their scopes and last use."""
    meter.flush(current_runtime())
    with current_runtime().db.reading() as session:
        rows = _all_records(session)
    if unused_days is not None:
        before = utc_now() - timedelta(days=unused_days)
        rows = [key for key in rows if (key["last_used_at"] or key["created_at"]) < before]
    if as_json:
        print_json(rows)
        return
    for key in rows:
        used = iso_utc(key["last_used_at"]) if key["last_used_at"] else "never used"
        scopes = ",".join(key["scopes"])
        click.echo(f"{key['id']}  {key['status']:8}  {used:24}  {key['name']}  {scopes}")


@keys.command("revoke")
@click.argument("key_id")
@errors_as_messages()
def revoke(key_id: str) -> None:
    """Revoke a key for good."""
    runtime = current_runtime()
    with runtime.db.writing() as session:
        key = service.revoke_key(session, key_id, caller=None)
        after_commit(session, runtime.state.new_key_version)
    click.echo(f"Revoked {key.id} ({key.name}).")


@keys.command("rotate")
@click.argument("key_id")
@click.option(
    "--grace-seconds",
    type=click.IntRange(0, MAX_GRACE_S),
    default=0,
    show_default=True,
    help="Seconds for which the previous strings keep working.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@errors_as_messages()
def rotate(key_id: str, grace_seconds: int, as_json: bool) -> None:
    """Replace both strings of a key and print the new ones. They are not shown again."""
    runtime = current_runtime()
    with runtime.db.writing() as session:
        issued = service.rotate_key(
            session, runtime.keyring, key_id, grace_period_s=grace_seconds, caller=None
        )
        after_commit(session, runtime.state.new_key_version)
    _print_issued(issued, as_json=as_json)


def _members(text: str) -> list[str]:
    return [member.strip() for member in text.split(",") if member.strip()]


def _print_issued(issued: IssuedKey, *, as_json: bool) -> None:
    record = {
        "id": issued.key.id,
        "name": issued.key.name,
        "scopes": issued.key.scopes,
        "apiKey": issued.pair.api_key,
        "secret": issued.pair.secret,
    }
    if as_json:
        click.echo(json.dumps(record))
        return
    click.echo(f"key     {record['id']} ({record['name']})")
    click.echo(f"apiKey  {record['apiKey']}")
    click.echo(f"secret  {record['secret']}")
    click.echo("Store both now: they are not shown again.")


def _all_records(session: Session) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number in count(1):
        page = service.list_page(session, PageRequest(page=number, page_size=100), caller=None)
        rows += service.records_of(session, page.items)
        if number >= page.total_pages:
            break
    return rows
