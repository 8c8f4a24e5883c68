import json

import pytest

from app.ai.dialogue.turns import dialogue_of
from app.ai.facts.ngrams import grams_of, tokens_of
from app.ai.insights.linear import MODELS, LinearModel, Rule, shipped
from tests.talks import chat


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, my name is Anna.", ["hello", "my", "name", "is", "@"]),
        ("I'm at gate 12!", ["i'm", "at", "gate", "0", "!"]),
        ("I DID IT", ["i", "did", "it"]),
        ("Done. Next?", ["done", "next", "?"]),
        ("I am [NAME] at [PHONE].", ["i", "am", "@", "at", "0"]),
    ],
)
def test_names_and_numbers_are_masked(text, words) -> None:
    assert tokens_of(text) == words


def test_a_gram_says_whose_it_is_and_whether_it_is_of_the_end() -> None:
    lines = [("c", None, "Where is it?"), *[("a", None, f"Wait {word}.") for word in "abcd"]]
    found = grams_of(dialogue_of(chat(*lines), channel="chat", language="en"))
    assert {"c:where is it", "C:^ where", "a:^ wait a", "A:wait d $"} <= found
    assert "A:wait a" not in found


def test_a_model_adds_up_features_and_known_grams() -> None:
    model = LinearModel("m", 0.0, (("x", 1.0, 2.0, 1.0),), {"a:yes": 2.0, "a:no": -2.0})
    assert model.probability({"x": 1.0}, []) == 0.5
    assert model.probability({"x": 3.0}, []) == pytest.approx(0.7311, abs=1e-4)
    assert model.probability({"x": 99.0}, []) == pytest.approx(0.9526, abs=1e-4)
    assert model.probability({"x": 1.0}, ["a:yes", "a:never"]) > 0.8
    assert model.probability({"x": 1.0}, ["a:yes", "a:no"]) == 0.5


def test_a_rule_judges_where_the_phrases_are_strange() -> None:
    rule = Rule(0.0, (("x", 1.0),), strange=0.5, familiar=0.75)
    model = LinearModel("m", 0.0, (), {"a:yes": 4.0, "a:yes sir": 4.0, "c:well": 1.0}, rule)
    strange = model.probability({"x": -1.0}, ["a:yes", "c:well", "a:yes sir", "c:well then"])
    assert strange == pytest.approx(0.2689, abs=1e-4)
    assert model.probability({"x": -1.0}, ["a:yes", "a:yes sir", "c:what"]) > 0.99


@pytest.mark.parametrize("name", ["resolved", "annoyed"])
def test_a_shipped_model_says_what_it_was_made_from(name) -> None:
    manifest = json.loads((MODELS / "manifest.json").read_text("utf-8"))
    assert manifest["source"]["licence"] == "MIT"
    assert manifest["models"][name]["ngrams"] == len(shipped(name).ngrams)
    assert manifest["models"][name]["dev"]["auc"] > 0.8


def test_the_manifest_tells_of_families_that_were_not_seen() -> None:
    manifest = json.loads((MODELS / "manifest.json").read_text("utf-8"))
    figures = manifest["models"]["resolved"]["unseenFamilies"]
    assert sum(fold["conversations"] for fold in figures["folds"]) == figures["conversations"]
    assert figures["auc"] > 0.8
