"""Shapes of what the service answers; the keys are those of the API."""

from typing import Any, NotRequired, TypedDict


class ErrorDetail(TypedDict, total=False):
    """One problem of a refused request."""

    location: str
    field: str
    code: str
    message: str
    serverTime: str
    timestamp: str
    nonce: str
    method: str
    path: str
    bodySha256: str


class Failure(TypedDict):
    """Why something failed."""

    code: str
    message: str


class Evidence(TypedDict):
    """A quote from the transcript on which an answer rests."""

    segmentId: str
    role: str
    startMs: int | None
    endMs: int | None
    charStart: int
    charEnd: int
    quote: str
    polarity: str


class Criterion(TypedDict):
    """The answer to one criterion of the scorecard."""

    key: str
    title: str
    section: str
    question: str
    type: str
    weight: float
    criticality: str
    errorClass: str
    applicable: bool
    notJudged: NotRequired[bool]
    answer: str | float | None
    normalizedScore: float | None
    estimate: NotRequired[float | None]
    points: float | None
    maxPoints: float
    explanation: str | None
    confidence: float | None
    judgedBy: str | None
    failure: str | None
    evidence: list[Evidence]
    suggestion: str | None
    original: dict[str, Any] | None
    otherwise: NotRequired[dict[str, Any]]


class Section(TypedDict):
    """The score of one section of the scorecard."""

    key: str
    title: str
    weight: float
    score: float | None
    rawScore: float | None
    applicable: bool
    autoFailed: bool
    criteriaCount: int


class AutoFail(TypedDict):
    """Whether a criterion failed the evaluation or sections of it."""

    triggered: bool
    scope: str | None
    criteria: list[str]


class ScorecardReference(TypedDict):
    """The scorecard of an evaluation."""

    id: str
    version: int
    name: str


class Engine(TypedDict):
    """The engine that judged."""

    kind: str
    provider: str | None
    model: str | None
    promptVersion: str | None


class Resolution(TypedDict):
    """Whether the customer's issue was resolved."""

    status: str
    probability: float | None
    explanation: str | None
    evidence: list[Evidence]
    followUpPromised: bool | None
    escalated: bool | None
    otherwise: NotRequired[dict[str, Any]]


class Summary(TypedDict):
    """A short summary of the conversation."""

    overview: str | None
    issue: str | None
    outcome: str | None
    actionItems: list[str]


class Moment(TypedDict):
    """A moment worth listening to."""

    type: str
    startMs: int | None
    endMs: int | None
    segmentId: str | None
    role: str | None
    severity: str
    label: str


class Advice(TypedDict):
    """One strength or one improvement."""

    text: str
    criterionKey: str | None
    evidence: list[Evidence]


class Coaching(TypedDict):
    """Advice for the agent."""

    strengths: list[Advice]
    improvements: list[Advice]


class Results(TypedDict):
    """The results of an evaluation, `GET /evaluations/{id}/results`."""

    evaluationId: str
    status: str
    score: int | None
    rawScore: float | None
    maxScore: int
    complianceScore: float | None
    complianceChecked: NotRequired[list[str]]
    coverage: float | None
    noVerdictReason: str | None
    band: str | None
    passed: bool | None
    passThreshold: int | None
    autoFail: AutoFail | None
    scorecard: ScorecardReference
    engine: Engine | None
    generatedAt: str | None
    revision: int
    sections: list[Section]
    criteria: list[Criterion]
    dimensions: dict[str, float | None] | None
    metrics: dict[str, float | None]
    metricsMissing: list[dict[str, str]]
    metricsUncertain: list[str]
    sentiment: dict[str, Any] | None
    topics: list[str]
    resolution: Resolution | None
    summary: Summary | None
    moments: list[Moment]
    coaching: Coaching | None
    quality: dict[str, Any] | None
    reviews: list[dict[str, Any]]


class SaidMatch(TypedDict):
    """Where in a snippet it is, in characters."""

    start: int
    end: int


class Said(TypedDict):
    """The turn in which it was said."""

    segmentId: str
    role: str
    startMs: int | None
    sentAt: str | None
    snippet: str
    matches: list[SaidMatch]


class Evaluation(TypedDict):
    """One evaluation of `GET /evaluations`."""

    id: str
    engagementId: str | None
    campaignId: str | None
    campaign: str | None
    callCenterId: str | None
    callCenter: str | None
    executiveId: str | None
    executive: str | None
    sourceType: str
    sourceId: str
    channel: str
    direction: str
    language: str | None
    status: str
    reviewStatus: str
    score: int | None
    rawScore: float | None
    complianceScore: float | None
    judgedWeightPercent: float | None
    hasVerdict: bool | None
    passed: bool | None
    passThreshold: int | None
    band: str | None
    autoFailed: bool
    agentUnnamed: bool
    failedCriteria: list[str]
    customerSentiment: float | None
    sentimentTrend: str | None
    resolution: str | None
    predictedSatisfaction: float | None
    topics: list[str]
    scorecardId: str
    scorecardVersion: int
    scorecardName: str
    engine: Engine | None
    confidence: float | None
    durationSeconds: int | None
    turnCount: int | None
    startedAt: str | None
    conversationAt: str
    createdAt: str
    completedAt: str | None
    updatedAt: str
    redacted: bool
    revision: int
    supersedesId: str | None
    isCurrent: bool
    error: Failure | None
    externalId: str | None
    labels: dict[str, str]
    said: NotRequired[Said | None]


class EvaluationDetail(Evaluation):
    """One evaluation of `GET /evaluations/{id}`, with its summary."""

    summary: Summary | None


class ProcessingStage(TypedDict):
    """One stage of processing a recording."""

    name: str
    status: str
    startedAt: str | None
    completedAt: str | None
    attempts: int
    error: Failure | None


class ProcessingStatus(TypedDict):
    """How far a recording is processed."""

    audioFileId: str
    jobId: str | None
    status: str
    stage: str
    progress: int
    stages: list[ProcessingStage]
    attempts: int
    evaluationId: str | None
    queuedAt: str | None
    startedAt: str | None
    completedAt: str | None
    error: Failure | None


class Event(TypedDict):
    """The body of a webhook."""

    id: str
    event: str
    timestamp: str
    data: dict[str, Any]
