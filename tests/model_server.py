"""An OpenAI-compatible endpoint for tests: it reads the prompt as a model does, and answers by script."""

import json
from collections.abc import Callable
from typing import Any

from app.core.settings import Settings
from tests.receiver import Answer, Receiver, Visit, status

PATH = "/v1/chat/completions"
Prompt = dict[str, Any]


class ModelServer(Receiver):
    """Answers every question with its best answer and a quote, unless it is told otherwise."""

    def __init__(self) -> None:
        super().__init__(tls=False)
        self.answer_with(self.judged())

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def answer_with(self, *answers: Answer) -> None:
        """Set the answers; the last one is repeated."""
        self.script(PATH, *answers)

    @property
    def prompts(self) -> list[Prompt]:
        """Return the requests that came, each as JSON."""
        return [json.loads(each.body) for each in self.received(PATH)]

    def settings(self, **changes: Any) -> dict[str, Any]:
        """Settings of a service that is judged by this server."""
        return {
            "judge": "openai",
            "judge_url": self.base,
            "judge_model": "test-model",
            "judge_api_key": "sk-test-1234567890",
            **changes,
        }

    def judged(
        self,
        change: Callable[[dict[str, Any]], Any] = lambda document: document,
        reading: dict[str, Any] | None = None,
        **answers: dict[str, Any],
    ) -> Answer:
        """Answer as a model would.

        Args:
            reading: what it reads besides the answers; nothing by default.
            change: what becomes of the whole document; a text is sent as it is.
            answers: by the title of a question in lower case, members of its answer.
        """

        def answer(visit: Visit) -> bool:
            prompt = self.prompts[-1]
            if len(prompt["messages"]) < 2:
                return completion("ok")(visit)
            document = change({**best_answers(prompt, answers), **(reading or {})})
            content = document if isinstance(document, str) else json.dumps(document)
            return completion(content)(visit)

        return answer


def completion(content: str, **more: Any) -> Answer:
    """Answer with a chat completion."""
    body = {
        "id": "chatcmpl-1",
        "model": "test-model-2026-11-01",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 300, "total_tokens": 1200},
        **more,
    }
    return status(200, json.dumps(body).encode(), "Content-Type: application/json")


def refusal(code: int, message: str, *headers: str) -> Answer:
    """Answer with an error in the form of the protocol."""
    return status(code, json.dumps({"error": {"message": message}}).encode(), *headers)


def questions_in(prompt: Prompt) -> list[dict[str, Any]]:
    """Read the questions out of the instructions."""
    _, _, asked = prompt["messages"][0]["content"].partition("The questions:\n")
    return [json.loads(line) for line in asked.splitlines()]


def messages_in(prompt: Prompt) -> list[dict[str, Any]]:
    """Read the conversation out of what stands between the marks."""
    lines = prompt["messages"][1]["content"].splitlines()
    assert lines[1] == lines[3]
    found: list[dict[str, Any]] = json.loads(lines[2])
    return found


def best_answers(prompt: Prompt, changes: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Answer each question with the option of the highest score and a true quote."""
    said = next(each for each in messages_in(prompt) if each.get("role") in ("agent", "bot"))
    evidence = [{"message": said["n"], "quote": said["text"][:24], "polarity": "supports"}]
    return {
        "requests": [],
        "feelings": [],
        "rude": [],
        "answers": {
            each["id"]: {
                "evidence": evidence,
                "explanation": f"Because of message {said['n']}.",
                "answer": _best(each),
                "confidence": "high",
                **changes.get(each["title"].lower().replace(" ", "_"), {}),
            }
            for each in questions_in(prompt)
        },
    }


def _best(question: dict[str, Any]) -> str:
    options = [each["answer"] for each in question["answers"]]
    return "yes" if "yes" in options else max(each for each in options if each.isdigit())


def model_settings(server: ModelServer, folder: Any, **changes: Any) -> Settings:
    """Settings for a judge without a service around it."""
    values = {"judge_timeout_s": 30.0, "judge_deadline_s": 60.0, "data_dir": folder, **changes}
    return Settings(**server.settings(**values))
