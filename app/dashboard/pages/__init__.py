"""Pages: each module has the endpoints of one part; `PAGES` lists them."""

from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages import (
    account,
    audit,
    evaluation,
    evaluation_changes,
    evaluation_list,
    live,
    marked,
    overview,
    people,
    saved_views,
    sign_in,
    sound,
)

PAGES: tuple[PageBlueprint, ...] = (
    sign_in.blp,
    overview.blp,
    evaluation_list.blp,
    marked.blp,
    saved_views.blp,
    evaluation.blp,
    evaluation_changes.blp,
    sound.blp,
    account.blp,
    people.blp,
    audit.blp,
    live.blp,
)
