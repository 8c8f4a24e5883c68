"""The demo brought in, in the order in which one part refers to another."""

from dataclasses import dataclass, field

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.demo import recordings, service, texts
from app.imports.formats.items import Kind
from app.imports.tally import Outcome, Tally

_BEFORE_RECORDINGS = (Kind.CALL_CENTER, Kind.EXECUTIVE, Kind.CAMPAIGN, Kind.CONVERSATION)
_NOUNS = {
    Kind.CALL_CENTER: "call centres",
    Kind.EXECUTIVE: "executives",
    Kind.CAMPAIGN: "campaigns",
    Kind.CONVERSATION: "chats",
    Kind.VOICE_CALL: "voice bot calls",
    texts.RECORDINGS: "recordings",
}


@dataclass(slots=True)
class Loaded:
    """How many records of each noun are new, and what was refused."""

    new: dict[str, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many records are new."""
        return sum(self.new.values())


def load(runtime: Runtime) -> Loaded:
    """Bring in what is not there, and ask for its evaluation; the second time changes nothing.

    Cut off anywhere, it is taken up by the next call.
    """
    loaded = Loaded()
    with runtime.db.writing() as session:
        service.make_engagements(session, runtime.settings.engagement_types)
    for kind in _BEFORE_RECORDINGS:
        _load(runtime, kind, loaded)
    taken = [recordings.take_in(runtime, each) for each in _placed(runtime, texts.RECORDINGS)]
    loaded.new[_NOUNS[texts.RECORDINGS]] = sum(taken)
    _load(runtime, Kind.VOICE_CALL, loaded)
    return loaded


def _load(runtime: Runtime, kind: Kind, loaded: Loaded) -> None:
    batch = service.checked(kind, _placed(runtime, kind), runtime.hooks.check_import_record)
    with runtime.db.writing() as session:
        tally: Tally = service.write(session, batch)
    loaded.new[_NOUNS[kind]] = tally.counts[Outcome.CREATED]
    loaded.refused += [f"{each['external_id']}: {each['message']}" for each in tally.errors]


def _placed(runtime: Runtime, kind: str) -> list[dict[str, object]]:
    midnight = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
    with runtime.db.reading() as session:
        ids = service.ids(session)
    return [texts.placed(each, midnight, ids) for each in texts.records(kind)]
