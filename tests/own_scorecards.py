"""Scorecards of an author's own, as a caller sends them."""

from typing import Any

from tests.caller import Caller


def says(key: str, *phrases: str, **more: Any) -> dict[str, Any]:
    """A criterion that asks the agent to say each of these."""
    statements = [
        {"key": f"s{n}", "title": each, "anyOf": [each]} for n, each in enumerate(phrases)
    ]
    return {
        "key": key,
        "title": key,
        "section": "own",
        "question": "Is it said?",
        "type": "binary",
        "judge": {"rule": "required_phrases", "parameters": {"statements": statements}},
        **more,
    }


def draft(*criteria: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A scorecard for chats; without criteria, one that every greeting fulfils."""
    return {
        "name": "Ours",
        "channel": "chat",
        "sections": [{"key": "own", "title": "Own"}],
        "criteria": list(criteria) or [says("own.hello", "good morning", weight=100)],
        **fields,
    }


def create(client: Caller, *criteria: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Create a scorecard and return it."""
    answer = client.post("/scorecards", draft(*criteria, **fields))
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["data"])


def add_version(
    client: Caller, scorecard_id: str, *criteria: dict[str, Any], **fields: Any
) -> dict[str, Any]:
    """Add a version and return it."""
    answer = client.post(f"/scorecards/{scorecard_id}/versions", draft(*criteria, **fields))
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["data"])
