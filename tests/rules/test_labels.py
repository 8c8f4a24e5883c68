"""Files of labels: both formats are read, and a wrong line is named."""

import pytest

from app.reviews.calibration.labels import Label, from_file


@pytest.mark.parametrize(
    "text",
    [
        '{"externalId": "a", "score": 5}\n\n{"evaluationId": "eval_1", "score": 99.5}\n',
        "externalId,evaluationId,score\na,,5\n,eval_1,99.5\n",
        '\ufeffscore,externalId,note\r\n5,a,"quick, kind"\r\n99.5,eval_1,\r\n',
    ],
)
def test_both_formats_are_read(text: str) -> None:
    assert from_file(text) == [Label("a", 5), Label("eval_1", 99.5)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"externalId": "a", "score": 101}', "line 1: score must be between 0 and 100"),
        ('{"externalId": "a", "score": "NaN"}', "line 1: score must be between 0 and 100"),
        ('{"externalId": "a", "score": true}', "line 1: score must be between 0 and 100"),
        ('{"externalId": "a"}\n', "line 1 must have a score"),
        ('{"externalId": 7, "score": 5}', "line 1 must have evaluationId or externalId"),
        ('{"score": 5}', "line 1 must have evaluationId or externalId"),
        ('{"externalId": "a", "score": 5}\n{', "line 2 must be JSON"),
        ('{"externalId": "a", "score": 5}\n[]', "line 2 must be a JSON object"),
        ("externalId,grade\na,5\n", "line 1 must name the columns"),
        ("externalId,score\na,5\nb,much\n", "line 3 must have a score"),
        ("", "line 1 must name the columns"),
    ],
)
def test_a_wrong_line_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_file(text)
