"""The filter panel of the list: nothing of the API is missing, and chips read well."""

from app.core.ids import new_id
from app.dashboard.views import filters
from app.dashboard.views.filters import Control
from app.evaluations.schemas.evaluations import EvaluationQuery


def test_the_panel_has_every_filter_of_the_api() -> None:
    fields = EvaluationQuery().fields
    known = {field.data_key or name for name, field in fields.items()}
    assert {field.name for field in filters.FIELDS} == known - set(filters.NO_CHIP)


def test_the_panel_offers_every_order_of_the_api() -> None:
    (orders,) = EvaluationQuery().fields["sort"].validators
    assert set(filters.SORTS) == set(orders.choices)  # type: ignore[attr-defined]


def test_chips_read_as_words() -> None:
    executive = new_id("exec")
    query = {
        "executiveId": executive,
        "minScore": "80",
        "passed": "false",
        "reviewStatus": "disputed,in_review",
        "sort": "score",
    }
    assert filters.chip_texts(query, {executive: "Tom Hale"}) == {
        "executiveId": "Agent: Tom Hale",
        "minScore": "Score from: 80",
        "passed": "Passed: no",
        "reviewStatus": "Review: Disputed, In review",
    }
    assert filters.chip_texts({"campaignId": "camp_gone"}, {}) == {
        "campaignId": "Campaign: camp_gone"
    }


def test_a_bad_value_is_shown_as_it_was_given() -> None:
    assert filters.chip_texts({"channel": "fax"}, {}) == {"channel": "Channel: fax"}


def test_only_pickers_have_no_options_of_their_own() -> None:
    without = {field.control for field in filters.FIELDS if not field.options}
    assert without == {Control.PICKER, Control.NUMBER, Control.TEXT}
