"""E-mail addresses, written or spoken ("john dot smith at example dot com"), and IP addresses."""

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv6Address

from app.redaction.conversation_text import ConversationText, split_words
from app.redaction.entities import Entity, EntitySpan

# Both patterns match only from the start of a token and bound each part (a label of a domain has at
# most 63 characters), so that their cost is linear in the length of the text.
_WRITTEN = re.compile(
    r"(?<![\w.!#$%&'*+/=?^`{|}~-])[\w.!#$%&'*+/=?^`{|}~-]++\s?@\s?"
    r"[\w-]{1,63}(?:(?:\.|\s\.\s?|\s?dot\s)[\w-]{1,63}){1,8}"
)
_DOMAIN = (
    r"(?:com|org|net|edu|gov|info|biz|io|me|in|us|uk|ca|de|fr|es|it|nl|au|nz|ie|eu|ai|app|dev"
    r"|co(?: dot [a-z]{2}|\.[a-z]{2}| uk| in)?|ac dot uk)"
)
_PART = r"[a-z0-9_'-]{1,64}"
# Letters that are spelled out one by one.
_SPELLED = r"(?<!(?<!\w)[a-z0-9][ -])[a-z0-9](?:[ -][a-z0-9](?!\w)){2,}+"
_LINK = r"(?:dot|period|point|underscore|under score|dash|hyphen|minus|plus)"
_AT_DOMAIN = (
    rf"\s(?:at|@)\s(?:the rate\s)?{_PART}(?:\s{_PART})?"
    rf"(?:\s?(?:dot\s|\.){_PART}){{0,2}}\s?(?:dot\s|\.){_DOMAIN}\b"
)
_SPOKEN_DOMAIN = re.compile(_AT_DOMAIN)
_SPOKEN = re.compile(
    rf"\b(?:{_PART}+|{_SPELLED})(?:\.{_PART}+|\s{_LINK}\s{_PART}+){{0,8}}"
    rf"(?:\s\d{{1,4}})?{_AT_DOMAIN}"
)
# A text without these words has no spoken address.
_SPOKEN_WORDS = split_words("dot com org net co uk in io edu gov info de fr es eu")
# Words before "at example dot com" that are not a mailbox, as in "visit us at example dot com".
_NO_MAILBOXES = split_words(
    """
    us me you him her them it look looking online site website webpage page go live available
    order visit book shop check that out more information details help here found
    are is or and email e-mail mail reach contact write again up store buy
    """
)
_DOTTED = re.compile(r"\.\d{1,3}\.")
_IPV4 = re.compile(
    r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?!\.?\w)"
)
_IPV6 = re.compile(r"(?<![\w:.])(?=[0-9a-f]{0,4}:)[0-9a-f:.]{2,46}+(?![\w:])", re.IGNORECASE)
_VERSION = re.compile(
    r"(?:version|release|build|firmware|section|v\.?|update|ios|android|chapter)\s{0,2}$", re.I
)


def find(conversation: ConversationText, turn: int) -> Iterator[EntitySpan]:
    """Yield the e-mail addresses of a turn."""
    text, words = conversation.lower_case(turn), conversation.words(turn)
    if "@" in text:
        for match in _WRITTEN.finditer(text):
            yield EntitySpan(match.start(), match.end(), Entity.EMAIL)
    if not words.isdisjoint(_SPOKEN_WORDS) and ("at" in words or "@" in text):
        domains = [match.start() for match in _SPOKEN_DOMAIN.finditer(text)]
        for match in conversation.matches_near(_SPOKEN, text, domains):
            first = match[0].split()[0]
            if first not in _NO_MAILBOXES:
                yield EntitySpan(match.start(), match.end(), Entity.EMAIL)


def find_ip_addresses(conversation: ConversationText, turn: int) -> Iterator[EntitySpan]:
    """Yield IP addresses; skip four numbers after a word such as "version"."""
    text = conversation.turns[turn].text
    dotted = [match.start() for match in _DOTTED.finditer(text)]
    for match in conversation.matches_near(_IPV4, text, dotted):
        if not _VERSION.search(text, max(0, match.start() - 12), match.start()):
            yield EntitySpan(match.start(), match.end(), Entity.IP_ADDRESS)
    if text.count(":") > 1:
        for match in _IPV6.finditer(text):
            address = match[0].rstrip(".")
            if _is_ipv6(address):
                yield EntitySpan(match.start(), match.start() + len(address), Entity.IP_ADDRESS)


def _is_ipv6(text: str) -> bool:
    # "::" is an address too, but far more often punctuation.
    if sum(character.isalnum() for character in text) < 3:
        return False
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True
