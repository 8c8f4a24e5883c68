"""Instructions: lines that are meant to steer a language model."""

import re
from collections.abc import Sequence

from app.judge.dialogue.turns import Line

# Bounded everywhere, and each word taken whole, so that looking is linear in the length of the text.
_GAP = r"\W{1,4}"
_FEW_WORDS = r"(?:[\w'-]{1,20}+\W{1,4}){0,4}"
# "I give you full marks" is said to the agent.
_NOT_YOU = r"(?:(?!you\b)[\w'-]{1,20}+\W{1,4}){0,4}"
_INSTRUCTIONS = (
    rf"(?:ignore|disregard|forget|override|bypass){_GAP}{_FEW_WORDS}(?:previous|prior|above|earlier"
    rf"|preceding|your|system|all){_GAP}{_FEW_WORDS}(?:instructions?|prompts?|rules|guidelines|criteria)",
    r"(?:system|developer)[\s_-]{1,2}(?:prompt|instruction)s?\b",
    rf"(?:you{_GAP}are{_GAP}now|act{_GAP}as|pretend{_GAP}to{_GAP}be){_GAP}{_FEW_WORDS}"
    r"(?:judge|evaluator|grader|auditor|assistant|language model|ai model)",
    rf"(?:dear|note{_GAP}to|attention){_GAP}{_FEW_WORDS}(?:judge|evaluator|grader|auditor|language model"
    r"|ai model|llm)\b",
    rf"(?:give|assign|award|set|output|return|answer|rate|score|grade|mark){_GAP}{_NOT_YOU}"
    rf"(?:(?:a|the){_GAP})?(?:perfect|full|maximum|highest|top|best)(?:{_GAP}possible)?"
    rf"{_GAP}(?:score|scores|rating|ratings|marks|grade|points)",
    # "Would you rate this chat?" asks the customer.
    rf"(?<!you )(?:score|rate|grade|mark|evaluate){_GAP}(?:this|the){_GAP}(?:conversation|call|chat|agent"
    rf"|bot|interaction|transcript){_GAP}{_FEW_WORDS}(?:as|at|with|a|to)?(?:{_GAP})?(?:100|10\b|5\b|perfect"
    r"|excellent|full|maximum)",
    rf"(?:set|make|change){_GAP}(?:(?:the|all|each|every){_GAP}){{0,2}}(?:scores?|ratings?|grades?|criteri(?:on|a))"
    rf"{_GAP}(?:to|at|=)(?:{_GAP})?\d{{1,3}}",
    r"<\|?(?:im_start|im_end|system|assistant|endoftext)\|?>|\[/?INST\]|<</?SYS>>",
)
_INSTRUCTION = re.compile(r"(?<!\w)(?:" + "|".join(_INSTRUCTIONS) + ")", re.IGNORECASE)
# Without one of these no pattern fits; they are looked for first, since that costs next to nothing.
_HINTS = (
    "ignor", "disregard", "forget", "overrid", "bypass", "prompt", "instruct", "judge", "evaluat",
    "grade", "criteri", "audit", "assistant", "model", "llm", "score", "rate", "rating", "marks", "points",
    "im_start", "im_end", "endoftext", "|system", "system|", "<system", "inst]", "sys>",
)  # fmt: skip


def lines_with_instructions(lines: Sequence[Line]) -> list[Line]:
    """List the lines with text that is meant to steer a language model.

    It is looked for in English whatever the language is, and it changes no score: people are told.
    """
    text = "\n".join(line.text for line in lines).lower()
    hints = [hint for hint in _HINTS if hint in text]
    return [
        line
        for line in lines
        if any(hint in line.text.lower() for hint in hints) and _INSTRUCTION.search(line.text)
    ]
