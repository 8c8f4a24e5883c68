"""My reviews: what plans have given to the signed-in person, by when it is due."""

from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from flask import render_template

from app.core.clock import utc_now
from app.core.database.paging import PageRequest
from app.dashboard.blueprint import PageBlueprint
from app.evaluations import listing
from app.people.gate import current_person
from app.reviews import assignments
from app.reviews.enums import HELD, AssignmentState
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("my_reviews", __name__)
_MOST = PageRequest(page_size=100, sort="due_at")


@blp.get("/review/mine")
@require_scope("evaluations:review")
def show() -> str:
    """Show what is overdue, due today, begun, and still to come."""
    person = current_person()
    with current_runtime().db.reading() as session:
        page = assignments.list_page(session, _MOST, reviewer=person.user_id, state=HELD)
        counts = assignments.count(session, "week", "state", reviewer=person.user_id)
        subjects = listing.subjects(session, [row["evaluation_id"] for row in page.items])
    weeks = sorted({row.week for row in counts})
    this_week = {row.state: row.count for row in counts if weeks and row.week == weeks[-1]}
    return render_template(
        "planning/mine.html",
        groups=_groups(page.items, ZoneInfo(person.timezone)),
        total=page.total_count,
        done=this_week.get(AssignmentState.DONE, 0),
        given=sum(n for state, n in this_week.items() if state != AssignmentState.REPLACED),
        week=weeks[-1] if weeks else "",
        subjects=subjects,
    )


def _groups(
    rows: Sequence[Mapping[str, Any]], zone: ZoneInfo
) -> list[tuple[str, list[Mapping[str, Any]]]]:
    now = utc_now()
    tomorrow = datetime.combine(now.astimezone(zone).date() + timedelta(days=1), time(), zone)
    groups: dict[str, list[Mapping[str, Any]]] = {
        name: [] for name in ("Overdue", "Due today", "Begun", "To do", "Later this week")
    }
    for row in rows:
        if row["due_at"] <= now:
            name = "Overdue"
        elif row["due_at"] <= tomorrow:
            name = "Due today"
        elif row["state"] == AssignmentState.IN_REVIEW:
            name = "Begun"
        else:
            name = "To do" if row["starts_at"] <= now else "Later this week"
        groups[name].append(row)
    return [(name, found) for name, found in groups.items() if found]
