"""Pages: each module has the endpoints of one part; `PAGES` lists them."""

from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages import (
    account,
    evaluation,
    evaluation_changes,
    evaluation_list,
    exports,
    live,
    review_examples,
    review_queue,
    sound,
    unsubscribe,
    work,
)
from app.dashboard.pages.add import columns, files
from app.dashboard.pages.admin import (
    audit,
    keys,
    links,
    messages,
    operation,
    people,
    sources,
    webhooks,
)
from app.dashboard.pages.agent import answers, coaching
from app.dashboard.pages.agent import results as own_results
from app.dashboard.pages.figures import (
    agreement,
    calibration,
    executive,
    leaderboards,
    overview,
    trends,
)
from app.dashboard.pages.planning import mine, plans, reviewers
from app.dashboard.pages.scorecards import campaigns, editor, trial
from app.dashboard.pages.scorecards import shown as scorecards
from app.dashboard.pages.sign_in import password, provider, second_factor

PAGES: tuple[PageBlueprint, ...] = (
    password.blp,
    provider.blp,
    second_factor.blp,
    overview.blp,
    evaluation_list.blp,
    evaluation.blp,
    evaluation_changes.blp,
    answers.blp,
    own_results.blp,
    coaching.blp,
    sound.blp,
    review_queue.blp,
    agreement.blp,
    review_examples.blp,
    calibration.blp,
    leaderboards.blp,
    executive.blp,
    trends.blp,
    files.blp,
    columns.blp,
    work.blp,
    exports.blp,
    scorecards.blp,
    editor.blp,
    trial.blp,
    campaigns.blp,
    account.blp,
    sources.blp,
    webhooks.blp,
    keys.blp,
    people.blp,
    links.blp,
    audit.blp,
    operation.blp,
    live.blp,
    messages.blp,
    mine.blp,
    plans.blp,
    reviewers.blp,
    unsubscribe.blp,
)
