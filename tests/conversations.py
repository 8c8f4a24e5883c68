"""Conversations for tests, and evaluations of them by the judge that runs inside the service."""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy.orm import Session

from app.core.ids import new_id
from app.evaluations import service, transcripts
from app.evaluations.models import Evaluation
from app.evaluations.outcome import EvaluationCompletion
from app.judge.context import Context
from app.judge.judge import Judgement
from app.judge.rule_judge import RuleJudge
from app.scorecards.service import current_default
from app.transcript import Participant, Role, Segment, Transcript, Word

START = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
HELPFUL = (
    (Role.CUSTOMER, "Hello, my parcel has not arrived and I am worried about it."),
    (Role.AGENT, "Good morning! I am sorry to hear that. May I have your order number, please?"),
    (Role.CUSTOMER, "It is 48213, it should have been here on Monday."),
    (Role.AGENT, "Thank you. I see it is held at the depot. I will send it again today."),
    (Role.CUSTOMER, "Great, thank you so much, that solves it."),
    (Role.AGENT, "To recap: it arrives tomorrow by noon. Is there anything else I can do for you?"),
    (Role.CUSTOMER, "No, that is all. Thanks, goodbye."),
    (Role.AGENT, "Thank you for contacting us. Have a nice day, goodbye."),
)


def chat(lines: tuple[tuple[Role, str], ...] = HELPFUL, *, language: str = "en") -> Transcript:
    """A chat with a message every twenty seconds."""
    return Transcript(
        segments=tuple(
            Segment(
                id=f"seg_{index + 1:04d}",
                index=index,
                participant_id=str(role.value),
                role=role,
                text=text,
                language=language,
                message_id=f"msg_{index:026d}",
                sent_at=START + timedelta(seconds=20 * index),
            )
            for index, (role, text) in enumerate(lines)
        ),
        participants=(
            Participant(id="agent", role=Role.AGENT, display_name="Asha"),
            Participant(id="customer", role=Role.CUSTOMER),
        ),
        duration_ms=20_000 * (len(lines) - 1) + 500,
        language=language,
        provider="source",
        speaker_attribution="messages",
    )


def spoken() -> Transcript:
    """A short piece of a call, with the words of each segment."""
    words = (Word("Good", 0, 400, 0.9), Word("morning.", 450, 900, 0.8))
    said = Segment(
        id="seg_0001",
        index=0,
        participant_id="channel_0",
        role=Role.AGENT,
        text="Good morning.",
        start_ms=0,
        end_ms=900,
        language="en",
        confidence=0.85,
        channel_index=0,
        words=words,
    )
    return Transcript(
        segments=(said,),
        participants=(Participant(id="channel_0", role=Role.AGENT, channel_index=0),),
        duration_ms=1_500,
        language="en",
        confidence=0.85,
        provider="embedded",
        model="small",
        speaker_attribution="channel",
        speech_ms=900,
    )


@cache
def judged(transcript: Transcript, channel: str = "chat") -> Judgement:
    return RuleJudge().judge(transcript, current_default(channel).scorecard, Context())


def opened(session: Session, **values: Any) -> Evaluation:
    """Open an evaluation of a chat; keyword arguments change it."""
    channel = values.get("channel", "chat")
    given: dict[str, Any] = {
        "source_type": "conversation",
        "source_id": new_id("conv"),
        "channel": channel,
        **values,
    }
    evaluation = Evaluation(**given)
    service.open_evaluation(session, evaluation, current_default(channel))
    return evaluation


def completed(
    session: Session, *, transcript: Transcript | None = None, **values: Any
) -> Evaluation:
    """Open an evaluation, store its transcript, judge and complete it."""
    transcript = transcript or chat()
    evaluation = opened(session, **values)
    row = transcripts.row_of(evaluation.source_type, evaluation.source_id, transcript)
    transcripts.store(session, row)
    judgement = judged(transcript, evaluation.channel)
    completion = EvaluationCompletion(evaluation, judgement, transcript.language, 140)
    service.complete(session, completion)
    return evaluation
