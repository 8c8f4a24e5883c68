"""Pages: each module has the endpoints of one part; `PAGES` lists them."""

from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages import account, overview, sign_in

PAGES: tuple[PageBlueprint, ...] = (
    sign_in.blp,
    overview.blp,
    account.blp,
)
