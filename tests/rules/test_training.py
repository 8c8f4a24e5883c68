"""Training of the shipped models, on a few conversations: what it writes, and that it repeats."""

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from app.judge.acts.catalogue import Act
from app.judge.acts.classifier import classifier_from
from app.judge.acts.features import Heard
from app.judge.acts.reading import Readers, read_lines
from app.judge.context import Context
from app.judge.facts.conversation_facts import facts_of
from app.judge.insights.telling import OUTCOME, telling_model_from
from app.judge.ledger.opinion import opinion_model_from
from app.judge.scorecard.values import scorecard_from
from app.judge.weights import MODELS
from app.scorecards.default_scorecards import document_of
from training.__main__ import main
from training.acts.labelled import ANSWERED, LABELLED
from training.acts.opinion import ANSWERS
from training.examples import transcript_of
from training.measures import area_under_curve
from training.trainer import train

PARCELS = ("parcel", "letter", "refund", "card", "router", "ticket")


def conversation(number: int, *, well: bool) -> dict:
    what = PARCELS[number % len(PARCELS)]
    lines = [
        ["c", f"Where is my {what}?", ["request", "ask"]],
        ["a", "One moment, I am looking it up.", ["doing"]],
        *(
            [["a", f"I have sent your {what} again.", ["done"]], ["c", "It works now!", ["solved"]]]
            if well
            else [["a", "I do not find it.", ["cannot"]], ["c", "That is a shame.", ["angry"]]]
        ),
        ["a", "Goodbye!", ["close"]],
    ]
    rating = 5 if well else 1
    return {
        "id": f"made-{number}",
        "source": "own",
        "trade": "post",
        "channel": "chat",
        "reader": "r0",
        "outcome": {
            "status": "resolved" if well else "unresolved",
            **dict.fromkeys(("satisfaction", "effectiveness", "manner"), rating),
        },
        "lines": lines,
    }


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [conversation(number, well=number % 4 < 2) for number in range(40)]
    file = tmp_path_factory.mktemp("labels") / "acts.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return file


@pytest.fixture(scope="module")
def answered(labelled: Path) -> Path:
    """Every question has each of its answers somewhere."""
    rows = [
        {
            "id": f"made-{number}",
            "answers": {name: given[number // 2 % len(given)] for name, given in ANSWERS.items()},
        }
        for number in range(40)
    ]
    file = labelled.with_name("answers.jsonl.gz")
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return file


@pytest.fixture(scope="module")
def quoted(labelled: Path) -> Path:
    """The third line, where something was done or failed, tells the outcome of each."""
    rows = []
    for number in range(20):
        row = conversation(number, well=number % 2 == 0)
        told, pending = ([[place, row["lines"][place][1]]] for place in (2, number % 2 + 1))
        rows.append({**row, "told": told, "open": pending})
    file = labelled.with_name("quoted.jsonl.gz")
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return file


@pytest.fixture(scope="module")
def models(
    labelled: Path, answered: Path, quoted: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    into = tmp_path_factory.mktemp("models")
    train(into, labelled=labelled, answered=answered, quoted=quoted)
    return into


@pytest.mark.nightly("trains twice")
def test_training_repeats_to_the_byte_and_names_what_it_was_made_from(
    labelled: Path, answered: Path, quoted: Path, models: Path, tmp_path: Path
) -> None:
    manifest = train(tmp_path, labelled=labelled, answered=answered, quoted=quoted)
    names = ["acts-customer.json", "acts-service.json", "agent-voice.json", "opinion.json"]
    names.append("telling.json")
    assert sorted(manifest["models"]) == names
    assert manifest["trainedOn"]["acts.jsonl.gz"]["conversations"] == 40
    for name in (*names, "manifest.json"):
        assert (tmp_path / name).read_bytes() == (models / name).read_bytes()


def test_the_written_models_know_what_they_were_fitted_to(models: Path) -> None:
    customer, service = (
        classifier_from(json.loads((models / f"acts-{side}.json").read_bytes()))
        for side in ("customer", "service")
    )
    readers = Readers(customer, service)
    found = {}
    for well in (True, False):
        talk = conversation(3, well=well)
        heard = [Heard(side == "c", text) for side, text, _ in talk["lines"]]
        acts = [marks for marks, _, _ in read_lines(heard, readers)]
        for marks, (_, _, given) in zip(acts, talk["lines"], strict=True):
            assert all(marks[Act(act)].probability > 0.5 for act in given)
        found[well] = acts
    assert found[True][2][Act.DONE].probability > 0.5 > found[True][2][Act.CANNOT].probability


def test_the_written_opinion_agrees_with_what_readers_answered(models: Path) -> None:
    model = opinion_model_from(json.loads((models / "opinion.json").read_bytes()))
    opinion = model.opinion({name: mean for name, (mean, _) in model.scales.items()})
    for question in model.questions:
        likely = opinion.of(question, "none")
        assert sum(likely.values()) == pytest.approx(1)
    good, bad = (opinion.of("status", own) for own in ("resolved", "unresolved"))
    assert good["resolved"] > bad["resolved"]
    means = {name: mean for name, (mean, _) in model.scales.items()}
    done, failed = (
        model.opinion({**means, f"end.{own}": 1.0, f"end.{other}": 0.0})
        for own, other in (("done", "failed"), ("failed", "done"))
    )
    assert 1 < failed.rating("satisfaction") < done.rating("satisfaction") < 5


def test_the_manifest_of_the_package_names_its_models_and_labels() -> None:
    manifest = json.loads((MODELS / "manifest.json").read_bytes())
    for name, told in manifest["models"].items():
        content = (MODELS / name).read_bytes()
        assert told == {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    for file in (LABELLED, ANSWERED):
        labels = hashlib.sha256(file.read_bytes()).hexdigest()
        assert manifest["trainedOn"][file.name]["sha256"] == labels
    assert sum(file.stat().st_size for file in MODELS.iterdir()) < 30_000_000


def test_the_command_explains_itself() -> None:
    help_text = CliRunner().invoke(main, ["--help"]).output
    assert "training/data" in help_text
    assert "--encoder-base" in help_text


def test_the_area_under_the_curve_counts_ties_half() -> None:
    labels = np.array([0.0, 1.0, 0.0, 1.0])
    assert area_under_curve(np.array([1.0, 2.0, 3.0, 4.0]), labels) == 0.75
    assert area_under_curve(np.ones(4), labels) == 0.5
    assert area_under_curve(np.ones(4), np.ones(4)) is None


def test_the_written_model_quotes_the_line_that_tells_the_outcome(models: Path) -> None:
    model = telling_model_from(json.loads((models / "telling.json").read_bytes()))
    talk = conversation(3, well=True)
    roles = {"c": "customer", "a": "agent"}
    transcript = transcript_of([{"role": roles[s], "text": text} for s, text, _ in talk["lines"]])
    facts = facts_of(transcript, scorecard_from(document_of("chat")), Context())
    best, *others = model.quotable(facts, "resolved", None, OUTCOME)
    assert best.quote == "I have sent your card again."
    assert all(best.likely > 0.5 > other.likely for other in others)
