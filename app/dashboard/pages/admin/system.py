"""System: whether every part of the service works, its open work, and its settings."""

from flask import render_template

from app.core.clock import utc_now
from app.core.settings import shown
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.words import text_of
from app.people.roles import READ_SYSTEM
from app.system import backlog, checks, parts
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("system", __name__)


@blp.get("/system")
@require_scope(READ_SYSTEM)
def show() -> str:
    """Show the parts of the service, the open work, the checks of `doctor` and the settings."""
    runtime = current_runtime()
    with runtime.db.reading() as session:
        open_work = backlog.open_work(session, utc_now())
    return render_template(
        "system/show.html",
        parts=[(text_of("servicePart", part.name), part.works(runtime)) for part in parts.ALL],
        open_work=[(text_of("workKind", work.kind), work) for work in open_work],
        checks=checks.examine_here(runtime.settings),
        settings=shown(runtime.settings),
    )
