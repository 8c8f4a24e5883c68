"""Text of messages in HTML: paragraphs and lines, without quoted history and signatures of e-mail."""

import re
from collections import Counter
from html.parser import HTMLParser

_PARAGRAPHS = ("blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul")
_BLOCKS = (
    *_PARAGRAPHS,
    *("address", "article", "dd", "div", "dl", "dt", "footer", "header", "hr", "li"),
    *("section", "tr"),
)
_CELLS = ("td", "th")
_WITHOUT_END = (
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
    *("source", "wbr"),
)
_HIDDEN = ("blockquote", "head", "script", "style", "title", "template")
# By class or id: how Gmail, Outlook, Thunderbird and Yahoo mark what is quoted, and signatures.
_NOT_SAID = frozenset(
    (
        *("freshdesk_quote", "gmail_quote", "gmail_extra", "gmail_signature", "gmail_attr"),
        *("moz-cite-prefix", "moz-signature", "yahoo_quoted", "yahoo-signature"),
        *("divrplyfwdmsg", "appendonsend", "signature"),
    )
)
# The first line of what is quoted, or of a signature, with all that follows.
_REST = re.compile(
    r"^(?:-- ?|-{2,} ?Original Message ?-{2,}|_{20,}|On .{5,200} wrote:)$", re.MULTILINE
)
_QUOTED = re.compile(r"^>.*\n?", re.MULTILINE)


def text_of_html(html: str) -> str:
    """Return what somebody wrote: paragraphs have a blank line between them."""
    parser = _Text()
    parser.feed(html)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    text = "\n".join(lines).strip()
    rest = _REST.search(text)
    # A message that has nothing else is kept as it is.
    said = text[: rest.start()] if rest else text
    return _QUOTED.sub("", said).strip() or text


class _Text(HTMLParser):
    """Collects the text; what is within a hidden element is left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._line_ends = 0
        self._hidden: list[str] = []
        self._hidden_tags: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._break(tag)
        is_hidden = self._hidden or tag in _HIDDEN or not _NOT_SAID.isdisjoint(_names(attrs))
        if is_hidden and tag not in _WITHOUT_END:
            self._hidden.append(tag)
            self._hidden_tags[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if not self._hidden:
            self._break(tag)
        elif self._hidden_tags[tag]:
            ended = ""
            while ended != tag:
                ended = self._hidden.pop()
                self._hidden_tags[ended] -= 1

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if data.strip():
            self.parts.append("\n" * self._line_ends)
            self._line_ends = 0
        self.parts.append(" ".join(re.split(r"\s+", data)))

    def _break(self, tag: str) -> None:
        if tag in _PARAGRAPHS:
            self._line_ends = 2
        elif tag in _BLOCKS:
            self._line_ends = max(self._line_ends, 1)
        elif tag == "br":
            self._line_ends = min(self._line_ends + 1, 2)
        elif tag in _CELLS:
            self.parts.append(" ")


def _names(attributes: list[tuple[str, str | None]]) -> set[str]:
    values = (value for name, value in attributes if name in ("class", "id") and value)
    return {word for value in values for word in value.casefold().split()}
