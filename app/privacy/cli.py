"""Commands `privacy …`."""

import json

import click

from app.privacy import jobs, service
from app.web.current import current_runtime


@click.group("privacy")
def privacy() -> None:
    """Erase personal data."""


@privacy.command("erase")
@click.argument("customer_ref")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def erase(customer_ref: str, yes: bool, as_json: bool) -> None:
    """Erase the texts and recordings of CUSTOMER_REF now; scores and metrics stay.

    Selects conversations by their customerRef, calls and recordings by a label of that name, and
    calls by the customer's telephone number.
    """
    if not yes:
        click.confirm("Erased data cannot be restored. Continue?", abort=True, err=True)
    runtime = current_runtime()
    with runtime.db.writing() as session:
        erasure_id = service.request(session, customer_ref, requested_by="cli")["erasure_id"]
    jobs.run_erasure(runtime, erasure_id)
    with runtime.db.reading() as session:
        erasure = service.show(session, erasure_id)
    if as_json:
        click.echo(json.dumps({"id": erasure_id, "status": erasure["status"], **erasure["counts"]}))
        return
    click.echo(f"{erasure_id}: {erasure['status']}")
    for name, count in erasure["counts"].items():
        click.echo(f"  {name}: {count}")
