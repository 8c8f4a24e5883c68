import json

import pytest

from app.ai.dialogue.cues import find_cues
from app.ai.dialogue.turns import dialogue_of
from app.ai.facts.model_input import grams_of, model_input_of, tokens_of
from app.ai.insights.linear import ConversationModels, tasks_from, words_of
from app.ai.weights import MODELS, PackedRows, model_document
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
    dialogue = dialogue_of(chat(*lines), channel="chat", language="en")
    grams = grams_of(dialogue, {0, 4})
    assert {"c:where is it", "C:^ where", "a:^ wait a", "A:wait d $"} <= grams
    assert "A:wait a" not in grams


def test_courtesies_put_nothing_further_from_the_end() -> None:
    lines = ["The offer ended.", "It failed.", "Anything else?", "It failed again.", "Goodbye."]
    transcript = chat(("c", None, "Where?"), *(("a", None, line) for line in lines))
    dialogue = dialogue_of(transcript, channel="chat", language="en")
    grams = model_input_of(dialogue, find_cues(dialogue)).grams
    assert {"A:it failed", "A:it failed again", "A:^ goodbye $"} <= grams
    assert "A:the offer" not in grams


def document(name: str, ngrams: dict[str, float], **others) -> dict:
    return {
        "name": name, "bias": 0.0, "features": [], "ngrams": ngrams, "rule": None, "tasks": None, **others
    }  # fmt: skip


def test_a_model_adds_up_features_and_known_grams() -> None:
    grams = {"a:yes": 2.0, "a:no": -2.0}
    models = ConversationModels([document("m", grams, features=[["x", 1.0, 2.0, 1.0]])])

    def probability(value: float, grams: list[str]) -> float:
        return models.probabilities({"x": value}, grams)["m"]

    assert probability(1.0, []) == 0.5
    assert probability(3.0, []) == pytest.approx(0.7311, abs=1e-4)
    assert probability(99.0, []) == pytest.approx(0.9526, abs=1e-4)
    assert probability(1.0, ["a:yes", "a:never"]) > 0.8
    assert probability(1.0, ["a:yes", "a:no"]) == 0.5


def test_models_with_one_table_say_what_each_says_alone() -> None:
    documents = [
        document("one", {"a:yes": 1.5, "a:no": -2.0}, **of_tasks({"a:yes": 3.0, "c:taxi": 2.0})),
        document("two", {"a:no": 3.0, "c:why": -0.001}),
        document("three", {"c:why": 4.0}, **of_tasks({"c:why": 1.0})),
    ]
    together = ConversationModels(documents)
    for grams in ([], ["a:yes"], ["a:no", "c:why", "c:taxi"], ["a:yes", "a:no", "c:why", "x:y"]):
        alone = [ConversationModels([item]).probabilities({"x": 1.0}, grams) for item in documents]
        assert together.probabilities({"x": 1.0}, grams) == alone[0] | alone[1] | alone[2]


def of_tasks(rarity: dict[str, float]) -> dict:
    rule = {"bias": 0.0, "weights": {"x": 1.0}, "strange": 0.6, "familiar": 0.8}
    task = {"Was it?": {next(iter(rarity)): rarity[next(iter(rarity))]}}
    return {"rule": rule, "tasks": {"rarity": rarity, "unknown": 3.0, "weights": task}}


def test_likeness_is_that_to_the_nearest_task() -> None:
    rarity = {"c:room": 3.0, "c:taxi": 4.0}
    weights = {"Was there a room?": {"c:room": 3.0}, "Was there a taxi?": {"c:taxi": 4.0}}
    tasks = tasks_from({"rarity": rarity, "unknown": 5.0, "weights": weights})

    def likeness(*grams: str) -> float:
        rows = PackedRows(tasks.rows)
        (sums,) = rows.columns(rows.total(grams))
        return tasks.likeness(len(words_of(grams)), sums)

    assert likeness("c:room") == 1.0
    assert likeness("c:room", "c:taxi") == pytest.approx(0.8)
    # Of grams the words count, of words those that no task knows as well.
    assert likeness("c:room", "c:room please", "C:room") == 1.0
    assert likeness("c:taxi", "c:pizza") == pytest.approx(4 / 41**0.5)
    assert likeness("c:pizza") == likeness() == 0.0


def test_a_rule_judges_what_is_like_no_task_of_the_model() -> None:
    models = ConversationModels(
        [document("m", {"a:yes": 4.0}, **of_tasks({"a:yes": 3.0, "c:taxi": 3.0}))]
    )
    by_rule, by_both, by_model = (
        models.probabilities({"x": -1.0}, ["a:yes", *others])["m"]
        for others in (["c:what", "c:else"], ["c:taxi"], [])
    )
    assert by_rule == pytest.approx(0.2689, abs=1e-4)
    assert by_rule < by_both < by_model
    assert by_model == pytest.approx(0.9820, abs=1e-4)


@pytest.mark.parametrize("name", ["resolved", "annoyed"])
def test_a_shipped_model_says_what_it_was_made_from(name) -> None:
    manifest = json.loads((MODELS / "manifest.json").read_text("utf-8"))
    assert manifest["sources"]["star.jsonl"]["licence"] == "MIT"
    assert manifest["models"][name]["ngrams"] == len(model_document(name)["ngrams"])
    assert manifest["models"][name]["dev"]["auc"] > 0.8


def test_the_manifest_tells_of_families_that_were_not_seen() -> None:
    manifest = json.loads((MODELS / "manifest.json").read_text("utf-8"))
    figures = manifest["models"]["resolved"]["unseenFamilies"]
    assert sum(fold["conversations"] for fold in figures["folds"]) == figures["conversations"]
    assert figures["auc"] > 0.8
