import json
import re
from pathlib import Path

import pytest

from app.judge.dialogue.cues import find_cues
from app.judge.dialogue.turns import dialogue_of
from app.judge.languages.lexicon import by_sound, sounds_of
from tests.talks import chat

LEXICON = Path("app/judge/languages/lexicons/hi-Latn.json")


@pytest.mark.parametrize(
    "spellings",
    [
        "nahi nahee nhi naahi",
        "dijiye dijie deejiye deejie",
        "dhanyavaad dhanyawad dhanyvad dhanywaad",
        "gaya gya gayaa",
        "gayi gai gyi gayee",
        "jayega jaega jaayega",
        "accha acha achha achchha",
        "karna krna karnaa",
        "phir fir",
        "zaroor jaroor jarur",
    ],
)
def test_one_word_has_one_sound_however_it_is_spelled(spellings) -> None:
    assert len({sounds_of(word).text for word in spellings.split()}) == 1


def test_words_of_other_sounds_stay_apart() -> None:
    words = "nahi nayi na gaya gayi diya diye main mein mil mila kal kuch pata pate"
    assert len({sounds_of(word).text for word in words.split()}) == len(words.split())


@pytest.mark.parametrize("text", ["", "a", "naheeee kar", "kyaa huaa??", "नमस्ते ji", "aaaayyyiii"])
def test_every_sign_of_a_sound_is_found_where_it_was_written(text) -> None:
    sounds = sounds_of(text)
    assert len(sounds.starts) == len(sounds.text) + 1
    assert sounds.starts[-1] == len(text)
    assert list(sounds.starts) == sorted(set(sounds.starts))


def test_a_pattern_keeps_its_classes_and_escapes() -> None:
    spelled = by_sound(r"(?:nahee|kaar)\b(?! waa[aeiou]{0,4})")
    assert spelled == r"(?:nhi|kr)\b(?! va[aeiou]{0,4})"


def test_a_cue_quotes_what_was_written() -> None:
    transcript = chat(("c", 0, "Kyaaa, mera paisaa  kaat liyaa aur kuchh nhiii milaa!"))
    dialogue = dialogue_of(transcript, channel="chat", language="hi-Latn")
    quotes = {cue.quote for cue in find_cues(dialogue).of("problem")}
    assert quotes == {"paisaa  kaat", "nhiii milaa"}


def test_no_word_of_a_pattern_ends_in_an_a_that_a_class_would_swallow() -> None:
    # "bata[a-z]" would not find "batate", which sounds like "btte".
    document = json.loads(LEXICON.read_text("utf-8"))
    entries = [entry for entry in document["kinds"].values() if not entry.get("cased")]
    written = [*document["fragments"].values(), *(" ".join(entry["patterns"]) for entry in entries)]
    assert [text for text in written if re.search(r"[b-df-hj-np-tv-z]a\[", text)] == []
