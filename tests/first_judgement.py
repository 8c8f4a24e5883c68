"""Judgement of a chat at import: processes that are forked afterwards share what it has loaded.

Loading takes a second of processor time, a further judgement some hundredths.
"""

from tests.conversations import chat, judged

judged(chat())
