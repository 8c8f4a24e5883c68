"""Conversations that the demo puts together: complete, in order, and the same each time."""

import re
from collections import Counter
from datetime import time

from app.demo import sample_data, stories
from app.imports.formats.records import Kind

CHATS = stories.records(Kind.CONVERSATION)
CALLS = stories.records(Kind.VOICE_CALL)
MOMENT = re.compile(r"\d+ days ago (\d\d:\d\d:\d\d)")


def test_the_demo_has_300_conversations_of_60_days_with_keys_of_their_own() -> None:
    written = sample_data.records(Kind.CONVERSATION) + sample_data.records(Kind.VOICE_CALL)
    assert len(CHATS + CALLS + written) + len(sample_data.records(sample_data.RECORDINGS)) >= 300
    keys = (*stories.external_ids(), *sample_data.external_ids())
    assert len(set(keys)) == len(keys)
    days = {int(record["startedAt"].split()[0]) for record in CHATS}
    assert (min(days), max(days)) == (1, 60)


def test_every_text_is_filled_and_every_message_is_later_than_the_one_before() -> None:
    for chat in CHATS:
        moments = [MOMENT.fullmatch(message["sentAt"]) for message in chat["messages"]]
        times = [time.fromisoformat(moment[1]) for moment in moments if moment]
        assert len(times) == len(moments)
        assert times == sorted(times), chat["externalId"]
        assert not any(re.search(r"[{}]", each["text"]) for each in chat["messages"])
    for call in CALLS:
        ends = [0, *(turn["endMs"] for turn in call["turns"])]
        assert all(turn["startMs"] > end for turn, end in zip(call["turns"], ends, strict=False))


def test_every_way_to_end_occurs_and_most_contacts_are_solved() -> None:
    endings = Counter(chat["disposition"] for chat in CHATS)
    assert endings["solved"] > len(CHATS) / 2
    assert endings["follow-up"] > endings["unresolved"] > 10
    assert {call["outcome"] for call in CALLS} == {"goal_met", "callback", "goal_not_met"}
