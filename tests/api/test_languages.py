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
FRENCH = said(
    ("customer", "Bonjour, ma commande n'est pas arrivée et je suis inquiet pour cela."),
    ("agent", "Bonjour, je regarde tout de suite pour vous. Quel est votre numéro de commande ?"),
    ("customer", "Merci, c'est le numéro onze."),
)


def test_languages_are_told_line_by_line_and_named_where_they_are_not_read(client: Caller) -> None:
    mixed = put_chat(client, "mixed", messages=MIXED, language=None)
    french = put_chat(client, "french", messages=FRENCH, language=None)
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

    failed_id = get(client, f"/conversations/{french['id']}")["evaluationId"]
    failed = get(client, f"/evaluations/{failed_id}")
    assert (failed["status"], failed["language"]) == ("failed", "fr")
    assert failed["error"]["code"] == "UNSUPPORTED_LANGUAGE"
    assert failed["error"]["message"].startswith("Not judged: French is not read yet.")
