"""Prompt requests: the questions and messages about one conversation, and their hash."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.ai.dialogue.instructions import lines_with_instructions
from app.ai.dialogue.turns import Dialogue
from app.ai.language_model.answers import Source
from app.ai.language_model.excerpt import Excerpt, PromptMessage, excerpt_of, tokens_of
from app.ai.language_model.masking import masked_texts
from app.ai.language_model.prompt import chat_messages, shipped_prompt, system_text
from app.ai.language_model.questions import Question, questions_of
from app.ai.model_server.endpoint import Endpoint, ModelError, Reason
from app.ai.scorecard.values import Criterion
from app.core.digests import digest_of

# For the marks, the two sentences around the conversation, and the chat format.
_WRAPPING_TOKENS = 150
_LEAST_TOKENS = 100


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """The questions about a conversation, and what is shown of it.

    `masked_count` is how many stretches of the shown messages are masked.
    """

    questions: tuple[Question, ...]
    system: str
    excerpt: Excerpt
    sources: Mapping[int, Source]
    masked_count: int

    def messages(self) -> list[dict[str, str]]:
        """Write the prompt, with marks of its own each time."""
        return chat_messages(self.system, self.excerpt)

    def key(self, endpoint: Endpoint, output_tokens: int) -> str:
        """Hash all that an answer depends on: the prompt without its marks, and the model."""
        return digest_of(
            {
                "promptVersion": shipped_prompt().version,
                "url": endpoint.url,
                "model": endpoint.model,
                "outputTokens": output_tokens,
                "system": self.system,
                "messages": self.excerpt.as_json(),
            }
        )


def prompt_request_of(
    dialogue: Dialogue, criteria: Sequence[Criterion], *, input_tokens: int, mask: bool
) -> PromptRequest:
    """Prepare the questions about a dialogue.

    The number of a message is that of its segment: 3 is `seg_0003`.

    Raises:
        ModelError: the questions leave no room for the conversation.
    """
    questions = questions_of(criteria)
    system = system_text(questions)
    texts = masked_texts(dialogue.transcript, mask=mask)
    messages = [
        PromptMessage(line.segment.index + 1, line.segment.role.value, texts[line.segment.id].text)
        for line in dialogue.lines
    ]
    budget = input_tokens - tokens_of(system) - _WRAPPING_TOKENS
    excerpt = excerpt_of(messages, budget) if budget >= _LEAST_TOKENS else None
    if excerpt is None:
        message = "The questions leave no room for the conversation: raise CQE_JUDGE_INPUT_TOKENS."
        raise ModelError(Reason.INPUT_TOO_LONG, message)
    segments = {line.segment.index + 1: line.segment for line in dialogue.lines}
    steering = {line.segment.index + 1 for line in lines_with_instructions(dialogue.lines)}
    sources = {
        message.number: Source(
            message,
            segments[message.number],
            texts[segments[message.number].id],
            addresses_judge=message.number in steering,
        )
        for message in excerpt.messages
    }
    masked_count = sum(len(source.masked.masked) for source in sources.values())
    return PromptRequest(questions, system, excerpt, sources, masked_count)
