"""The prompt: a versioned text, the questions of a scorecard, and a conversation as data."""

import secrets
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any, TypeAlias

import orjson

from app.ai.language_model.excerpt import Excerpt
from app.ai.language_model.questions import Question

PROMPT_FILE = Path(__file__).parent / "prompts" / "judge-2.toml"
ChatMessages: TypeAlias = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Prompt:
    """The texts of one version; each is a template."""

    version: str
    system: Template
    user: Template
    repair: Template


@lru_cache(maxsize=1)
def shipped_prompt() -> Prompt:
    """Read the prompt that this version of the service ships."""
    texts: dict[str, Any] = tomllib.loads(PROMPT_FILE.read_text("utf-8"))
    return Prompt(
        version=texts["version"],
        system=Template(texts["system"].strip()),
        user=Template(texts["user"].strip()),
        repair=Template(texts["repair"].strip()),
    )


def system_text(questions: Sequence[Question]) -> str:
    """Write the instructions; equal for all conversations of a scorecard, so servers may keep it."""
    texts = b"\n".join(orjson.dumps(question.as_json()) for question in questions).decode()
    return shipped_prompt().system.substitute(questions=texts)


def chat_messages(system: str, excerpt: Excerpt) -> ChatMessages:
    """Put the conversation between two random marks, which no message can imitate."""
    mark = f"=== {secrets.token_hex(16)} ==="
    data = shipped_prompt().user.substitute(mark=mark, messages=excerpt.as_json())
    return [{"role": "system", "content": system}, {"role": "user", "content": data}]


def with_repair(messages: ChatMessages, answer: str, problems: Sequence[str]) -> ChatMessages:
    """Show the model its answer and what is wrong with it."""
    repair = shipped_prompt().repair.substitute(
        problems="\n".join(f"- {problem}" for problem in problems)
    )
    return [
        *messages,
        {"role": "assistant", "content": answer},
        {"role": "user", "content": repair},
    ]
