"""The English phrases that mark the events of a service conversation, as data.

In a pattern a space stands for one to three characters that don't end a sentence, and `<n>` for up
to n words. Each pattern is tried only at its trigger words, and repeats nothing without a bound,
so that finding is linear in the length of the text. Precise rather than many: a phrase that is as
often something else is left out.
"""

from app.ai.customer_phrases import CUSTOMER_PHRASES
from app.ai.event_phrases import EVENT_PHRASES
from app.ai.phrases import Entry
from app.ai.reaction_phrases import REACTION_PHRASES
from app.ai.service_phrases import SERVICE_PHRASES

LEXICON: dict[str, Entry] = {
    **SERVICE_PHRASES,
    **EVENT_PHRASES,
    **CUSTOMER_PHRASES,
    **REACTION_PHRASES,
}
