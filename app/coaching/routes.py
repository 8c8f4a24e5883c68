"""Endpoints of coaching sessions and goals."""

from typing import Any

from app.analytics.engine.reader import open_facts
from app.coaching import measuring, progress, schemas, service
from app.core.clock import utc_now
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import current_principal, require_scope

blp = Blueprint(
    "coaching", __name__, description="Extension: coaching sessions, what they changed, and goals"
)


@blp.post("/coaching-sessions")
@require_scope("coaching:write")
@blp.arguments(schemas.CoachingSessionCreate)
@blp.response(201, schemas.CoachingSessionSchema)
def create_coaching_session(body: dict[str, Any]) -> Any:
    """Plan a coaching session, or record one that was held."""
    principal = current_principal()
    with current_runtime().db.writing() as session:
        return service.add_session(session, body, coach=principal.name, created_by=principal.key_id)


@blp.get("/coaching-sessions")
@require_scope("coaching:read")
@blp.arguments(schemas.CoachingSessionQuery, location="query")
@blp.response(200, schemas.CoachingSessionSchema(many=True))
def list_coaching_sessions(query: dict[str, Any]) -> Any:
    """List the coaching sessions, those with the latest dates first."""
    request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return service.list_sessions(session, request, **query)


@blp.get("/coaching-sessions/<id:coaching_session_id>")
@require_scope("coaching:read")
@blp.response(200, schemas.CoachingSessionSchema)
def get_coaching_session(coaching_session_id: str) -> Any:
    """Show a coaching session."""
    with current_runtime().db.reading() as session:
        return service.get_session(session, coaching_session_id)


@blp.patch("/coaching-sessions/<id:coaching_session_id>")
@require_scope("coaching:write")
@blp.arguments(schemas.CoachingSessionChange)
@blp.response(200, schemas.CoachingSessionSchema)
def change_coaching_session(changes: dict[str, Any], coaching_session_id: str) -> Any:
    """Change a coaching session; its state only advances."""
    with current_runtime().db.writing() as session:
        return service.change_session(session, coaching_session_id, changes)


@blp.delete("/coaching-sessions/<id:coaching_session_id>")
@require_scope("coaching:write")
@blp.response(204)
def delete_coaching_session(coaching_session_id: str) -> None:
    """Delete a coaching session of your own that is not acknowledged; with `data:erase`, any."""
    with current_runtime().db.writing() as session:
        service.remove_session(session, coaching_session_id, current_principal())


@blp.get("/coaching-sessions/<id:coaching_session_id>/effect")
@require_scope("coaching:read")
@blp.response(200, schemas.CoachingEffectSchema(many=True))
def get_coaching_effect(coaching_session_id: str) -> Any:
    """Show whether a session helped: scores in the 30 days before and after it, by criterion."""
    with open_facts(current_runtime()) as facts:
        coaching = service.get_session(facts.session, coaching_session_id)
        return measuring.effects_of(facts, coaching)


@blp.post("/goals")
@require_scope("coaching:write")
@blp.arguments(schemas.GoalCreate)
@blp.response(201, schemas.GoalSchema)
def create_goal(body: dict[str, Any]) -> Any:
    """Set a goal of an agent or of a call centre."""
    created_by = current_principal().key_id
    with current_runtime().db.writing() as session:
        return service.GOALS.create(session, body, created_by=created_by)


@blp.get("/goals")
@require_scope("coaching:read")
@blp.arguments(schemas.CoachingQuery, location="query")
@blp.response(200, schemas.GoalSchema(many=True))
def list_goals(query: dict[str, Any]) -> Any:
    """List the goals, those with the latest dates first."""
    request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return service.GOALS.list_page(session, request, **query)


@blp.patch("/goals/<id:goal_id>")
@require_scope("coaching:write")
@blp.arguments(schemas.GoalChange)
@blp.response(200, schemas.GoalSchema)
def change_goal(changes: dict[str, Any], goal_id: str) -> Any:
    """Change a goal."""
    with current_runtime().db.writing() as session:
        service.GOALS.change(session, goal_id, changes)
        return service.GOALS.find(session, goal_id)


@blp.delete("/goals/<id:goal_id>")
@require_scope("coaching:write")
@blp.response(204)
def delete_goal(goal_id: str) -> None:
    """Delete a goal."""
    with current_runtime().db.writing() as session:
        service.GOALS.remove(session, goal_id)


@blp.get("/goals/<id:goal_id>/progress")
@require_scope("coaching:read")
@blp.response(200, schemas.GoalProgressSchema)
def get_goal_progress(goal_id: str) -> Any:
    """Show where a goal stands."""
    with open_facts(current_runtime()) as facts:
        goal = vars(service.GOALS.find(facts.session, goal_id))
        return progress.progress_of(facts, [goal], utc_now())[goal_id]
