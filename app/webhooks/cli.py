"""Commands over webhooks: `webhooks …`."""

from datetime import datetime

import click

from app.core.clock import iso_utc
from app.core.commands import errors_as_messages, moment, print_json
from app.core.database.paging import PageRequest
from app.web.current import current_runtime
from app.webhooks import deliveries as creation
from app.webhooks import history, service
from app.webhooks.enums import RECOVERABLE_STATES, DeliveryState
from app.webhooks.sender import loop


@click.group("webhooks")
def webhooks() -> None:
    """List subscriptions and deliveries; send failed ones again."""


@webhooks.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(*, as_json: bool) -> None:
    """List the subscriptions and since when they fail."""
    with current_runtime().db.reading() as session:
        request = PageRequest(page_size=service.MOST_SUBSCRIPTIONS)
        subscriptions = service.list_page(session, request).items
    if as_json:
        print_json(subscriptions)
        return
    for subscription in subscriptions:
        status = "active" if subscription["active"] else "inactive"
        since = subscription["failing_since"]
        failing = f"  failing since {iso_utc(since)}" if since else ""
        events = ",".join(subscription["events"])
        click.echo(f"{subscription['id']}  {status:8}  {subscription['url']}  {events}{failing}")


@webhooks.command("deliveries")
@click.argument("subscription_id")
@click.option(
    "--status", type=click.Choice([state.value for state in DeliveryState]), help="Only these."
)
@click.option(
    "--limit", type=click.IntRange(1, 100), default=25, show_default=True, help="Most lines."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@errors_as_messages()
def deliveries(subscription_id: str, status: str | None, limit: int, *, as_json: bool) -> None:
    """Show the latest deliveries of a subscription."""
    request = PageRequest(page_size=limit)
    filters = {"status": status} if status else {}
    with current_runtime().db.reading() as session:
        rows = history.list_page(session, subscription_id, request, **filters).items
    if as_json:
        print_json([{**row, "attempts": [*map(dict, row["attempts"])]} for row in rows])
        return
    for delivery in rows:
        outcome = delivery["attempts"][-1]["outcome"] if delivery["attempts"] else "-"
        click.echo(
            f"{delivery['id']}  {iso_utc(delivery['created_at'])}  {delivery['event']:20}  "
            f"{delivery['status']:10}  {delivery['attempt_count']} attempts  {outcome}"
        )


@webhooks.command("redeliver")
@click.argument("subscription_id")
@click.argument("delivery_id")
@errors_as_messages()
def redeliver(subscription_id: str, delivery_id: str) -> None:
    """Send the event of a delivery once more, in one attempt."""
    with current_runtime().db.writing() as session:
        started = creation.redeliver(session, subscription_id, delivery_id)
    click.echo(f"{started.delivery_id} sends {started.event_id} again")


@webhooks.command("recover")
@click.argument("subscription_id")
@click.option("--since", callback=moment, help="ISO 8601 time: deliveries created then or later.")
@click.option("--until", callback=moment, help="ISO 8601 time: deliveries created before it.")
@click.option(
    "--status", type=click.Choice([state.value for state in RECOVERABLE_STATES]), help="Only these."
)
@errors_as_messages()
def recover(
    subscription_id: str, since: datetime | None, until: datetime | None, status: str | None
) -> None:
    """Send every event again whose latest delivery failed, was canceled or was missed."""
    count = creation.recover(
        current_runtime().db, subscription_id, since=since, until=until, status=status
    )
    click.echo(f"{count} deliveries created")


@webhooks.command("drain")
@click.option(
    "--within",
    "within_s",
    type=click.FloatRange(1),
    default=60,
    show_default=True,
    help="Most seconds.",
)
def drain(within_s: float) -> None:
    """Send what is due until nothing is; exit code 1 when the time runs out.

    For a machine without a running worker, or before it is switched off. A delivery that fails is
    left for its next attempt.
    """
    if not loop.drain(current_runtime(), within_s=within_s):
        raise click.ClickException(
            "The time ran out while deliveries are still due: run it again, or allow more with --within."
        )
    click.echo("Nothing is due.")
