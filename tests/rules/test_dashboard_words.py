"""Words of the dashboard: every value that the API knows has its text."""

from collections.abc import Sequence

import pytest
from marshmallow import Schema, validate

from app.ai.scorecard.schema import DIMENSIONS, KNOWN_RULES
from app.ai.scorecard.schema import WORDS as SCHEMA_WORDS
from app.analytics.enums import Dataset, ExportStatus, Format, Granularity, GroupBy, TrendMetric
from app.api_keys.enums import SignaturePolicy
from app.audio_files import enums as audio
from app.dashboard.words import UNKNOWN, WORDS, text_of
from app.evaluations import enums
from app.evaluations.schemas import results
from app.evaluations.schemas.trials import TRIAL_STATUSES
from app.imports.schemas.requests import STATUSES, UPLOAD_FORMATS
from app.scorecards.schemas.document_fields import METRICS, PARAMETERS
from app.usage.plan import UsageMetric
from app.voice_calls.enums import OUTCOMES
from app.webhooks.enums import DeliveryState


def choices(schema: type[Schema], name: str) -> Sequence[str]:
    (known,) = schema().fields[name].validators
    assert isinstance(known, validate.OneOf)
    return list(known.choices)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("channel", enums.Channel),
        ("sourceType", enums.SourceType),
        ("status", enums.Status),
        ("reviewStatus", enums.ReviewStatus),
        ("reviewAction", enums.ReviewAction),
        ("band", enums.BANDS),
        ("sentimentTrend", enums.TRENDS),
        ("resolution", enums.RESOLUTIONS),
        ("direction", enums.DIRECTIONS),
        ("role", enums.ROLES),
        ("errorCode", enums.FailureCode),
        ("momentType", choices(results.MomentSchema, "type")),
        ("criterionType", choices(results.CriterionSchema, "type")),
        ("criticality", choices(results.CriterionSchema, "criticality")),
        ("errorClass", choices(results.CriterionSchema, "error_class")),
        ("judgedBy", choices(results.CriterionSchema, "judged_by")),
        ("audioStatus", audio.AudioStatus),
        ("deliveryStatus", DeliveryState),
        ("outcome", OUTCOMES),
        ("signaturePolicy", SignaturePolicy),
        ("dataset", Dataset),
        ("exportFormat", Format),
        ("exportStatus", ExportStatus),
        ("importFormat", UPLOAD_FORMATS),
        ("importStatus", STATUSES),
        ("dryRunStatus", STATUSES),
        ("trialStatus", TRIAL_STATUSES),
        ("metric", TrendMetric),
        ("granularity", Granularity),
        ("groupBy", GroupBy),
        ("usageMetric", UsageMetric),
        ("rule", KNOWN_RULES),
        ("speaker", SCHEMA_WORDS["by"]),
        ("dimension", DIMENSIONS),
        ("event", SCHEMA_WORDS["event"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_value_has_its_text(name: str, values: Sequence[str]) -> None:
    assert list(WORDS[name]) == [str(value) for value in values]
    assert len(set(WORDS[name].values())) == len(WORDS[name])


def test_a_missing_value_and_one_of_an_older_version_are_readable() -> None:
    assert text_of("channel", None) == UNKNOWN
    assert text_of("resolution", "half_done") == "half done"


def test_every_parameter_and_threshold_has_its_label() -> None:
    rules = KNOWN_RULES.values()
    known = {name for rule in rules for name in (*rule.required, *rule.optional)}
    assert known == set(PARAMETERS)
    assert all(field.label for field in (*PARAMETERS.values(), *METRICS.values()))
