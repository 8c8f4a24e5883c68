"""Messages in the form of each receiver: Slack blocks, an Adaptive Card of Teams, and e-mail."""

import html
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

import orjson

# Slack takes at most 50 blocks, 150 characters of a heading and 3,000 of a section.
_MOST_BLOCKS, _LONGEST_HEADING, _LONGEST_TEXT = 48, 150, 2_900
_CARD = "http://adaptivecards.io/schemas/adaptive-card.json"


def slack(message: Mapping[str, Any]) -> bytes:
    blocks: list[dict[str, Any]] = [
        {
            "type": "header",
            "text": {"type": "plain_text", "text": _cut(message["title"], _LONGEST_HEADING)},
        }
    ]
    for section in message["sections"]:
        lines = [f"*{_mrkdwn(section['heading'])}*"] if section["heading"] else []
        lines += [_slack_line(line) for line in section["lines"]]
        blocks += [
            {"type": "section", "text": {"type": "mrkdwn", "text": text}} for text in _packed(lines)
        ]
    links = [_slack_link(message["url"], "Open")]
    if message["unsubscribe_url"]:
        links.append(_slack_link(message["unsubscribe_url"], "Unsubscribe"))
    foot = {"type": "context", "elements": [{"type": "mrkdwn", "text": " · ".join(links)}]}
    text = _mrkdwn(message["title"])
    return orjson.dumps({"text": text, "blocks": [*blocks[:_MOST_BLOCKS], foot]})


def teams(message: Mapping[str, Any]) -> bytes:
    """Return the body for a workflow of Teams: a message with an Adaptive Card."""
    body: list[dict[str, Any]] = [
        _text_block(_markdown(message["title"]), size="Large", weight="Bolder")
    ]
    for section in message["sections"]:
        if section["heading"]:
            body.append(_text_block(_markdown(section["heading"]), weight="Bolder", separator=True))
        body += [_text_block(_teams_line(line)) for line in section["lines"]]
    actions = [{"type": "Action.OpenUrl", "title": "Open", "url": message["url"]}]
    if message["unsubscribe_url"]:
        unsubscribe = message["unsubscribe_url"]
        actions.append({"type": "Action.OpenUrl", "title": "Unsubscribe", "url": unsubscribe})
    card = {
        "$schema": _CARD,
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
        "actions": actions,
    }
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    return orjson.dumps({"type": "message", "attachments": [attachment]})


def mail(
    message: Mapping[str, Any], *, event_id: str, sender: str, recipient: str, at: datetime
) -> EmailMessage:
    """Return the message as text and HTML; a repetition after a crash has the same Message-ID."""
    letter = EmailMessage()
    letter["Subject"] = " ".join(message["title"].split())
    letter["From"], letter["To"] = sender, recipient
    letter["Date"] = format_datetime(at)
    letter["Message-ID"] = f"<{event_id}@{sender.rpartition('@')[2].rstrip('>')}>"
    letter["Auto-Submitted"] = "auto-generated"
    if unsubscribe := message["unsubscribe_url"]:
        letter["List-Unsubscribe"] = f"<{unsubscribe}>"
        letter["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    letter.set_content("\n".join(_text_lines(message)))
    letter.add_alternative("".join(_html_parts(message)), subtype="html")
    return letter


def _text_lines(message: Mapping[str, Any]) -> Iterator[str]:
    yield message["title"]
    for section in message["sections"]:
        yield ""
        if section["heading"]:
            yield section["heading"]
        for line in section["lines"]:
            yield f"- {line['text']}"
            if line["words"]:
                yield f"  \N{LEFT DOUBLE QUOTATION MARK}{line['words']}\N{RIGHT DOUBLE QUOTATION MARK}"
            if line["url"]:
                yield f"  {line['url']}"
    yield f"\nOpen: {message['url']}"
    if message["unsubscribe_url"]:
        yield f"Unsubscribe: {message['unsubscribe_url']}"


def _html_parts(message: Mapping[str, Any]) -> Iterator[str]:
    yield f"<!doctype html><html><body><h1>{html.escape(message['title'])}</h1>"
    for section in message["sections"]:
        if section["heading"]:
            yield f"<h2>{html.escape(section['heading'])}</h2>"
        yield "<ul>"
        for line in section["lines"]:
            text = html.escape(line["text"])
            words = f"<br><q>{html.escape(line['words'])}</q>" if line["words"] else ""
            yield f"<li>{_html_link(line['url'], text) if line['url'] else text}{words}</li>"
        yield "</ul>"
    yield f"<p>{_html_link(message['url'], 'Open')}</p>"
    if message["unsubscribe_url"]:
        yield f"<p><small>{_html_link(message['unsubscribe_url'], 'Unsubscribe')}</small></p>"
    yield "</body></html>"


def _html_link(url: str, text: str) -> str:
    return f'<a href="{html.escape(url)}">{text}</a>'


def _slack_line(line: Mapping[str, Any]) -> str:
    text = _slack_link(line["url"], line["text"]) if line["url"] else _mrkdwn(line["text"])
    words = f"\n>{_mrkdwn(line['words'])}" if line["words"] else ""
    return _cut(f"• {text}{words}", _LONGEST_TEXT)


def _slack_link(url: str, text: str) -> str:
    return f"<{_mrkdwn(url)}|{_mrkdwn(text).replace('|', '/')}>"


def _mrkdwn(text: str) -> str:
    """Escape what Slack takes for markup, in one line."""
    flat = " ".join(text.split())
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _packed(lines: list[str]) -> Iterator[str]:
    """Join lines to texts that Slack takes."""
    text = ""
    for line in lines:
        if text and len(text) + len(line) >= _LONGEST_TEXT:
            yield text
            text = ""
        text = f"{text}\n{line}" if text else line
    if text:
        yield text


def _teams_line(line: Mapping[str, Any]) -> str:
    text = _markdown(line["text"])
    shown = f"[{text}]({line['url']})" if line["url"] else text
    return f"{shown} — “{_markdown(line['words'])}”" if line["words"] else shown


def _markdown(text: str) -> str:
    """Escape what an Adaptive Card takes for markup, in one line."""
    flat = " ".join(text.split())
    return "".join(f"\\{char}" if char in "\\*_[]()#`" else char for char in flat)


def _text_block(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "TextBlock", "text": text, "wrap": True, **more}


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
