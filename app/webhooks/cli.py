"""Commands over webhooks: `flask webhooks …`."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from app.core.clock import as_utc, iso_utc
from app.core.database.paging import Page, PageRequest
from app.core.errors import AppError
from app.web.current import current_runtime
from app.webhooks import deliveries as making
from app.webhooks import history, recovery, sender_process, service
from app.webhooks.models import DeliveryState


@click.group("webhooks")
def webhooks() -> None:
    """List subscriptions and deliveries; send again what failed."""


@webhooks.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(*, as_json: bool) -> None:
    """List the subscriptions and how they do."""
    with current_runtime().db.reading() as session:
        found = [dict(each) for each in _all(lambda page: service.list_page(session, page))]
    if as_json:
        _print_json(found)
        return
    for each in found:
        state = "active" if each["active"] else "inactive"
        failing = (
            f"  failing since {iso_utc(each['failing_since'])}" if each["failing_since"] else ""
        )
        click.echo(f"{each['id']}  {state:8}  {each['url']}  {','.join(each['events'])}{failing}")


@webhooks.command("deliveries")
@click.argument("subscription_id")
@click.option("--status", type=click.Choice([each.value for each in DeliveryState]))
@click.option("--limit", type=click.IntRange(1, 100), default=25, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def deliveries(subscription_id: str, status: str | None, limit: int, *, as_json: bool) -> None:
    """Show the latest deliveries of a subscription."""
    request = PageRequest(page_size=limit)
    try:
        with current_runtime().db.reading() as session:
            found = history.list_page(session, subscription_id, request, status=status).items
    except AppError as error:
        raise click.ClickException(error.message) from error
    if as_json:
        _print_json([{**each, "attempts": [*map(dict, each["attempts"])]} for each in found])
        return
    for each in found:
        last = each["attempts"][-1]["outcome"] if each["attempts"] else "-"
        click.echo(
            f"{each['id']}  {iso_utc(each['created_at'])}  {each['event']:20}  "
            f"{each['status']:10}  {each['attempt_count']} attempts  {last}"
        )


@webhooks.command("redeliver")
@click.argument("subscription_id")
@click.argument("delivery_id")
def redeliver(subscription_id: str, delivery_id: str) -> None:
    """Send the event of a delivery once more, in one attempt."""
    try:
        with current_runtime().db.writing() as session:
            started = making.redeliver(session, subscription_id, delivery_id)
    except AppError as error:
        raise click.ClickException(error.message) from error
    click.echo(f"{started.delivery_id} sends {started.event_id} again")


@webhooks.command("recover")
@click.argument("subscription_id")
@click.option("--since", help="ISO 8601 moment: deliveries made then or later.")
@click.option("--until", help="ISO 8601 moment: deliveries made before it.")
@click.option("--status", type=click.Choice(["failed", "canceled"]), help="Only these.")
def recover(subscription_id: str, since: str | None, until: str | None, status: str | None) -> None:
    """Send anew every event whose latest delivery failed, was canceled or was missed."""
    try:
        count = recovery.recover(
            current_runtime().db,
            subscription_id,
            since=_moment(since),
            until=_moment(until),
            status=status,
        )
    except (AppError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{count} deliveries made")


@webhooks.command("drain")
@click.option(
    "--within", "within_s", type=click.FloatRange(1), default=60, show_default=True, help="Seconds."
)
def drain(within_s: float) -> None:
    """Send what is due, here and now, until nothing is; exit code 1 when time runs out.

    For a machine where no worker runs, or before it is switched off. What fails stays for later.
    """
    if not sender_process.drain(current_runtime(), within_s=within_s):
        raise click.ClickException("time ran out, and something is still due")
    click.echo("nothing is due")


def _moment(text: str | None) -> datetime | None:
    return as_utc(datetime.fromisoformat(text)) if text else None


def _all(read: Callable[[PageRequest], Page[Any]]) -> list[Any]:
    page = read(PageRequest(page_size=100))
    return [
        *page.items,
        *(
            item
            for number in range(2, page.total_pages + 1)
            for item in read(PageRequest(page=number, page_size=100)).items
        ),
    ]


def _print_json(found: list[dict[str, Any]]) -> None:
    click.echo(json.dumps(found, default=iso_utc, indent=2))
