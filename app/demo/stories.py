"""Conversations of 60 days, put together from parts that are written by hand in `trades.json`.

Each agent has a care for customers that may change within the days; it decides how likely a greeting, a
recap or a solution is, and how long a customer waits. The same number makes the same conversation.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from app.demo import sample_data
from app.imports.formats.records import Kind

_DAYS = 60
_BOT_CALLS = 26
# The hotels are a new client; the provider had an outage, and its agents could do little.
_FIRST_DAY = {"hotel": 35}
_OUTAGE = ("internet", range(19, 25))
_RARE_RECAP = "energy"
_LABELS = {"demo": "true"}
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_WINDOWS = ("nine and twelve", "ten and one", "two and five")
_GIVES_NUMBER = ("It's {number}.", "{number}", "Sure, {number}.", "Yes, one second. {number}.")
_ASKS = ("May I have your {id}, please?", "Could you give me your {id}, please?")
_CURT = ("Hi. Your {id}?", "Hello. What is your {id}?")
_GREETS = (
    "{daytime}, thank you for contacting {brand}, this is {agent}.",
    "Hello and welcome to {brand}! My name is {agent}.",
    "{daytime}, you are chatting with {agent} from {brand}.",
)
_CLOSES = (
    "Thank you for contacting {brand}. Have a nice day, goodbye!",
    "Thank you, and have a lovely day. Goodbye!",
    "Thanks for writing to {brand}. Take care, goodbye!",
)
_NOTHING_ELSE = ("No, that's all, thank you.", "No, thanks {agent}!", "No, that was it. Bye!")
_HEAVY = ("washing machine", "fridge", "sofa", "wardrobe", "dishwasher")
_STARS = {"solved": (4, 5, 5), "passed": (2, 3, 4), "refused": (1, 1, 2)}
_DISPOSITIONS = {"solved": "solved", "passed": "follow-up", "refused": "unresolved"}


@cache
def written() -> dict[str, Any]:
    """Read the parts: records of clients and agents, and the trades with their matters."""
    text = (files("app.demo") / "data" / "trades.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


@cache
def _agents() -> dict[str, dict[str, Any]]:
    known = sample_data.records(Kind.EXECUTIVE) + records(Kind.EXECUTIVE)
    return {record["externalId"]: record for record in known}


def records(kind: str) -> list[dict[str, Any]]:
    """Return the records of a kind, unresolved as those of `sample_data` are."""
    if kind == Kind.CONVERSATION:
        return list(_chats())
    if kind == Kind.VOICE_CALL:
        return [_bot_call(number) for number in range(_BOT_CALLS)]
    return [{**record, "labels": _LABELS} for record in written().get(kind, [])]


@cache
def external_ids() -> tuple[str, ...]:
    return tuple(str(record["externalId"]) for kind in Kind for record in records(kind))


def _chats() -> Iterator[dict[str, Any]]:
    for name, trade in written()["trades"].items():
        for number in range(trade["count"]):
            days_ago = 1 + number * _FIRST_DAY.get(name, _DAYS) // trade["count"]
            yield _Chat(name, trade, number, days_ago).record()


class _Chat:
    """A chat: its matter, its agent, how it ends, and what is said."""

    def __init__(self, name: str, trade: Mapping[str, Any], number: int, days_ago: int) -> None:
        self._trade = trade
        self._key = f"demo-{name}-{number:03}"
        self._random = Random(self._key)  # noqa: S311 - not a secret
        self._days_ago = days_ago
        agent = self._random.choice(list(trade["agents"]))
        self._agent = _agents()[f"demo-exec-{agent}"]
        self._matter = self._random.choice(trade["matters"])
        start, end = trade["agents"][agent]
        self._care: float = (end + (start - end) * days_ago / _DAYS) / 100
        if name == _OUTAGE[0] and days_ago in _OUTAGE[1]:
            self._matter = trade["matters"][0]
            self._care /= 3
        self._recaps = self._care * (0.3 if name == _RARE_RECAP else 1)
        self._ending = self._how_it_ends()
        self._seconds = self._random.randrange(8 * 3600, 20 * 3600)
        self._slots = self._facts()

    def record(self) -> dict[str, Any]:
        messages = [self._message(role, text) for role, text in self._lines()]
        stars = self._random.choice(_STARS[self._ending])
        asked = {"csat": {"score": stars}} if self._random.random() < 0.5 else {}
        return {
            "externalId": self._key,
            "subject": self._matter["subject"],
            "platform": self._trade["platform"],
            "status": "closed",
            "language": "en",
            "engagementId": f"@{self._trade['engagement']}",
            "campaignId": self._trade["campaign"],
            "callCenterId": self._agent["callCenterId"],
            "executiveId": f"@{self._agent['externalId']}",
            "customerRef": f"{self._key}-customer",
            "startedAt": messages[0]["sentAt"],
            "endedAt": messages[-1]["sentAt"],
            "disposition": _DISPOSITIONS[self._ending],
            "tags": [self._matter["tag"]],
            "labels": _LABELS,
            "messages": messages,
            **asked,
        }

    def _how_it_ends(self) -> str:
        if self._random.random() < 0.15 + 0.8 * self._care:
            return "solved"
        return "passed" if self._is_careful() else "refused"

    def _facts(self) -> dict[str, str]:
        pick = self._random
        past, day = pick.sample(_WEEKDAYS, 2)
        hour = self._seconds // 3600
        return {
            "brand": self._trade["brand"],
            "agent": self._agent["name"].split()[0],
            "id": self._trade["id"],
            "number": str(pick.randrange(21000, 98000)),
            "item": pick.choice(self._matter["item"]),
            "past": past,
            "day": day,
            "hour": "noon" if hour < 11 else "five" if hour < 16 else "nine",
            "amount": str(pick.randrange(24, 190)),
            "part": str(pick.randrange(9, 24)),
            "daytime": "Good morning" if hour < 12 else "Hello" if hour < 17 else "Good evening",
        }

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Yield who says what."""
        yield "customer", self._random.choice(self._matter["opens"])
        yield "agent", self._answer()
        yield "customer", self._random.choice(_GIVES_NUMBER)
        first, *others = self._matter[self._ending]
        thanks = "Thank you. " if self._is_careful() else ""
        yield "agent", thanks + first.removeprefix("a: ")
        for line in others:
            yield "agent" if line.startswith("a: ") else "customer", line[3:]
        if self._ending == "refused":
            return
        yield "agent", self._last_question()
        yield "customer", self._random.choice(_NOTHING_ELSE)
        if self._is_careful():
            yield "agent", self._random.choice(_CLOSES)

    def _answer(self) -> str:
        if self._ending == "refused":
            return self._random.choice(_CURT)
        greeting = self._random.choice(_GREETS) if self._is_careful() else "Hi, {agent} here."
        sorry = f" {self._matter['sorry']}" if self._is_careful() else ""
        return f"{greeting}{sorry} {self._random.choice(_ASKS)}"

    def _last_question(self) -> str:
        said = "Anything else?"
        if self._is_careful():
            said = "Is there anything else I can help you with?"
        if self._ending == "solved" and self._random.random() < self._recaps:
            said = f"To recap: {self._matter['recap']}. {said}"
        return f"You're welcome. {said}" if self._ending == "solved" else said

    def _is_careful(self) -> bool:
        return self._random.random() < self._care

    def _message(self, role: str, text: str) -> dict[str, Any]:
        slow = role == "agent" and self._random.random() > 0.5 + self._care / 2
        self._seconds += self._random.randrange(90, 400) if slow else self._random.randrange(12, 55)
        minutes, seconds = divmod(self._seconds, 60)
        sent = f"{self._days_ago} days ago {minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
        author = {"authorName": self._agent["name"]} if role == "agent" else {}
        return {"role": role, "text": _filled(text, self._slots), "sentAt": sent, **author}


def _bot_call(number: int) -> dict[str, Any]:
    """Return the record of a call of the bot, whose newer version understands more."""
    key = f"demo-bot-{number:03}"
    pick = Random(key)  # noqa: S311 - not a secret
    days_ago = 1 + number * _DAYS // _BOT_CALLS
    version, understands = ("2.3", 0.9) if days_ago <= _DAYS // 2 else ("2.2", 0.6)
    *agreed, misunderstood = written()["bot_calls"]
    course = pick.choices(agreed, (3, 3, 1))[0] if pick.random() < understands else misunderstood
    past, day = pick.sample(_WEEKDAYS, 2)
    slots = {"item": pick.choice(_HEAVY), "past": past, "day": day, "window": pick.choice(_WINDOWS)}
    turns: list[dict[str, Any]] = []
    at = 700
    for line in course["turns"]:
        text = _filled(line[3:], slots)
        end = at + 400 + 330 * len(text.split())
        role = "bot" if line.startswith("b: ") else "customer"
        turns.append({"role": role, "startMs": at, "endMs": end, "text": text})
        at = end + pick.randrange(500, 1100 if course in agreed else 3200)
    clock = f"{days_ago} days ago {pick.randrange(9, 19):02}:{pick.randrange(10, 50)}"
    minutes, seconds = divmod(6 + at // 1000, 60)
    return {
        "externalId": key,
        "status": "completed",
        "direction": "outbound",
        "engagementId": "@engagement:bot",
        "campaignId": "@demo-delivery",
        "executiveId": "@demo-exec-nora",
        "botId": "demo-nora",
        "botName": "Nora",
        "botVersion": version,
        "language": "en",
        "fromNumber": "+44 113 496 0100",
        "toNumber": f"+44 7700 900{200 + number}",
        "startedAt": f"{clock}:00",
        "answeredAt": f"{clock}:06",
        "endedAt": f"{clock[:-2]}{int(clock[-2:]) + minutes:02}:{seconds:02}",
        "outcome": course["outcome"],
        "endedBy": course["ended"],
        "endReason": course["reason"],
        "fallbackCount": 0 if course in agreed else 2,
        "transferredToHuman": False,
        "labels": _LABELS,
        "turns": turns,
    }


def _filled(text: str, slots: Mapping[str, str]) -> str:
    said = text.format_map(slots)
    return said if text[0].islower() else said[0].upper() + said[1:]
