"""Pages: each module has the endpoints of one part; `PAGES` lists them."""

from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages import account, evaluation, overview, sign_in, sound

PAGES: tuple[PageBlueprint, ...] = (
    sign_in.blp,
    overview.blp,
    evaluation.blp,
    sound.blp,
    account.blp,
)
