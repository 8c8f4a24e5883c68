"""Operation of the service: whether its parts work, its settings, and the usage of a month."""

from collections.abc import Mapping

from flask import render_template, request

from app.core.clock import utc_now
from app.core.settings import shown
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.words import text_of
from app.people.roles import READ_SYSTEM
from app.system import backlog, checks, parts
from app.system.queue_choice import as_configured
from app.usage import meter, reports, schemas
from app.usage.plan import UsageMetric, period_of, plan_of
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("operation", __name__)


@blp.get("/system")
@require_scope(READ_SYSTEM)
def show_system() -> str:
    """Show the parts of the service, the open work, the checks of `doctor` and the settings."""
    runtime = current_runtime()
    with runtime.db.reading() as session:
        open_work = backlog.open_work(session, utc_now())
    return render_template(
        "system/show.html",
        parts=[(part.label, part.works(runtime)) for part in parts.ALL],
        open_work=[(text_of("workKind", work.kind), work) for work in open_work],
        checks=checks.examine_here(runtime.settings),
        settings=shown(as_configured(runtime.settings)),
    )


@blp.get("/usage")
@require_scope("usage:read")
@forms.shown_again(lambda: _usage({}))
def show_usage() -> str:
    """Show the usage of a month, by default the current one."""
    return _usage(request.args)


def _usage(texts: Mapping[str, str]) -> str:
    runtime = current_runtime()
    query = forms.load(schemas.UsageDetailsQuery(), texts)
    metric = UsageMetric(query["type"]) if "type" in query else None
    period = str(query.get("billing_period") or period_of(utc_now()))
    meter.flush(runtime)
    with runtime.db.reading() as session:
        keys = reports.by_key(session, period)
        return render_template(
            "usage/show.html",
            summary=reports.summary(session, period, plan_of(runtime.settings)),
            keys=keys,
            key_options=[(key["key_id"], key["name"]) for key in keys],
            metric_options=[(metric, metric.label) for metric in UsageMetric],
            records=reports.list_details(
                session, period, query["page_request"], metric=metric, key_id=query.get("key_id")
            ),
            metrics=list(UsageMetric),
            query=request.args,
        )
