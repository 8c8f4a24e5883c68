"""Pages: each module has the endpoints of one part; `PAGES` lists them."""

from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages import account, audit, live, overview, people, sign_in

PAGES: tuple[PageBlueprint, ...] = (
    sign_in.blp,
    overview.blp,
    account.blp,
    people.blp,
    audit.blp,
    live.blp,
)
