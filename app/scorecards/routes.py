"""Endpoints of scorecards."""

from typing import Any

from app.scorecards import authoring, releases, service
from app.scorecards.schemas import document
from app.scorecards.schemas import scorecards as schemas
from app.web.api import Blueprint, if_match
from app.web.current import current_runtime

blp = Blueprint(
    "scorecards",
    __name__,
    url_prefix="/scorecards",
    description="Extension: criteria by which conversations are judged",
    scope="scorecards:manage",
)


@blp.get("")
@blp.arguments(schemas.ScorecardQuery, location="query")
@blp.response(200, schemas.ScorecardSchema(many=True))
def list_scorecards(query: dict[str, Any]) -> Any:
    """List the default and the custom scorecards."""
    request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return service.list_page(session, request, **query)


@blp.post("")
@blp.arguments(document.ScorecardCreate)
@blp.response(201, schemas.ScorecardKeptSchema, etag=True)
def create_scorecard(body: dict[str, Any]) -> Any:
    """Create a custom scorecard; omitted fields are those of the default."""
    runtime = current_runtime()
    with runtime.db.writing() as session:
        return authoring.create(session, body, has_model=runtime.settings.has_language_model)


@blp.get("/<id:scorecard_id>")
@blp.arguments(schemas.VersionQuery, location="query")
@blp.response(200, schemas.ScorecardDetailSchema, etag=True)
def get_scorecard(query: dict[str, int], scorecard_id: str) -> Any:
    """Show one version of a scorecard with its definition."""
    with current_runtime().db.reading() as session:
        return service.get(session, scorecard_id, **query)


@blp.get("/defaults")
@blp.response(200, schemas.ScorecardsByChannel)
def get_default_scorecards() -> Any:
    """Show the scorecards that judge what no campaign names another for."""
    with current_runtime().db.reading() as session:
        return service.defaults_in_use(session)


@blp.patch("/defaults")
@blp.arguments(schemas.ScorecardsByChannel)
@blp.response(200, schemas.ScorecardsByChannel)
def change_default_scorecards(changes: dict[str, str | None]) -> Any:
    """Set the default scorecards of the given channels; null is the one that ships."""
    with current_runtime().db.writing() as session:
        return service.set_defaults(session, changes)


@blp.get("/<id:scorecard_id>/versions")
@blp.arguments(schemas.ScorecardVersionsQuery, location="query")
@blp.response(200, schemas.ScorecardSchema(many=True))
def list_scorecard_versions(query: dict[str, Any], scorecard_id: str) -> Any:
    """List the versions of a scorecard, the newest first."""
    with current_runtime().db.reading() as session:
        return service.list_versions(session, scorecard_id, query["page_request"])


@blp.post("/<id:scorecard_id>/versions")
@blp.arguments(document.ScorecardVersionCreate)
@blp.response(201, schemas.ScorecardKeptSchema, etag=True)
def add_scorecard_version(body: dict[str, Any], scorecard_id: str) -> Any:
    """Add the next version of a scorecard; new evaluations use it from now on."""
    runtime = current_runtime()
    with runtime.db.writing() as session:
        return authoring.add_version(
            session,
            scorecard_id,
            body,
            if_match=if_match(),
            has_model=runtime.settings.has_language_model,
        )


@blp.get("/<id:scorecard_id>/release")
@blp.response(200, schemas.ReleaseSchema)
def get_scorecard_release(scorecard_id: str) -> Any:
    """Show when agents see what a scorecard has judged."""
    with current_runtime().db.reading() as session:
        return releases.show(session, scorecard_id)


@blp.put("/<id:scorecard_id>/release")
@blp.arguments(schemas.ReleaseBody)
@blp.response(200, schemas.ReleaseSchema)
def change_scorecard_release(body: dict[str, Any], scorecard_id: str) -> Any:
    """Set when agents see what a scorecard has judged, also of the past; until then, it is not there for them."""
    with current_runtime().db.writing() as session:
        return releases.change(session, scorecard_id, body)
