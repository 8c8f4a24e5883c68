"""Command group `usage`."""

import json
import re

import click

from app.core.clock import iso_utc, utc_now
from app.usage import meter, reports
from app.usage.plan import PERIOD_PATTERN, period_of, plan_of
from app.usage.schemas import KeyUsageSchema, UsageSummarySchema
from app.web.current import current_runtime
from app.web.schemas.dump import dump


@click.group("usage")
def usage() -> None:
    """Show usage and the plan."""


@usage.command("show")
@click.option("--period", default="", help="Billing period, YYYY-MM. Default: the current one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(period: str, *, as_json: bool) -> None:
    """Show calls, webhook deliveries and storage of a billing period, and the calls of each key."""
    if period and not re.fullmatch(PERIOD_PATTERN, period, re.ASCII):
        raise click.BadParameter("must be a month such as 2026-11.", param_hint="--period")
    runtime = current_runtime()
    period = period or period_of(utc_now())
    meter.flush(runtime)
    with runtime.db.reading() as session:
        summary = reports.summary(session, period, plan_of(runtime.settings))
        keys = reports.by_key(session, period)
    if as_json:
        dumped_keys = [dump(KeyUsageSchema(), key) for key in keys]
        click.echo(json.dumps({**dump(UsageSummarySchema(), summary), "keys": dumped_keys}))
        return
    click.echo(f"{period}, plan {summary['tier']}")
    for metric, amounts in summary["usage"].items():
        overage = f"  overage {amounts['overage']:,}" if amounts["overage"] else ""
        click.echo(f"{metric:10}  {amounts['used']:>16,} of {amounts['included']:,}{overage}")
    for key in keys:
        used = iso_utc(key["last_used_at"]) if key["last_used_at"] else "never used"
        click.echo(f"{key['key_id']}  {key['calls']:>12,} calls  {used:24}  {key['name']}")
