import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import acts_of, shipped_readers
from app.judge.conduct.readings import readings_of
from app.judge.context import Context
from app.judge.dialogue.cues import find_cues
from app.judge.dialogue.turns import dialogue_of
from app.judge.facts.conversation_facts import facts_of
from app.judge.facts.sentiment import sentiment_of
from app.judge.insights.summary import issue_of
from app.judge.insights.topics import topics_of
from app.judge.languages.detection import language_key, languages_of, name_of, with_languages
from app.judge.languages.lexicon import LANGUAGES, lexicon_of
from app.judge.rule_judge import RuleJudge
from app.judge.scorecard.values import Topic
from app.judge.scoring.score import ErrorCode
from bench.languages import dialogues, found_in, halves
from tests.sampling import examples
from tests.talks import call, chat, scorecard

CHAT = scorecard("chat")
HINGLISH = chat(
    ("c", 0, "Hello, my parcel has not arrived and I am a little worried about it."),
    ("a", 30, "Aapko pareshani hui, iske liye maafi chahta hoon. Order number bataiye please."),
    ("c", 60, "It is 1188, can you please check where it is?"),
    ("a", 90, "आपका पार्सल कल शाम तक पहुँच जाएगा।"),
    ("c", 120, "Bahut dhanyavaad!"),
    language="en-IN",
)


def judge(*lines: tuple[str, str], language: str | None = None, channel: str = "chat"):
    timed = [(letter, 20 * index, text) for index, (letter, text) in enumerate(lines)]
    return RuleJudge().judge(chat(*timed, language=language), scorecard(channel), Context())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Hello, can you help me with the bill that you sent?", "en"),
        ("Mera order abhi tak nahi aaya hai, kya kar sakte hain aap?", "hi-Latn"),
        ("मेरा ऑर्डर अभी तक नहीं आया है।", "hi"),
        ("माझी ऑर्डर अजून आली नाही, मला मदत करा.", "mr"),
        ("Bonjour, je voudrais savoir où est ma commande.", "fr"),
        ("Hola, mi pedido no ha llegado todavía, ¿puede ayudarme por favor?", "es"),
        ("Ich habe eine Rechnung bekommen und verstehe sie nicht.", "de"),
        ("Мой заказ ещё не пришёл, что делать?", "ru"),
        ("میرا آرڈر ابھی تک نہیں آیا ہے", "ur"),
        ("طلبي لم يصل إلى الآن، هل من مساعدة؟", "ar"),
        ("என் ஆர்டர் இன்னும் வரவில்லை", "ta"),
        ("私の注文はまだ届いていません", "ja"),
        ("我的订单还没有到", "zh"),
        ("asdf qwer zxcv", "und"),
        ("", "und"),
        ("👍👍", "und"),
    ],
)
def test_a_language_is_detected_by_script_and_common_words(text, code) -> None:
    told = languages_of([text], declared=None)
    assert told.main == code
    assert (told.confidence > 0) == (code != "und")


@pytest.mark.parametrize(
    ("tag", "key"),
    [("en-GB", "en"), ("ENG", "en"), ("hi-Latn-IN", "hi-Latn"), ("hi_IN", "hi"), (None, "und")],
)
def test_a_tag_is_reduced_to_what_tells_languages_apart(tag, key) -> None:
    assert language_key(tag) == key


def test_a_language_without_a_name_is_named_by_its_tag() -> None:
    assert (name_of("fr-CA"), name_of("xx")) == ("French", "xx")


def test_a_declaration_is_believed_but_for_a_switch_between_english_and_hindi() -> None:
    assert languages_of(["Please help me with that."], declared="fr").of_texts == ("fr",)
    detected = languages_of([line.text for line in HINGLISH.segments], declared="en-IN")
    assert detected.of_texts == ("en", "hi-Latn", "en", "hi", "hi-Latn")
    assert detected.confidence == 1


def test_a_transcript_keeps_the_languages_that_were_told() -> None:
    told = with_languages(HINGLISH)
    assert [line.language for line in told.segments][:2] == ["en-IN", "hi-Latn"]
    assert (told.language, told.language_confidence) == ("en-IN", None)
    undeclared = with_languages(chat(("c", 0, "Mera order nahi aaya hai."), language=None))
    assert undeclared.language == "hi-Latn"
    assert 0 < undeclared.language_confidence < 1
    assert with_languages(chat(("c", 0, "Qwrt."), language=None)).language is None


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_lexicon_can_answer_every_rule(language) -> None:
    lexicon = lexicon_of(language)
    # What the lexicon of Hindi adds to the English one is what the rules ask for.
    own = {
        phrase.kind for phrase in lexicon_of("hi").phrases if not phrase.pattern.pattern.isascii()
    }
    assert lexicon.kinds >= own >= {"greeting", "asks_secret", "opt_out", "solved", "still_broken"}
    assert lexicon.unmeasured == (language != "en")
    assert all(phrase.triggers for phrase in lexicon.phrases)


@pytest.mark.parametrize(
    ("languages", "read", "least", "recall"),
    [
        (("hi", "hi-Latn"), dialogues, 150, 0.9),
        (("hi", "hi-Latn"), halves, 200, 0.9),
        *(((language,), dialogues, 90, 0.85) for language in ("de", "es", "fr", "pt")),
    ],
)
def test_the_first_lexicons_find_what_is_labelled(languages, read, least, recall) -> None:
    hits = labelled = given = 0
    for dialogue in read():
        if dialogue.language not in languages:
            continue
        for (_, _, labels), detected in zip(
            dialogue.lines, found_in(dialogue, dialogue.language), strict=True
        ):
            hits, labelled, given = (
                hits + len(labels & detected),
                labelled + len(labels),
                given + len(detected),
            )
    assert labelled > least
    assert hits / labelled > recall
    assert hits / given > 0.9


def test_each_line_of_a_mixed_conversation_is_read_in_its_own_language() -> None:
    facts = facts_of(HINGLISH, CHAT, Context())
    assert facts.said("apology")[0].line.segment.id == "seg_0002"
    assert facts.said("next_step")[0].quote == "कल शाम तक पहुँच जाएगा"
    assert [cue.quote for cue in facts.heard("thanks")] == ["dhanyavaad"]
    acts = facts.acts.lines
    assert acts[1].shows(Act.APOLOGISE)
    assert acts[3].shows(Act.NEXT)
    assert acts[4].shows(Act.THANK)
    assert facts.opinion is None


def test_an_english_line_of_a_hindi_conversation_may_hold_hindi() -> None:
    line = "Ok, I can do that, but paise kat gaye and I want it back, thnx"
    for language, kinds in (("hi-Latn", {"problem", "thanks"}), ("en", set())):
        facts = facts_of(chat(("c", 0, line), language=language), CHAT, Context())
        assert facts.dialogue.lines[0].language == "en"
        assert {kind for kind in ("problem", "thanks") if facts.heard(kind)} == kinds


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (["VPN down since noon.", "Error 809.", "Restarted twice, MacBook Pro M3."], "en"),
        (["Refund Zalando order 88-12 pls", "sure one sec", "thx"], "en"),
        (["order 9921 cancelled?", "Confirmed, refunded.", "cheers"], "en"),
        (["Rechnung falsch", "bitte erstatten"], "de"),
        (["Internet tidak berfungsi sejak kemarin", "Maaf atas gangguan"], "und"),
        (["ok", "nope"], "und"),
    ],
)
def test_short_english_of_names_and_jargon_is_english(lines, code) -> None:
    assert languages_of(lines, declared=None).main == code


def test_what_is_not_recognised_says_which_words_were_read() -> None:
    talk = chat(("c", 0, "Zorp blik tankel"), ("a", 9, "Wuff blik"), language=None)
    reason = dialogue_of(talk, channel="chat", language=None).unread_reason
    assert reason == (
        "Not judged: the language was not recognised from words such as "
        "\u201cZorp blik tankel Wuff\u201d."
    )


def test_what_rests_on_a_first_lexicon_says_so_and_is_less_sure() -> None:
    lines = [
        ("c", "Namaste, bahut pareshan hoon, mera parcel nahi aaya hai."),
        ("a", "Namaste, main Anjali, Northwind se. Asuvidha ke liye maafi."),
        ("a", "Parcel bhej diya hai, kal tak aa jayega. Aur koi madad chahiye aapko?"),
        ("c", "Nahi, bahut dhanyavaad aapka."),
    ]
    results = judge(*lines, language="hi-Latn").results
    answers = {item["key"]: item for item in results["criteria"]}
    data = answers["opening.greeting"]
    assert data["normalizedScore"] == 1
    assert data["explanation"].endswith(
        "Lines in romanised Hindi are read with a first word list, so this is less certain."
    )
    assert data["confidence"] < 0.8
    assert answers["closing.recap"]["normalizedScore"] == 1
    assert answers["discovery.understanding"]["normalizedScore"] == 1
    assert results["sentiment"]["customer"]["end"] > 0 > results["sentiment"]["customer"]["begin"]


@pytest.mark.parametrize(
    ("language", "opening", "asking", "warning"),
    [
        (
            "hi",
            "जी बोलिए, क्या बात है?",
            "सत्यापन के लिए जो ओटीपी आया है वह बता दीजिए।",
            "कृपया अपना ओटीपी कभी किसी को मत बताइए, हम भी नहीं पूछते।",
        ),
        (
            "de",
            "Ja bitte, worum geht es denn?",
            "Bitte nennen Sie mir die TAN aus der SMS.",
            "Nennen Sie Ihre PIN bitte niemandem, auch uns nicht.",
        ),
        (
            "es",
            "Sí, ¿qué pasa con mi cuenta?",
            "¿Me puede decir la clave de su tarjeta?",
            "No comparta su clave con nadie, nosotros no la pedimos.",
        ),
        (
            "fr",
            "Oui, qu'est-ce qui se passe ?",
            "Pouvez-vous me donner votre code secret ?",
            "Ne donnez jamais votre code secret au téléphone.",
        ),
        (
            "pt",
            "Sim, o que aconteceu com a conta?",
            "Pode me informar a senha do cartão?",
            "Nunca informe a sua senha a ninguém.",
        ),
    ],
)
def test_a_secret_that_is_asked_for_fails_and_a_warning_does_not(
    language, opening, asking, warning
) -> None:
    def handled(text: str) -> float | None:
        lines = [("c", opening), ("a", text), ("c", "Ok."), ("a", text)]
        rows = {row["key"]: row for row in judge(*lines, language=language).results["criteria"]}
        return rows["compliance.data_handling"]["normalizedScore"]

    assert handled(asking) == 0
    assert handled(warning) is None


def test_words_are_known_with_and_without_accents() -> None:
    def kinds(text: str, language: str) -> dict[str, str]:
        read = dialogue_of(chat(("a", 0, text), language=language), channel="chat", language=None)
        return {cue.kind: cue.quote for line in read.lines for cue in find_cues(read).in_line(line)}

    spellings = ("Grüße Sie, schönen Tag noch!", "Gruesse Sie, schoenen Tag noch!")
    for text in spellings:
        assert {"greeting", "closing"} <= kinds(text, "de").keys()
    assert kinds("Le transfiero con el área técnica.", "es")["transfer"].startswith("Le transfiero")
    assert kinds("Disculpe, ¿qué número?", "es")["apology"] == "Disculpe"
    assert "hold" in kinds("Un momentito, dejeme verificar.", "es")
    assert kinds("Je suis desolee pour ce désagrément.", "fr")["apology"] == "desolee"
    assert kinds("Não se preocupe.", "pt").keys() == kinds("Nao se preocupe.", "pt").keys() != set()


def test_only_what_needs_no_words_is_judged_in_a_language_without_phrases() -> None:
    lines = [("c", "Buongiorno, il mio ordine non è arrivato e sono preoccupato. " * 2)]
    judgement = judge(*lines, ("a", "Buongiorno, guardo subito per lei."), language="it")
    rows = {row["key"]: row for row in judgement.results["criteria"]}
    assert rows["responsiveness.first_response"]["applicable"] is True
    assert rows["closing.recap"]["explanation"] == "Not judged: Italian is not read yet."
    missing = {row["metric"]: row["reason"] for row in judgement.results["metricsMissing"]}
    assert missing["sentiment.overall"] == "Not judged: Italian is not read yet."
    assert "Italian" in judgement.results["resolution"]["explanation"]


@pytest.mark.parametrize(
    ("text", "language", "code"),
    [
        ("Buongiorno, vorrei sapere dove è il mio ordine.", None, ErrorCode.UNSUPPORTED_LANGUAGE),
        ("我的订单还没有到，请帮我查一下。", None, ErrorCode.UNSUPPORTED_LANGUAGE),
        ("asdf qwer zxcv " * 9, None, ErrorCode.UNSUPPORTED_LANGUAGE),
        ("asdf qwer zxcv " * 9, "xx", ErrorCode.UNSUPPORTED_LANGUAGE),
        ("Hello there, how can I help you?", "en", ErrorCode.INSUFFICIENT_CONTENT),
    ],
)
def test_without_anything_to_judge_the_language_is_named_as_the_cause(text, language, code) -> None:
    lines = [("a", None, text)] * (1 if language == "en" else 3)
    judgement = RuleJudge().judge(chat(*lines, language=language), CHAT, Context())
    assert judgement.problem.code is code


def test_back_channels_of_a_language_are_not_interruptions() -> None:
    said = [("c", 0, 9_000, "मेरा पार्सल अभी तक नहीं आया है।"), ("a", 3_000, 5_000, "हाँ जी अच्छा")]
    for text, count in (("हाँ जी अच्छा", 0), ("मैं अभी देखता हूँ", 1)):
        lines = [said[0], (*said[1][:3], text)]
        facts = facts_of(call(*lines, language="hi"), scorecard("voice"), Context())
        assert facts.measures.get("interruptionsByAgent") == count


def test_topics_of_a_scorecard_are_found_in_any_script() -> None:
    facts = facts_of(chat(("c", 0, "मेरी गाड़ी की बीमा पॉलिसी"), language="hi"), CHAT, Context())
    own = (Topic("insurance", ("बीमा पॉलिसी",)), Topic("part of a word", ("बीम",)))
    assert topics_of(facts, own, issue_of(facts)) == ("insurance",)
    chinese = facts_of(chat(("c", 0, "我忘记密码了"), language="zh"), CHAT, Context())
    own = (Topic("password", ("pass word", "密码")), Topic("refund", ("退款",)))
    assert topics_of(chinese, own, issue_of(chinese)) == ("password",)


@pytest.mark.parametrize(
    ("text", "language"),
    [("मेरा रिफ़ंड अभी तक नहीं आया है।", "hi"), ("Mujhe mere paise wapas chahiye.", "hi-Latn")],
)
def test_our_topics_are_found_in_hindi(text, language) -> None:
    said = [("c", 0, text), ("a", 9, "जी, एक मिनट।")]
    facts = facts_of(chat(*said, language=language), CHAT, Context())
    assert topics_of(facts, (), issue_of(facts)) == ("refund",)


def test_a_negation_turns_a_feeling_around_on_either_side() -> None:
    def score(text: str) -> float:
        dialogue = dialogue_of(
            chat(("c", 0, text), language="hi-Latn"), channel="chat", language=None
        )
        cues = find_cues(dialogue)
        acts = acts_of(dialogue, cues, shipped_readers(fast=False))
        readings = readings_of(cues, acts)
        return sentiment_of(dialogue, readings, CHAT.metrics).segments[0].score

    assert score("Service accha hai") > 0 > score("Service accha nahi hai")
    assert score("Service ghatiya hai") < 0
    assert score("Parcel mez par hai") == 0


SIGNS = st.sampled_from(
    ["नमस्ते", "धन्यवाद", "क्षमा", "हाँ", "फ़ोन", "e\u0301", "👩\u200d👩\u200d👧", "שלום", "\u202eمرحبا\u202c",
     "Thank you", "sorry", "\u0301", "\u200d", "ﬃ", "İ", "ß", "𝔘", "।", ".", "?", "\n", "nahi aaya"]
)  # fmt: skip


@settings(max_examples=examples(80))
@given(
    st.lists(st.lists(SIGNS, max_size=8), min_size=1, max_size=5),
    st.sampled_from([None, "en", "hi"]),
)
def test_quotes_are_counted_in_code_points_whatever_the_script(texts, language) -> None:
    lines = [("ac"[index % 2], 10 * index, " ".join(signs)) for index, signs in enumerate(texts)]
    transcript = chat(*lines, language=language)
    written = {segment.id: segment.text for segment in transcript.segments}
    results = RuleJudge().judge(transcript, CHAT, Context()).results
    pools = [*results["criteria"], results["resolution"], *results["coaching"]["strengths"]]
    for piece in (piece for pool in pools for piece in pool["evidence"]):
        quote = written[piece["segmentId"]][piece["charStart"] : piece["charEnd"]]
        assert quote == piece["quote"]
        assert not unicodedata.category(quote[0]).startswith("Z")
    facts = facts_of(transcript, CHAT, Context())
    for kind in lexicon_of("hi").kinds:
        for cue in facts.cues.of(kind):
            assert cue.quote == written[cue.line.segment.id][cue.start : cue.end] != ""


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        (
            "hi",
            [
                "मेरा पार्सल नहीं आया है, बहुत परेशान हूँ।",
                "यह मेरा काम नहीं है।",
                "यह बहुत घटिया सेवा है।",
                "जो करना है कर लो।",
            ],
        ),
        (
            "hi-Latn",
            [
                "Mera parcel nahi aaya hai, bahut pareshan hoon.",
                "Yeh mera kaam nahi hai.",
                "Yeh bahut bekar service hai.",
                "Jo karna hai kar lo.",
            ],
        ),
    ],
)
def test_dismissive_replies_in_hindi_are_no_courtesy(language, lines) -> None:
    results = judge(
        *(("ca"[n % 2], text) for n, text in enumerate(lines)), language=language
    ).results
    answers = {item["key"]: item for item in results["criteria"]}
    assert answers["communication.courtesy"]["normalizedScore"] < 0.6
    quotes = [piece["quote"] for piece in answers["communication.courtesy"]["evidence"]]
    assert quotes == [lines[1], lines[3]]
