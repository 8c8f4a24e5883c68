"""Files of labels: JSON lines and CSV, and what is wrong with which line."""

import pytest

from app.reviews.labels import Label, from_file


@pytest.mark.parametrize(
    "text",
    [
        '{"externalId": "a", "score": 5}\n\n{"evaluationId": "eval_1", "score": 99.5}\n',
        "externalId,evaluationId,score\na,,5\n,eval_1,99.5\n",
        '\ufeffscore,externalId,note\r\n5,a,"quick, kind"\r\n99.5,eval_1,\r\n',
    ],
)
def test_both_formats_say_the_same(text: str) -> None:
    assert from_file(text) == [Label("a", 5), Label("eval_1", 99.5)]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"externalId": "a", "score": 101}', "line 1: a score is from 0 to 100"),
        ('{"externalId": "a", "score": "NaN"}', "line 1: a score is from 0 to 100"),
        ('{"externalId": "a", "score": true}', "line 1: a score is from 0 to 100"),
        ('{"externalId": "a"}\n', "line 1 has no score"),
        ('{"externalId": 7, "score": 5}', "line 1 has neither evaluationId nor externalId"),
        ('{"score": 5}', "line 1 has neither evaluationId nor externalId"),
        ('{"externalId": "a", "score": 5}\n{', "line 2 is not JSON"),
        ('{"externalId": "a", "score": 5}\n[]', "line 2 is not a JSON object"),
        ("externalId,grade\na,5\n", "line 1 must name the columns"),
        ("externalId,score\na,5\nb,much\n", "line 3 has no score"),
        ("", "line 1 must name the columns"),
    ],
)
def test_what_is_no_label_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        from_file(text)
