"""Languages over the API: told where they are not declared, and named where they can't be read."""

from tests.caller import Caller
from tests.contacts import get, judge, put_chat


def said(*lines: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "text": text} for role, text in lines]


MIXED = said(
    ("customer", "Hello, my refund has not come and I am really worried about it."),
    ("agent", "नमस्ते, असुविधा के लिए माफ़ी चाहती हूँ। ऑर्डर नंबर बताइए।"),
    ("customer", "It is 1188, can you please check?"),
    ("agent", "Refund bhej diya gaya hai, teen din mein aa jayega. Aur koi madad chahiye aapko?"),
    ("customer", "Nahi, bahut dhanyavaad."),
)
ITALIAN = said(
    ("customer", "Buongiorno, il mio ordine non è arrivato e sono preoccupato per questo."),
    ("agent", "Buongiorno, guardo subito per lei. Qual è il numero del suo ordine?"),
    ("customer", "Grazie, è il numero undici, aspetto la sua risposta."),
)
GERMAN = said(
    ("customer", "Hallo, mein Paket ist nicht angekommen, ich bin langsam wirklich sauer."),
    ("agent", "Guten Tag, das tut mir sehr leid. Nennen Sie mir bitte Ihre Bestellnummer?"),
    ("customer", "Das ist die 1188."),
    ("agent", "Danke. Ich habe den Ersatz veranlasst, Sie erhalten ihn in drei Tagen."),
    ("agent", "Kann ich sonst noch etwas für Sie tun?"),
    ("customer", "Nein, vielen Dank, auf Wiederhören."),
)


def test_languages_are_detected_line_by_line_and_unread_ones_are_named(client: Caller) -> None:
    mixed = put_chat(client, "mixed", messages=MIXED, language=None)
    italian = put_chat(client, "italian", messages=ITALIAN, language=None)
    german = put_chat(client, "german", messages=GERMAN, language=None)
    judge()
    evaluation_id = get(client, f"/conversations/{mixed['id']}")["evaluationId"]
    shown = get(client, f"/evaluations/{evaluation_id}")
    assert (shown["status"], shown["language"], shown["error"]) == ("completed", "en", None)
    transcript = get(client, f"/evaluations/{evaluation_id}/transcript")
    spoken = [segment["language"] for segment in transcript["segments"]]
    assert spoken == ["en", "hi", "en", "hi-Latn", "hi-Latn"]
    shares = transcript["languages"]
    assert {share["code"] for share in shares} == {"en", "hi", "hi-Latn"}
    assert abs(sum(share["share"] for share in shares) - 1) < 0.001
    recap = next(
        criterion
        for criterion in get(client, f"/evaluations/{evaluation_id}/results")["criteria"]
        if criterion["key"] == "closing.recap"
    )
    assert recap["normalizedScore"] == 1
    assert "first word list" in recap["explanation"]

    failed_id = get(client, f"/conversations/{italian['id']}")["evaluationId"]
    failed = get(client, f"/evaluations/{failed_id}")
    assert (failed["status"], failed["language"]) == ("failed", "it")
    assert failed["error"]["code"] == "UNSUPPORTED_LANGUAGE"
    assert failed["error"]["message"].startswith("Not judged: Italian is not read yet.")

    german_id = get(client, f"/conversations/{german['id']}")["evaluationId"]
    assert get(client, f"/evaluations/{german_id}")["language"] == "de"
    results = get(client, f"/evaluations/{german_id}/results")
    answers = {criterion["key"]: criterion for criterion in results["criteria"]}
    assert answers["opening.greeting"]["normalizedScore"] == 1
    assert "German are read with a first word list" in answers["opening.greeting"]["explanation"]
    quotes = [piece["quote"] for answer in answers.values() for piece in answer["evidence"]]
    assert "Guten Tag, das tut mir sehr leid." in quotes
    assert all(any(quote in line["text"] for line in GERMAN) for quote in quotes)
    assert results["sentiment"]["customer"]["begin"] < 0 < results["sentiment"]["customer"]["end"]
