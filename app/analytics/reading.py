"""Questions, and the tallies that answer them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy.orm import Session

from app.analytics import codes, facts
from app.analytics.figures import CHANNELS
from app.analytics.gathering import Gathering, Key
from app.analytics.periods import Period
from app.analytics.spans import Range
from app.analytics.tallies import Detail, Tally
from app.analytics.views import CHANNEL, view_for


@dataclass(frozen=True, slots=True)
class Question:
    """Which facts are meant: a period and filters, by the names that lists have for them."""

    period: Period
    engagement_id: str | None = None
    campaign_id: str | None = None
    call_center_id: str | None = None
    executive_id: str | None = None
    scorecard_id: str | None = None
    channel: tuple[str, ...] = field(default=())

    def former(self) -> "Question":
        """Ask the same of the period before."""
        return replace(self, period=self.period.before())

    def ids(self) -> dict[str, str]:
        """Return the ids that are filtered by, by their column in the facts."""
        named = {
            "engagement": self.engagement_id,
            "campaign": self.campaign_id,
            "call_center": self.call_center_id,
            "executive": self.executive_id,
            "scorecard": self.scorecard_id,
        }
        return {name: key for name, key in named.items() if key is not None}

    def chosen(self, session: Session) -> dict[str, list[int]]:
        """Return the codes that are filtered by."""
        found = {name: [codes.code_of(session, key)] for name, key in self.ids().items()}
        if self.channel:
            found[CHANNEL] = [CHANNELS.index(each) for each in self.channel]
        return found


def whole(question: Question) -> Range:
    """Return the whole period of a question."""
    return facts.microseconds(question.period.start), facts.microseconds(question.period.end)


def tallies(
    session: Session,
    question: Question,
    ranges: Sequence[Range],
    by: str | None = None,
    *,
    members: Collection[int] | None = None,
    details: Collection[Detail] = (),
) -> dict[Key, Tally]:
    """Tally the facts that are meant, range by range, and by what they belong to.

    Args:
        ranges: in their order, none over another; a key begins with the place of its range.
        by: a kind of ids, `channel` or `topic`: the key's second part is its code, or the topic.
            Facts without any are left out.
        members: the codes that matter.
        details: what is to be known besides counts, sums and words.
    """
    chosen = question.chosen(session)
    names = () if by is None else (by,)
    view = view_for({*chosen, *names})
    if by is not None and members is not None:
        chosen[by] = list(members)
    found = Gathering(session, names, chosen, details).gather(view, ranges)
    return {key: each for key, each in found.items() if None not in key}
