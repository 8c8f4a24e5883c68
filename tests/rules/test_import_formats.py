"""Import formats: the records of each, and that no content raises an exception."""

import io
import json
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.imports.formats.catalogue import FORMATS, READERS, detect_format
from app.imports.formats.guesses import guess_fields
from app.imports.formats.html_text import text_of_html
from app.imports.formats.lines import MAX_LINE_BYTES
from app.imports.formats.records import BadLine, Fault, NativeRecord, ReaderOptions
from tests.sampling import examples

PEOPLE = {"Alice": "agent", "Bob": "customer"}


def read(
    name: str, content: str | bytes, *, roles: dict[str, str] | None = None, **told: Any
) -> list[NativeRecord | BadLine]:
    data = content.encode() if isinstance(content, str) else content
    return list(READERS[name](io.BytesIO(data), ReaderOptions(roles or {}, **told)))


def items(*records: NativeRecord | BadLine) -> list[NativeRecord]:
    assert not [record for record in records if isinstance(record, BadLine)], records
    return [record for record in records if isinstance(record, NativeRecord)]


def bad(records: list[NativeRecord | BadLine]) -> list[tuple[int, str]]:
    return [(record.line, str(record.code)) for record in records if isinstance(record, BadLine)]


def said(item: NativeRecord) -> list[tuple[str, str]]:
    spoken = item.fields.get("turns") or item.fields["messages"]
    return [(message["role"], message["text"]) for message in spoken]


# Native


def test_native_records_are_unchanged() -> None:
    lines = [
        {"externalId": "a", "messages": [{"role": "agent", "text": "Hi"}]},
        {"kind": "campaign", "externalId": "b", "name": "Spring"},
    ]
    records = items(*read("native", "\n".join(json.dumps(line) for line in lines)))
    assert [(record.line, record.kind) for record in records] == [
        (1, "conversation"),
        (2, "campaign"),
    ]
    assert records[0].fields == lines[0]
    assert "kind" not in records[1].fields


def test_native_roles_are_replaced_only_if_the_caller_maps_them() -> None:
    line = json.dumps({"externalId": "a", "messages": [{"role": "Rep", "text": "Hi"}]})
    assert said(items(*read("native", line, roles={"rep": "agent"}))[0]) == [("agent", "Hi")]
    assert said(items(*read("native", line))[0]) == [("Rep", "Hi")]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"externalId": "a"', "MALFORMED"),
        (b"[]", "MALFORMED"),
        (b'{"a": 1, "a": 2}', "MALFORMED"),
        (b'{"a": NaN}', "MALFORMED"),
        (b'{"a": "\\ud800"}', "MALFORMED"),
        (b'{"a": "\\u0000"}', "MALFORMED"),
        (b'{"a": ' + b"9" * 30 + b"}", "MALFORMED"),
        (b"[" * 100_000, "MALFORMED"),
        (b'{"a": "caf\xe9"}', "NOT_UTF8"),
        ('{"a": "x"}'.encode("utf-16"), "NOT_UTF8"),
        (b'{"kind": "party"}', "UNKNOWN_KIND"),
        (b'{"kind": ["campaign"]}', "UNKNOWN_KIND"),
    ],
)
def test_an_unreadable_line_is_reported_and_the_others_are_read(line: bytes, code: str) -> None:
    records = read("native", b'{"externalId": "1"}\r\n' + line + b'\r\n\r\n{"externalId": "4"}')
    told = [problem for problem in bad(records) if problem[1] == code]
    assert told
    assert told[0][0] == 2
    assert [
        record.fields["externalId"] for record in records if isinstance(record, NativeRecord)
    ] == [
        "1",
        "4",
    ]


def test_a_byte_order_mark_is_allowed_only_at_the_start_of_the_file() -> None:
    mark = b"\xef\xbb\xbf"
    records = read("native", mark + b'{"externalId": "1"}\n' + mark + b'{"externalId": "2"}')
    assert bad(records) == [(2, "MALFORMED")]


class Endless(io.RawIOBase):
    """One line of many megabytes, and a good one after it."""

    def __init__(self, megabytes: int) -> None:
        self._left = megabytes
        self._lines = [b'{"externalId": "after"}\n', b"\n"]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._left:
            self._left -= 1
            part = b"x" * min(len(buffer), 1 << 20)
        else:
            part = self._lines.pop() if self._lines else b""
        buffer[: len(part)] = part
        return len(part)


def test_a_line_of_fifty_megabytes_is_refused_without_holding_it() -> None:
    tracemalloc.start()
    records = list(READERS["native"](io.BufferedReader(Endless(50), 1 << 20), ReaderOptions()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bad(records) == [(1, "TOO_LONG")]
    assert [record.fields for record in records if isinstance(record, NativeRecord)] == [
        {"externalId": "after"}
    ]
    assert peak < 3 * MAX_LINE_BYTES


# Chat completions


def test_chat_completions_become_conversations() -> None:
    line = {
        "id": "chat-7",
        "messages": [
            {"role": "system", "content": "You are helpful."},
            {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "image_url"}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
            {"role": "tool", "content": "{}", "tool_call_id": "1"},
            {"role": "assistant", "content": "Hi!", "name": "Ada"},
        ],
    }
    [item] = items(*read("openai", json.dumps(line)))
    assert item.fields["externalId"] == "chat-7"
    assert said(item) == [
        ("system", "You are helpful."),
        ("customer", "Hello"),
        ("system", "{}"),
        ("bot", "Hi!"),
    ]
    assert [message.get("internal", False) for message in item.fields["messages"]] == [
        True,
        False,
        True,
        False,
    ]
    person = items(*read("openai", json.dumps(line), roles={"assistant": "agent"}))[0]
    assert said(person)[-1] == ("agent", "Hi!")


def test_without_an_id_the_key_depends_only_on_the_messages() -> None:
    line = json.dumps({"messages": [{"role": "user", "content": "Hello"}]})
    ids = {items(*read("openai", line))[0].fields["externalId"] for _ in range(2)}
    other = items(*read("openai", line.replace("Hello", "Bye")))[0].fields["externalId"]
    assert len(ids) == 1
    assert other not in ids


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([{"role": "wizard", "content": "Hi"}], "UNKNOWN_ROLE"),
        ([{"content": "Hi"}], "UNKNOWN_ROLE"),
        ([{"role": "user", "content": 5}], "MALFORMED"),
        ("Hi", "MALFORMED"),
        (["Hi"], "MALFORMED"),
        ([], "NO_MESSAGES"),
        ([{"role": "user", "content": "x"}] * 10_001, "TOO_LONG"),
    ],
)
def test_malformed_chat_completions_are_reported(messages: Any, code: str) -> None:
    assert bad(read("openai", json.dumps({"messages": messages}))) == [(1, code)]


# CSV

HEADER = "conversation_id,Role,text,sent at,campaign,tags,label.region\n"


def test_csv_rows_become_conversations() -> None:
    records = items(
        *read(
            "csv",
            HEADER
            + 'c1,customer,"Hello, ""you""\nthere",2026-01-02T03:04:05Z,Spring,a|b,north\n'
            + "c1,Agent,Hi,,,,\n\n"
            + "c2,bot,Beep,,,,\r\n",
        )
    )
    assert [record.line for record in records] == [2, 6]
    assert records[0].fields == {
        "externalId": "c1",
        "campaign": "Spring",
        "tags": ["a", "b"],
        "labels": {"region": "north"},
        "messages": [
            {
                "role": "customer",
                "text": 'Hello, "you"\nthere',
                "sentAt": "2026-01-02T03:04:05Z",
            },
            {"role": "agent", "text": "Hi"},
        ],
    }
    assert said(records[1]) == [("bot", "Beep")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected_in_the_header(delimiter: str) -> None:
    rows = ["externalId speaker text", "c1 Alice Hi", "c1 Bob Hello"]
    content = "\ufeff" + "\n".join(row.replace(" ", delimiter) for row in rows)
    [item] = items(*read("csv", content, roles=PEOPLE))
    assert said(item) == [("agent", "Hi"), ("customer", "Hello")]
    assert [message["authorName"] for message in item.fields["messages"]] == ["Alice", "Bob"]
    assert detect_format(content.encode()) == "csv"


def test_columns_of_another_system_are_mapped() -> None:
    [item] = items(
        *read(
            "csv",
            "Ticket;Who;Body;When;Queue\nc1;agent;Hi;2026-07-01 09:30:00;night\n",
            columns={"ticket": "externalId", "Who": "role", "Body": "text", "When": "sent_at"}
            | {"Queue": "label.queue"},
            timezone="Europe/London",
        )
    )
    assert item.fields["labels"] == {"queue": "night"}
    assert item.fields["messages"] == [
        {"role": "agent", "text": "Hi", "sentAt": "2026-07-01T09:30:00+01:00"}
    ]


def test_columns_of_ticket_systems_are_read() -> None:
    [ticket, chat] = items(
        *read(
            "csv",
            "ticket_id,author_role,html_body,public,created_at\n"
            "7,end-user,<p>Hello &amp; help</p>,true,2026-07-01T09:30:00Z\n"
            "7,agent,<p>He is rude</p>,false,2026-07-01 09:31:00 UTC\n"
            "7,Admin,<div>One<br>two</div><div>three</div>,TRUE,1782898260\n"
            "8,user,Hi,,1782898260123\n"
            "8,agent,Hi!,public,2026-07-01 09:31:00+02:00\n",
            columns={"ticket_id": "externalId", "author_role": "role"}
            | {"html_body": "html", "created_at": "sentAt"},
        )
    )
    assert ticket.fields["messages"] == [
        {
            "role": "customer",
            "text": "Hello & help",
            "sentAt": "2026-07-01T09:30:00Z",
            "internal": False,
        },
        {
            "role": "agent",
            "text": "He is rude",
            "sentAt": "2026-07-01T09:31:00+00:00",
            "internal": True,
        },
        {
            "role": "agent",
            "text": "One\ntwo\nthree",
            "sentAt": "2026-07-01T09:31:00+00:00",
            "internal": False,
        },
    ]
    # What does not say that it is public is not judged.
    assert [message["internal"] for message in chat.fields["messages"]] == [True, False]
    assert chat.fields["messages"][0]["sentAt"] == "2026-07-01T09:31:00.123000+00:00"
    assert chat.fields["messages"][1]["sentAt"] == "2026-07-01T09:31:00+02:00"


def test_comments_of_zendesk_are_read_by_its_preset() -> None:
    [ticket] = items(
        *read(
            "csv",
            "id,type,ticket_id,author_id,author_role,author_name,body,html_body,plain_body,public,"
            "created_at,via\n"
            "1,Comment,35,9,end-user,Ann,Help!,<p>Help!</p>,Help!,true,2026-07-01T09:30:00Z,web\n"
            "2,Comment,35,8,agent,Bo,Rude.,<p>Rude.</p>,Rude.,false,2026-07-01T09:31:00Z,web\n"
            "3,Comment,35,8,admin,Bo,Sure.,<p>Sure.</p>,,true,2026-07-01T09:32:00Z,web\n",
            preset="zendesk",
        )
    )
    assert ticket.fields["externalId"] == "35"
    assert said(ticket) == [("customer", "Help!"), ("agent", "Rude."), ("agent", "Sure.")]
    assert [message["internal"] for message in ticket.fields["messages"]] == [False, True, False]


def test_conversations_of_freshdesk_are_read_by_its_preset() -> None:
    [ticket] = items(
        *read(
            "csv",
            "id,ticket_id,body,body_text,incoming,private,user_id,created_at,updated_at,source\n"
            '1,20,"<p>Help</p><div class=""freshdesk_quote"">Old</div>",Help Old,true,false,9,'
            "2015-08-24T11:59:05Z,2015-08-24T11:59:05Z,0\n"
            "2,20,<p>Rude</p>,Rude,false,true,1,2015-08-24T12:59:05Z,2015-08-24T12:59:05Z,2\n",
            preset="freshdesk",
        )
    )
    assert said(ticket) == [("customer", "Help"), ("agent", "Rude")]
    assert [message["internal"] for message in ticket.fields["messages"]] == [False, True]


def test_messages_of_twilio_and_genesys_are_read_by_their_presets() -> None:
    [chat] = items(
        *read(
            "csv",
            "sid,conversation_sid,body,author,index,participant_sid,date_created,attributes,url\n"
            "IM1,CH1,Hi,+49123,0,MB1,2015-12-16T22:18:37Z,{},x\n"
            "IM2,CH1,Hello,ann,1,MB2,2015-12-16T22:19:37Z,{},x\n",
            preset="twilio",
            roles={"+49123": "customer", "ann": "agent"},
        )
    )
    assert said(chat) == [("customer", "Hi"), ("agent", "Hello")]
    [chat] = items(
        *read(
            "csv",
            "conversationId,id,participantPurpose,fromUser.name,messageText,timestamp\n"
            "c1,1,customer,,Hi,2024-01-15T10:00:00.000Z\n"
            "c1,2,acd,,Please wait,2024-01-15T10:00:05.000Z\n"
            "c1,3,user,Ann,Hello,2024-01-15T10:00:10.000Z\n",
            preset="genesys",
        )
    )
    assert said(chat) == [("customer", "Hi"), ("bot", "Please wait"), ("agent", "Hello")]


def test_parts_of_intercom_are_read_by_its_preset() -> None:
    content = (
        "type;conversation_id;id;part_type;body;created_at;author.type;author.name;Team\n"
        "conversation_part;7;1;comment;<p>Hi Jane</p>;1782898260;user;Ann;night\n"
        "conversation_part;7;2;assignment;;1782898265;bot;Fin;night\n"
        "conversation_part;7;3;note;<p>VIP</p>;1782898270;admin;Bo;night\n"
        "conversation_part;7;4;comment;<p>It is done.</p>;1782898280;admin;Bo;night\n"
    )
    [chat] = items(*read("csv", content, preset="intercom", columns={"Team": "label.team"}))
    assert said(chat) == [("customer", "Hi Jane"), ("agent", "VIP"), ("agent", "It is done.")]
    assert [message["internal"] for message in chat.fields["messages"]] == [False, True, False]
    assert chat.fields["labels"] == {"team": "night"}
    assert chat.fields["messages"][0]["sentAt"] == "2026-07-01T09:31:00+00:00"
    # A column that neither the preset nor the caller knows is still named.
    [refused] = read("csv", content, preset="intercom")
    assert isinstance(refused, BadLine)
    assert refused.message == "Unknown columns: 'Team'."


@pytest.mark.parametrize(
    ("cells", "is_internal"),
    [
        ("internal\nnote", True),
        ("internal\ncomment", False),
        ("internal\nprivate", True),
        ("internal\n1", True),
        ("public\n0", True),
        ("public\ninternal", True),
        ("public\nreply", False),
        ("public\nyes", False),
    ],
)
def test_private_notes_are_recognised(cells: str, is_internal: bool) -> None:
    name, cell = cells.split()
    [item] = items(*read("csv", f"conversation_id,role,text,{name}\nc1,agent,Hi,{cell}\n"))
    assert item.fields["messages"][0]["internal"] is is_internal


def test_a_column_is_not_mapped_to_the_opposite_of_its_name() -> None:
    content = "conversation_id,role,text,Public\nc1,agent,Hi,true\n"
    [refused] = read("csv", content, columns={"Public": "internal"})
    assert isinstance(refused, BadLine)
    assert refused.message == ("The column 'Public' says the opposite of internal: do not map it.")
    [refused] = read("csv", content.replace("true", "perhaps"))
    assert isinstance(refused, BadLine)
    assert refused.message == "public must be true or false, or a word such as public or note."


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One</p><p>Two &lt;3</p>", "One\n\nTwo <3"),
        ("<b>Buy</b> now:<ul><li>Milk</li><li>Tea</li></ul>", "Buy now:\n\nMilk\nTea"),
        ("Yes.<blockquote type=cite><p>Is it?<p>Really?</blockquote> Thanks.", "Yes.\n\nThanks."),
        ('<div>Hi</div><div class="gmail_quote"><div>Old</div></div>', "Hi"),
        ('Hi<div id="Signature">Ann, Sales</div>', "Hi"),
        ("<div>Fine.</div><div>On Monday, Ann wrote:</div><div>&gt; Is it fine?</div>", "Fine."),
        ("<p>Bye</p><p>-- <br>Ann</p>", "Bye"),
        ("<style>p {}</style><script>alert(1)</script>Hi<!-- no -->", "Hi"),
        ("plain & simple", "plain & simple"),
        ("<blockquote>Only this", ""),
        ("On Monday, Ann wrote:", "On Monday, Ann wrote:"),
        ("<td>a</td><td>b</td>", "a b"),
    ],
)
def test_html_becomes_text(html: str, text: str) -> None:
    assert text_of_html(html) == text


@given(st.text(alphabet="<>/bp&; \n\"'!-a", max_size=200))
def test_any_html_is_read(html: str) -> None:
    assert isinstance(text_of_html(html), str)


def test_a_missing_column_is_named() -> None:
    [refused] = read(
        "csv", "Ticket,role,Body\n", columns={"Ticket": "externalId", "Body": "ignore"}
    )
    assert isinstance(refused, BadLine)
    assert refused.message == "No column is text or html."


def test_dates_of_mail_are_times() -> None:
    content = 'conversation_id,role,text,sent_at\nc1,agent,Hi,"Tue, 24 Aug 2010 09:16:00 +0000"\n'
    [item] = items(*read("csv", content))
    assert item.fields["messages"][0]["sentAt"] == "2010-08-24T09:16:00+00:00"


@pytest.mark.parametrize(
    ("header", "rows", "fields"),
    [
        (
            "Ticket ID,From,Content,Created,Agent Name,Queue",
            [
                "7,customer,<p>Hi</p>,2026-07-01 09:30,,night",
                "7,rep,<p>Yes</p>,2026-07-01 09:31,Bo,x",
            ],
            {
                "Ticket ID": "externalId",
                "From": "role",
                "Content": "html",
                "Agent Name": "authorName",
            }
            | {"Created": "sentAt", "Queue": "campaign"},
        ),
        (
            "A,B,C,D",
            [
                "7,end-user,I need help.,1782898260",
                "7,admin,Of course you do.,1782898270",
                "8,end-user,It is broken.,1782898280",
            ],
            {"A": "externalId", "B": "role", "C": "text", "D": "sentAt"},
        ),
        (
            "id,message,extra",
            ["1,Hi there,", "2,Ho there,"],
            {"id": "externalId", "message": "text"},
        ),
    ],
)
def test_fields_of_columns_are_guessed(
    header: str, rows: list[str], fields: dict[str, str]
) -> None:
    cells = [row.split(",") for row in rows]
    assert guess_fields(header.split(","), cells, {}) == fields
    given = {header.split(",")[0]: "ignore"}
    assert guess_fields(header.split(","), cells, given)[header.split(",")[0]] == "ignore"


def test_all_wrong_columns_are_named_at_once() -> None:
    [refused] = read(
        "csv",
        "conversation_id,role,text,message,Queue,Mood\n",
        columns={"Mood": "feeling", "Team": "campaign"},
    )
    assert isinstance(refused, BadLine)
    assert refused.message == (
        "Unknown columns: 'Queue'. More than one column of the same field: 'text', 'message'. "
        "Mapped columns that the file does not have: 'Team'. "
        "Unknown fields in the mapping: 'feeling'."
    )


@pytest.mark.parametrize(
    ("row", "line", "code"),
    [
        ("c2,wizard,Hi,,,,", 3, "UNKNOWN_ROLE"),
        ("c2,agent,,,,,", 3, "VALIDATION_ERROR"),
        ("c2,agent,Hi", 3, "MALFORMED"),
        ("c2,agent,Hi, and more,,,,", 3, "MALFORMED"),
        ('c2,agent,"Hi"there,,,,', 3, "MALFORMED"),
        ("c2,agent,Hi,,Spring,,\nc2,customer,Hi,,Autumn,,", 4, "VALIDATION_ERROR"),
    ],
)
def test_an_invalid_row_refuses_only_its_conversation(row: str, line: int, code: str) -> None:
    records = read("csv", f"{HEADER}c1,agent,Hi,,,,\n{row}\nc3,agent,Hi,,,,\n")
    assert bad(records) == [(line, code)]
    taken = [record.fields["externalId"] for record in records if isinstance(record, NativeRecord)]
    assert taken == ["c1", "c3"]


def test_a_row_without_a_conversation_refuses_the_one_before() -> None:
    records = read("csv", f"{HEADER}c1,agent,Hi,,,,\n,agent,Hi,,,,\nc3,agent,Hi,,,,\n")
    assert bad(records) == [(3, "VALIDATION_ERROR")]
    [taken] = [record for record in records if isinstance(record, NativeRecord)]
    assert taken.external_id == "c3"


@pytest.mark.parametrize("rest", ["how are you?", "a,b,c,d,e,f,g,h"])
def test_an_unquoted_line_break_refuses_the_whole_conversation(rest: str) -> None:
    rows = (
        "c1,agent,Hi,,,,\nc1,agent,Hello,,,,\n" + rest + "\nc1,customer,Hi,,,,\nc3,agent,Hi,,,,\n"
    )
    records = read("csv", HEADER + rows)
    assert bad(records) == [(4, "MALFORMED")]
    taken = [record.fields["externalId"] for record in records if isinstance(record, NativeRecord)]
    assert taken == ["c3"]


@pytest.mark.parametrize(
    "row",
    [
        "c2,agent,Hi",
        'c2,agent,"Hi"there,,,,',
        'c2,agent,"Hi\nthere"x,,,,',
        "c2,agent,caf\udce9,,,,",
    ],
)
def test_an_unreadable_first_row_refuses_its_own_conversation(row: str) -> None:
    rows = f"{HEADER}c1,agent,Hi,,,,\n{row}\nc2,customer,Hi,,,,\nc3,agent,Hi,,,,\n"
    records = read("csv", rows.encode(errors="surrogateescape"))
    taken = [record.fields["externalId"] for record in records if isinstance(record, NativeRecord)]
    assert taken == ["c1", "c3"]


@pytest.mark.parametrize(
    ("sent_at", "expected"),
    [
        ("2026-03-29 00:59:59", "2026-03-29T00:59:59+00:00"),
        ("2026-03-29 01:30:00", None),
        ("2026-03-29 02:00:00", "2026-03-29T02:00:00+01:00"),
        ("2026-03-29 01:30:00Z", "2026-03-29T01:30:00+00:00"),
        ("2026-10-25 01:30:00", "2026-10-25T01:30:00+01:00"),
        ("0001-01-01 00:00:00", "0001-01-01T00:00:00-00:01:15"),
    ],
)
def test_a_time_that_clocks_skip_is_refused(sent_at: str, expected: str | None) -> None:
    content = f"conversation_id,role,text,sent_at\nc1,agent,Hi,{sent_at}\n"
    [record] = read("csv", content, timezone="Europe/London")
    if expected is None:
        assert bad([record]) == [(2, "VALIDATION_ERROR")]
    else:
        [item] = items(record)
        assert item.fields["messages"][0]["sentAt"] == expected


def test_an_unclosed_quote_is_reported() -> None:
    records = read("csv", f'{HEADER}c1,agent,"Hi,,,,\n' + "c2,agent,Hi,,,,\n" * 3)
    assert (2, "MALFORMED") in bad(records)


def test_a_row_in_another_encoding_is_reported() -> None:
    data = f"{HEADER}c1,agent,Hi,,,,\nc2,agent,caf".encode() + b"\xe9,,,,\nc3,agent,Hi,,,,\n"
    records = read("csv", data)
    assert bad(records) == [(3, "NOT_UTF8")]
    assert [
        record.fields["externalId"] for record in records if isinstance(record, NativeRecord)
    ] == ["c1", "c3"]


@pytest.mark.parametrize(
    "header",
    ["", "a,b,c\n", "conversation_id,role\n", "conversation_id,role,text,campain\n", "x\n"],
)
def test_an_invalid_header_is_reported_once(header: str) -> None:
    assert bad(read("csv", header + "c1,agent,Hi,x\n")) == [(1, "COLUMNS")]


# WebVTT and SRT

VTT = """WEBVTT - a call

NOTE nobody reads
this

STYLE
::cue { color: red }

1
00:01.000 --> 00:02.500 align:start
<v Alice>Good <b>morning</b> &amp; welcome

00:00:03.000 --> 00:00:05.000
<v.loud Bob>Hello</v><v Alice>Yes?
"""


def test_webvtt_voice_tags_become_turns() -> None:
    [item] = items(*read("vtt", VTT, roles=PEOPLE, external_id="call-1"))
    assert item.kind == "voice_call"
    assert item.fields == {
        "externalId": "call-1",
        "status": "completed",
        "turns": [
            {"role": "agent", "text": "Good morning & welcome", "startMs": 1000, "endMs": 2500},
            {"role": "customer", "text": "Hello", "startMs": 3000, "endMs": None},
            {"role": "agent", "text": "Yes?", "startMs": None, "endMs": 5000},
        ],
    }


def test_in_a_chat_the_offsets_go_into_the_metadata() -> None:
    [item] = items(*read("vtt", VTT, roles=PEOPLE, channel="chat"))
    assert item.kind == "conversation"
    first = item.fields["messages"][0]
    assert first["metadata"] == {"startMs": 1000, "endMs": 2500}
    assert "sentAt" not in first
    assert first["authorName"] == "Alice"


SRT = """1
00:00:01,000 --> 00:00:02,500
Alice: Good <i>morning</i>
and welcome

2
00:00:03,000 --> 00:00:05,000 X1:1 X2:2
- [Bob] Hello at 12:30
- Alice: Yes?
"""


def test_srt_prefixes_become_turns() -> None:
    [item] = items(*read("srt", SRT.replace("\n", "\r\n"), roles=PEOPLE))
    assert item.fields["turns"] == [
        {"role": "agent", "text": "Good morning and welcome", "startMs": 1000, "endMs": 2500},
        {"role": "customer", "text": "Hello at 12:30", "startMs": 3000, "endMs": None},
        {"role": "agent", "text": "Yes?", "startMs": None, "endMs": 5000},
    ]


# More digits than Python reads as a number.
REFERENCE = f"&#{'1' * 5_000};"


@pytest.mark.parametrize(
    ("name", "content", "line", "code"),
    [
        ("vtt", VTT, 11, "UNKNOWN_ROLE"),
        ("vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nHi", 4, "UNKNOWN_ROLE"),
        ("vtt", "WEBVTT\n\n00:02.000 --> 00:01.000\n<v agent>Hi", 3, "VALIDATION_ERROR"),
        ("vtt", "WEBVTT\n\n00:02.000 --> \n<v agent>Hi", 3, "MALFORMED"),
        ("vtt", "WEBVTT\n\n<v agent>Hi", 3, "MALFORMED"),
        ("vtt", "WEBVTTX\n\n", 1, "MALFORMED"),
        ("vtt", "", 1, "MALFORMED"),
        ("vtt", "WEBVTT\n", 1, "NO_MESSAGES"),
        ("vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v agent>caf\xe9", 4, "NOT_UTF8"),
        ("vtt", "WEBVTT".encode("utf-16"), 1, "NOT_UTF8"),
        ("vtt", f"WEBVTT\n\n00:01.000 --> 00:02.000\n<v agent>Hi {REFERENCE}", 4, "MALFORMED"),
        ("vtt", f"WEBVTT\n\n00:01.000 --> 00:02.000\n<v {REFERENCE}>Hi", 4, "MALFORMED"),
        ("srt", f"1\n00:00:01,000 --> 00:00:02,000\nagent: {REFERENCE}", 3, "MALFORMED"),
        ("srt", SRT, 3, "UNKNOWN_ROLE"),
        ("srt", "1\n00:00:01,000 --> 00:00:02,000\nHi", 3, "UNKNOWN_ROLE"),
        ("srt", "1\n00:00:02,000 --> 00:00:01,000\nagent: Hi", 2, "VALIDATION_ERROR"),
        ("srt", "agent: Hi", 1, "MALFORMED"),
        ("srt", "1\n-1:00:02,000 --> 00:00:01,000\nagent: Hi", 2, "MALFORMED"),
        ("srt", "", 1, "NO_MESSAGES"),
        ("srt", "1\n" * 1000, 1, "TOO_LONG"),
    ],
)
def test_malformed_subtitles_are_reported_with_their_line(
    name: str, content: str | bytes, line: int, code: str
) -> None:
    assert bad(read(name, content)) == [(line, code)]


# Contact Lens

CALL = {
    "Version": "1.1.0",
    "Channel": "VOICE",
    "LanguageCode": "en-US",
    "CustomerMetadata": {"ContactId": "contact-1"},
    "ConversationCharacteristics": {"TotalConversationDurationMillis": 6400},
    "Participants": [
        {"ParticipantId": "p1", "ParticipantRole": "CUSTOMER"},
        {"ParticipantId": "p2", "ParticipantRole": "AGENT"},
    ],
    "Transcript": [
        {"ParticipantId": "p2", "Content": "Hi", "BeginOffsetMillis": 0, "EndOffsetMillis": 800},
        {
            "ParticipantId": "p1",
            "Content": "Hey",
            "BeginOffsetMillis": 900,
            "EndOffsetMillis": 1000,
        },
    ],
}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_contact_lens_call_becomes_a_voice_call(indent: int | None) -> None:
    [item] = items(*read("contact_lens", json.dumps(CALL, indent=indent)))
    assert item.kind == "voice_call"
    assert item.fields["externalId"] == "contact-1"
    assert item.fields["language"] == "en-US"
    assert item.fields["durationSeconds"] == 6
    assert said(item) == [("agent", "Hi"), ("customer", "Hey")]


def test_a_contact_lens_call_keeps_the_times_of_its_words() -> None:
    items_of_turn = [
        {
            "Type": "pronunciation",
            "Content": "Hi",
            "BeginOffsetMillis": 100,
            "EndOffsetMillis": 300,
        },
        {"Type": "punctuation", "Content": "."},
        {"Content": "Bye", "BeginOffsetMillis": 310, "EndOffsetMillis": 700, "Confidence": 0.5},
    ]
    first: Any = CALL["Transcript"]
    turn = {**first[0], "Items": items_of_turn}
    [item] = items(*read("contact_lens", json.dumps({**CALL, "Transcript": [turn]})))
    assert item.fields["turns"][0]["words"] == [
        {"text": "Hi.", "startMs": 100, "endMs": 300},
        {"text": "Bye", "startMs": 310, "endMs": 700, "confidence": 0.5},
    ]


@pytest.mark.parametrize(
    "body",
    [
        {
            "segments": [
                {"speaker": 0, "text": "Hi.", "words": [{"word": " Hi.", "start": 0.1, "end": 0.3}]}
            ]
        },
        {
            "results": {
                "utterances": [
                    {
                        "speaker": 0,
                        "transcript": "Hi.",
                        "words": [
                            {"word": "hi", "punctuated_word": "Hi.", "start": 0.1, "end": 0.3}
                        ],
                    }
                ]
            }
        },
    ],
    ids=["whisper", "deepgram"],
)
def test_the_transcript_of_a_vcon_keeps_the_times_of_its_words(body: dict[str, Any]) -> None:
    document = {**VCON, "dialog": [], "analysis": [{"type": "transcript", "body": body}]}
    [item] = items(*read("vcon", json.dumps(document)))
    [turn] = item.fields["turns"]
    assert (turn["role"], turn["text"]) == ("agent", "Hi.")
    assert turn["words"] == [{"text": "Hi.", "startMs": 100, "endMs": 300}]


def test_a_contact_lens_chat_becomes_a_conversation() -> None:
    chat = {
        **CALL,
        "Channel": "CHAT",
        "Transcript": [
            {
                "ParticipantId": "p1",
                "DisplayName": "Zoë",
                "Content": "Hey",
                "ContentType": "text/plain",
                "AbsoluteTime": "2026-01-02T03:04:05.678Z",
            },
            {"ContentType": "application/vnd.amazonaws.connect.event.participant.left"},
            {"ParticipantId": "p3", "ParticipantRole": "CUSTOM_BOT", "Content": "Beep"},
        ],
    }
    [item] = items(*read("contact_lens", json.dumps(chat)))
    assert item.kind == "conversation"
    assert item.fields["messages"] == [
        {
            "role": "customer",
            "text": "Hey",
            "authorName": "Zoë",
            "sentAt": "2026-01-02T03:04:05.678Z",
        },
        {"role": "bot", "text": "Beep"},
    ]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"Transcript": None}, "MALFORMED"),
        ({"Transcript": []}, "NO_MESSAGES"),
        ({"Transcript": [5]}, "MALFORMED"),
        ({"Participants": []}, "UNKNOWN_ROLE"),
        ({"Participants": "all"}, "UNKNOWN_ROLE"),
        (
            {"Transcript": [{"ParticipantId": "p1", "Content": "x", "BeginOffsetMillis": -1}]},
            "VALIDATION_ERROR",
        ),
    ],
)
def test_a_malformed_contact_lens_document_is_reported(changes: dict[str, Any], code: str) -> None:
    records = read("contact_lens", json.dumps({**CALL, **changes}))
    assert bad(records) == [(1, code)]
    assert isinstance(records[0], BadLine)
    assert records[0].external_id == "contact-1"


# vCon

VCON: dict[str, Any] = {
    "vcon": "0.4.0",
    "uuid": "018e-1",
    "subject": "Order",
    "parties": [{"name": "Alice", "role": "agent"}, {"tel": "+15550100", "role": "customer"}],
    "dialog": [
        {"type": "text", "start": "2026-01-02T03:04:05Z", "parties": [1, 0], "body": "Hello"},
        {
            "type": "text",
            "start": "2026-01-02T03:04:35Z",
            "parties": [1, 0],
            "originator": 0,
            "mediatype": "text/html",
            "encoding": "base64url",
            "body": "PHA-SGk8L3A-",
        },
    ],
}


def test_the_texts_of_a_vcon_become_a_conversation() -> None:
    [item] = items(*read("vcon", json.dumps(VCON, indent=1)))
    assert item.fields == {
        "externalId": "018e-1",
        "subject": "Order",
        "startedAt": "2026-01-02T03:04:05Z",
        "messages": [
            {"role": "customer", "text": "Hello", "sentAt": "2026-01-02T03:04:05Z"},
            {
                "role": "agent",
                "text": "Hi",
                "sentAt": "2026-01-02T03:04:35Z",
                "authorName": "Alice",
            },
        ],
    }


def test_the_transcript_of_a_vcon_becomes_a_voice_call() -> None:
    segments = [
        {"party": 0, "text": "Hi", "start": 0, "end": 1.25},
        {"speaker": "Bob", "message": "Hello", "start": 1.5},
    ]
    document = {
        **VCON,
        "dialog": [{"type": "recording", "start": "2026-01-02T03:04:05Z", "url": "https://x"}],
        "analysis": [{"type": "transcript", "body": json.dumps({"segments": segments})}],
    }
    [item] = items(*read("vcon", json.dumps(document), roles=PEOPLE))
    assert item.kind == "voice_call"
    assert item.fields["turns"] == [
        {"role": "agent", "text": "Hi", "startMs": 0, "endMs": 1250},
        {"role": "customer", "text": "Hello", "startMs": 1500, "endMs": None},
    ]


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({"payload": "e30", "signatures": []}, "MALFORMED"),
        ({"vcon": 4}, "MALFORMED"),
        ({**VCON, "parties": []}, "VALIDATION_ERROR"),
        ({**VCON, "parties": [{"name": "X"}, {"name": "Y"}]}, "UNKNOWN_ROLE"),
        ({**VCON, "dialog": [{"type": "text", "parties": 1, "url": "https://x"}]}, "MALFORMED"),
        ({**VCON, "dialog": []}, "NO_MESSAGES"),
        ({**VCON, "dialog": "all"}, "MALFORMED"),
        (
            {
                **VCON,
                "dialog": [{**VCON["dialog"][0], "mediatype": "text/html", "body": REFERENCE}],
            },
            "MALFORMED",
        ),
        (
            {**VCON, "dialog": [], "analysis": [{"type": "transcript", "body": "Alice: hi"}]},
            "MALFORMED",
        ),
    ],
)
def test_a_malformed_vcon_is_reported(document: dict[str, Any], code: str) -> None:
    assert bad(read("vcon", json.dumps(document))) == [(1, code)]


def test_a_file_may_have_one_vcon_on_each_line() -> None:
    lines = [json.dumps(VCON), '{"vcon": ', json.dumps({**VCON, "uuid": "018e-2"})]
    records = read("vcon", "\n".join(lines))
    assert bad(records) == [(2, "MALFORMED")]
    taken = [record.fields["externalId"] for record in records if isinstance(record, NativeRecord)]
    assert taken == ["018e-1", "018e-2"]


# Every format


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (VTT, "a", "vtt"),
        ("\ufeffWEBVTT\n", "", "vtt"),
        (SRT, "", "srt"),
        (HEADER, "", "csv"),
        (json.dumps(CALL), "", "contact_lens"),
        (json.dumps(CALL, indent=2), "x.json", "contact_lens"),
        (json.dumps(VCON), "", "vcon"),
        (json.dumps(VCON, indent=2), "", "vcon"),
        ('{"messages": [{"role": "user", "content": "Hi"}]}\n', "x.jsonl", "openai"),
        ('{"externalId": "a", "messages": []}\n', "x.jsonl", "native"),
        ('{"messages": [{"role": "agent", "text": "Hi"}]}\n', "", "native"),
        ('{"kind": "campaign"}', "", "native"),
        ('{"externalId": "' + "x" * 100_000, "", "native"),
        ("anything", "call.SRT", "srt"),
        ("anything", "", None),
        ("", "", None),
        ("[1]", "x.json", None),
        ("{}", "", None),
    ],
)
def test_the_format_is_detected_by_the_name_or_the_first_bytes(
    content: str, name: str, expected: str | None
) -> None:
    assert detect_format(content.encode(), name) == expected


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("openai", {"messages": [{"role": "user", "name": "Bot", "content": "Hi"}]}),
        (
            "contact_lens",
            {
                "Channel": "CHAT",
                "Transcript": [
                    {"ParticipantRole": "CUSTOMER", "DisplayName": "Bot", "Content": "Hi"}
                ],
            },
        ),
        (
            "vcon",
            {
                "vcon": "0.4.0",
                "parties": [{"name": "Bot", "role": "customer"}],
                "dialog": [{"type": "text", "parties": 0, "body": "Hi"}],
            },
        ),
        ("csv", "conversation_id,speaker,role,text\nc1,Bot,customer,Hi\n"),
    ],
)
def test_a_name_like_a_role_has_no_role_unless_it_is_mapped(name: str, document: Any) -> None:
    content = document if isinstance(document, str) else json.dumps(document)
    assert said(items(*read(name, content))[0]) == [("customer", "Hi")]
    assert said(items(*read(name, content, roles={"bot": "agent"}))[0]) == [("agent", "Hi")]


def _pieces() -> Iterator[bytes]:
    yield from (VTT.encode(), SRT.encode(), HEADER.encode(), b"WEBVTT\n\n", b"\n\n", b'"', b"\r")
    yield from (
        json.dumps(document).encode() for document in (CALL, VCON, {"messages": [{"role": "user"}]})
    )
    yield from (
        b"00:01.000 --> 00:02.000\n",
        b"<v ",
        b"c1,agent,Hi,,,,\n",
        b"\xef\xbb\xbf",
        b"\xff",
    )
    yield from (b'{"vcon": "1", "parties": [1], "dialog": {}}', b'{"Transcript": [[]]}', b"{\n")


KEYS = [
    *("messages", "role", "content", "name", "text", "type", "kind", "externalId", "vcon"),
    *("parties", "dialog", "analysis", "body", "originator", "encoding", "start", "end"),
    *("Transcript", "Participants", "ParticipantId", "ParticipantRole", "Content", "Channel"),
    *("BeginOffsetMillis", "EndOffsetMillis", "CustomerMetadata", "party", "speaker", "segments"),
]
ANYTHING = st.lists(
    st.one_of(st.sampled_from(list(_pieces())), st.binary(max_size=40), st.text().map(str.encode)),
    max_size=8,
).map(b"".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=15,
)


@settings(max_examples=examples(60))
@given(data=ANYTHING)
def test_no_bytes_make_a_reader_fail(data: bytes) -> None:
    for name in FORMATS:
        for record in read(name, data, roles=PEOPLE):
            assert isinstance(record, NativeRecord) or (record.line >= 1 and record.code in Fault)
    detect_format(data)


@settings(max_examples=examples(60))
@given(
    document=st.dictionaries(st.sampled_from(KEYS), JSON, min_size=2),
    base=st.sampled_from([{}, CALL, VCON]),
)
def test_no_document_makes_a_reader_fail(document: dict[str, Any], base: dict[str, Any]) -> None:
    content = json.dumps({**base, **document})
    for name in ("native", "openai", "contact_lens", "vcon"):
        read(name, content, roles=PEOPLE)
    detect_format(content.encode())


def test_many_messages_are_read_in_constant_memory() -> None:
    class Rows(io.RawIOBase):
        """Sixty thousand rows, made as they are read."""

        number = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            if self.number >= 60_000:
                return 0
            part = bytearray(b"" if self.number else b"conversation_id,role,text\n")
            while len(part) < len(buffer) - 60 and self.number < 60_000:
                role = b"agent" if self.number % 2 else b"customer"
                part += b"c%d,%s,How are you?\n" % (self.number // 10, role)
                self.number += 1
            buffer[: len(part)] = part
            return len(part)

    stream: Any = io.BufferedReader(Rows(), 65536)
    records = READERS["csv"](stream, ReaderOptions())
    count = sum(1 for _ in islice(records, 4_000))
    # What had gathered until here would be seen in what is held on the way from here on.
    tracemalloc.start()
    count += sum(1 for record in records if isinstance(record, NativeRecord))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 6_000
    assert peak < 1024 * 1024
