"""Overview: the work in progress and the latest evaluations."""

from flask import render_template

from app.core.database.paging import PageRequest
from app.dashboard.blueprint import PageBlueprint
from app.evaluations import listing
from app.evaluations.enums import ENDED, Status
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("overview", __name__)

_OPEN = [str(status) for status in Status if status not in ENDED]
_SHOWN = 10


@blp.get("/")
@require_scope("evaluations:read")
def show() -> str:
    """Show the first page."""
    latest_first = PageRequest(page_size=_SHOWN, sort="-completed_at")
    oldest_first = PageRequest(page_size=_SHOWN, sort="created_at")
    with current_runtime().db.reading() as session:
        latest = listing.list_page(session, latest_first, status=[str(Status.COMPLETED)])
        under_way = listing.list_page(session, oldest_first, status=_OPEN)
    return render_template("overview/show.html", latest=latest, under_way=under_way)
