"""Labels that a line shows, each with its probability and the sentence that shows it best.

English lines are read by classifiers, lines of other languages by the phrases of their lexicon. A
classifier is a logistic regression over the features of a sentence: its words, the pieces of four
and five letters of its longer words, its pairs and triples of words and its punctuation. Each known
one adds its weight over the square root of how many are known.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from app.ai.dialogue.cues import Cue
from app.ai.dialogue.turns import Line, Side
from app.ai.languages.detection import ENGLISH
from app.ai.weights import PackedRows, model_document

_SENTENCE = re.compile(r"\S(?:[^.!?\n]++|[.!?](?!\s|$))*(?:[.!?]+(?=\s|$))?")
# A mask of personal data, a word, or what ends a sentence.
_TOKEN = re.compile(r"\[[A-Z_]{2,20}\]|[A-Za-z0-9']+|[.!?\n]")
_WRITTEN = re.compile(r"\S+")
_ENDS = frozenset(".!?\n")
_NAME, _NUMBER = "@", "0"
_NAME_MASKS = frozenset({"[NAME]", "[ADDRESS]", "[EMAIL]"})
# Speech recognition writes no full stops: a longer sentence is read in overlapping windows.
_MOST_WORDS = 20
_WINDOW, _STEP = 16, 8
# Far more words than the training texts have would add up to certainty.
_MOST_WORDS_AT_ONCE = 40
_LEAST_SHOUTED, _LEAST_LETTERS = 2, 3
# Weights are kept as whole hundredths, whose sums are exact.
SCALE = 100
_START, _END, _MARK = "<", ">", "#"
_LEAST_DIVIDED = 5
_PIECES = (4, 5)
_SHORT_SENTENCE = 3
_CALM_MARKS = " .,?"
_WORDS_REMEMBERED = 20_000
_MOST_LINE_CHARS = 1_000
# Labels less likely than 1 in 20 are left out.
_LEAST_LOGIT = -3.0
# Labels that a phrase of a lexicon shows, in languages without a classifier; those of the trained
# models: neg(ative), disapp(ointment), sat(isfaction), conf(usion), nores(ult).
_BY_CUE: Mapping[Side, Mapping[str, Mapping[str, float]]] = {
    Side.CUSTOMER: {
        "profanity": {"anger": 0.9, "neg": 0.9},
        "complaint": {"anger": 0.7, "neg": 0.8},
        "gives_up": {"disapp": 0.8, "neg": 0.8},
        "still_broken": {"disapp": 0.7, "neg": 0.7},
        "rejection": {"neg": 0.5},
        "problem": {"neg": 0.4},
        "asks_again": {"conf": 0.8},
        "praise": {"sat": 0.9},
        "solved": {"sat": 0.8},
        "thanks": {"sat": 0.6},
    },
    Side.SERVICE: {
        "profanity": {"dismissive": 1.0},
        "dismissive": {"dismissive": 0.9},
        "fallback": {"stall": 0.8},
        "refusal": {"refusal": 0.8},
        "failure": {"refusal": 0.6},
        "no_result": {"nores": 0.9},
        "empathy": {"empathy": 1.0},
        "apology": {"apology": 1.0},
        "identity_check": {"verification": 0.9},
        "offer_help": {"offer": 0.9},
        "recap": {"recap": 0.9},
        "next_step": {"next": 0.9},
        "commitment": {"next": 0.9},
        "done": {"done": 0.9},
        "success": {"done": 0.8},
        "greeting": {"greet": 1.0},
        "closing": {"warm": 0.9},
        "thanks": {"warm": 0.7},
    },
}
# Phrases of the English lexicon that say as much as a classifier does.
_SURE_IN_ENGLISH = frozenset(
    {"empathy", "apology", "dismissive", "done", "success", "next_step", "commitment"}
)


class Mark(NamedTuple):
    """How likely a line shows a label, 0 to 1, and `text[start:end]`, which shows it best."""

    probability: float
    start: int
    end: int


Marks: TypeAlias = Mapping[str, Mark]


_NO_MARK = Mark(0.0, 0, 0)


def likelihood(marks: Marks, label: str) -> float:
    """Return the probability of a label, 0 where nothing shows it."""
    return marks.get(label, _NO_MARK).probability


class Sentence(NamedTuple):
    """A sentence, or a window of a long one, at `text[start:end]` of its line.

    `words` are in lower case, with 0 for a number and @ for a name that is known by its capital.
    `questions` and `exclamations` count marks; `shouted` says that most of its longer words are in
    capitals.
    """

    start: int
    end: int
    words: tuple[str, ...]
    questions: int
    exclamations: int
    shouted: bool


# A word or a piece of one by itself; a pair or triple of words, or a mark, as a tuple.
_Feature: TypeAlias = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Classifier:
    """The labels of one side, with a bias each, and the weights of every known feature for them.

    `of_word` adds up the weights of the features that a word has by itself.
    """

    labels: tuple[str, ...]
    biases: tuple[float, ...]
    weights: PackedRows[_Feature]
    of_word: Callable[[str], int]

    def logits(self, sentence: Sentence) -> list[float]:
        """Return the logit of each label, in the order of the labels."""
        of_words = sum(map(self.of_word, set(sentence.words)))
        total = of_words + self.weights.total(_sentence_features(sentence))
        ((known, *sums),) = self.weights.columns(total)
        scale = SCALE * math.sqrt(known or 1)
        return [bias + total / scale for bias, total in zip(self.biases, sums, strict=True)]


def marks_of(line: Line, cues: Iterable[Cue]) -> Marks:
    """Read the labels of a line of the customer or the service side; `cues` are those of the line."""
    marks: dict[str, Mark] = {}
    cues = list(cues)
    if line.language == ENGLISH and not _only_asks_for_person(line, cues):
        side = "customer" if line.side is Side.CUSTOMER else "agent"
        marks = _classified(line.text[:_MOST_LINE_CHARS], shipped(side))
        cues = [cue for cue in cues if cue.kind in _SURE_IN_ENGLISH]
    for cue in cues:
        for label, probability in _BY_CUE[line.side].get(cue.kind, {}).items():
            if likelihood(marks, label) < probability:
                marks[label] = Mark(probability, cue.start, cue.end)
    return marks


def _only_asks_for_person(line: Line, cues: Iterable[Cue]) -> bool:
    # "Agent." says nothing of a feeling, however often a bot makes the customer say it.
    bare = line.text.strip(_CALM_MARKS)
    return any(cue.kind == "escalation_request" and cue.quote == bare for cue in cues)


def _classified(text: str, classifier: Classifier) -> dict[str, Mark]:
    best: list[float] = []
    places: list[tuple[int, int]] = []
    for sentence in sentences_of(text):
        place = (sentence.start, sentence.end)
        logits = classifier.logits(sentence)
        if not best:
            best, places = logits, [place] * len(logits)
            continue
        for index, logit in enumerate(logits):
            if logit > best[index]:
                best[index], places[index] = logit, place
    return {
        label: Mark(probability_of(logit), *place)
        for label, logit, place in zip(classifier.labels, best, places, strict=False)
        if logit >= _LEAST_LOGIT
    }


@cache
def shipped(side: str) -> Classifier:
    """Return the classifier of the package for `customer` or `agent` lines."""
    return classifier_from(model_document(f"{side}-turns"))


def classifier_from(document: Mapping[str, Any]) -> Classifier:
    """Read a classifier from its JSON document."""
    # A line of 1,000 characters has some thousand features, of weights in the thousands at most.
    weights = PackedRows(
        {_feature(text): row for text, row in document["weights"].items()}, bits=32
    )

    @lru_cache(maxsize=_WORDS_REMEMBERED)
    def of_word(word: str) -> int:
        return weights.total(_word_features(word))

    return Classifier(tuple(document["labels"]), tuple(document["biases"]), weights, of_word)


def _feature(text: str) -> _Feature:
    # Pairs of words are told by two strings that are there anyway, rather than by a new one.
    return tuple(text.split(" ")) if " " in text or text[0] == _MARK else text


def probability_of(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def features_of(sentence: Sentence) -> Iterator[str]:
    """Yield the features of a sentence as texts; a piece of two words comes twice."""
    for word in dict.fromkeys(sentence.words):
        yield from _word_features(word)
    yield from map(" ".join, _sentence_features(sentence))


def _word_features(word: str) -> Iterator[str]:
    """Yield a word and the pieces of its letters."""
    yield word
    if len(word) >= _LEAST_DIVIDED:
        framed = f"{_START}{word}{_END}"
        pieces = (
            f"~{framed[start : start + length]}"
            for length in _PIECES
            for start in range(len(framed) - length + 1)
        )
        yield from dict.fromkeys(pieces)


def _sentence_features(sentence: Sentence) -> set[tuple[str, ...]]:
    framed = (_START, *sentence.words, _END)
    triples = zip(framed, framed[1:], framed[2:], strict=False)
    features: set[tuple[str, ...]] = {*pairwise(framed), *triples}
    if sentence.questions:
        features.add(("#?",))
    if sentence.exclamations:
        features.add(("#!",))
        if sentence.exclamations > 1:
            features.add(("#!!",))
    if sentence.shouted:
        features.add(("#caps",))
    if len(sentence.words) <= _SHORT_SENTENCE:
        features.add(("#short",))
    return features


def sentences_of(text: str) -> list[Sentence]:
    """List the sentences of a text and at the end the whole text, where it is several and short."""
    sentences: list[Sentence] = []
    tokens: list[str] = []
    for match in _SENTENCE.finditer(text):
        start, end = match.span()
        of_sentence = _tokens(match.group())
        tokens += of_sentence
        words = match.group().split()
        if len(words) <= _MOST_WORDS:
            sentences.append(_sentence(start, end, of_sentence))
        else:
            sentences += _windows(text, start, end)
    if len(sentences) > 1:
        whole = _sentence(0, len(text), tokens)
        if len(whole.words) <= _MOST_WORDS_AT_ONCE:
            sentences.append(whole)
    return sentences


def whole_of(text: str) -> Sentence:
    """Read a text as one sentence, however long it is."""
    return _sentence(0, len(text), _tokens(text))


def _windows(text: str, start: int, end: int) -> Iterator[Sentence]:
    words = [match.span() for match in _WRITTEN.finditer(text, start, end)]
    for first in range(0, len(words) - _STEP, _STEP):
        last = min(first + _WINDOW, len(words)) - 1
        begins, ends = words[first][0], words[last][1]
        yield _sentence(begins, ends, _tokens(text[begins:ends]))


def _tokens(text: str) -> list[str]:
    tokens: list[str] = _TOKEN.findall(text.replace("\u2019", "'"))
    return tokens


def _sentence(start: int, end: int, tokens: Sequence[str]) -> Sentence:
    return Sentence(
        start=start,
        end=end,
        words=tuple(_words(tokens)),
        questions=tokens.count("?"),
        exclamations=tokens.count("!"),
        shouted=_is_shouted(tokens),
    )


def _words(tokens: Sequence[str]) -> list[str]:
    words = []
    begins = True
    for token in tokens:
        if token.islower():
            words.append(token)
        elif token in _ENDS:
            begins = True
            continue
        elif token[0].isdigit():
            words.append(_NUMBER)
        elif token[0] == "[":
            words.append(_NAME if token in _NAME_MASKS else _NUMBER)
        else:
            words.append(token.lower() if begins or not _is_name(token) else _NAME)
        begins = False
    return words


def _is_name(token: str) -> bool:
    # I, I'm and shouting are none.
    return len(token) > 1 and token[0].isupper() and token[1].islower()


def _is_shouted(tokens: Sequence[str]) -> bool:
    longer = [token for token in tokens if len(token) >= _LEAST_LETTERS]
    shouted = sum(map(str.isupper, longer))
    return shouted >= _LEAST_SHOUTED and 2 * shouted >= len(longer)
