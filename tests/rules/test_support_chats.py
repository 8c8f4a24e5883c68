"""Ordinary support chats that earlier rules misjudged."""

import pytest

from app.judge.context import Context
from app.judge.rule_judge import RuleJudge
from tests.rules.test_claims import criterion, results
from tests.talks import chat, scorecard, worth


def test_the_cause_of_the_problem_is_not_a_failure_of_the_agent() -> None:
    document = results("""
        C: Hi, my gym took the monthly fee two times in April.
        A: Hello, this is Rosa from FitHall. I'm sorry about that. Your membership number, please?
        C: 88410
        A: Thank you. The second payment was a system error. I have refunded it, you will see it in 2 to 3 days.
        C: Great, thanks!
        A: You're welcome, have a nice day!
    """)
    assert worth(criterion(document, "resolution.completeness")) > 0.75
    assert document["resolution"]["explanation"] == "The agent did what was asked for."


def test_what_was_done_instead_of_what_is_refused_counts() -> None:
    document = results("""
        C: I want my money back for the kettle from March
        A: Hello, Tim from Kitchenly here. Our return period is 30 days, so I'm unable to refund it.
        C: But it leaks since Monday
        A: As it leaks, I can open a warranty claim and we send you a new one. Shall I?
        C: Fine
        A: Done, your claim number is 771. You'll get the new one within 4 to 6 days.
        C: ok bye
    """)
    explanation = criterion(document, "resolution.completeness")["explanation"]
    assert "refused" not in explanation
    assert document["resolution"]["status"] in ("resolved", "partially_resolved")
    assert "claim number is 771" in document["summary"]["outcome"]
    assert document["summary"]["actionItems"] == ["You'll get the new one within 4 to 6 days."]


@pytest.mark.xfail(strict=True, reason="polite mockery is read as a fact or a refusal")
def test_contempt_in_polite_words_is_not_courtesy() -> None:
    document = results("""
        C: Hello, where do I see my old statements?
        A: Good afternoon. They are in the archive. Most people find that without help.
        C: I looked there, it is empty
        A: As I have already explained, they are in the archive. Perhaps read my message more slowly.
        C: I did. There is nothing.
        A: I'm afraid I cannot teach you how to use a computer, madam.
        C: Wow. Ok then.
        A: Have a lovely day.
    """)
    assert criterion(document, "communication.courtesy")["normalizedScore"] < 0.5
    assert document["resolution"]["status"] == "unresolved"


def test_a_diagnosis_and_a_notice_are_not_rude() -> None:
    document = results("""
        C: My scanner shows a red light
        A: Hello, this is Ana from ScanPro. Did you clean the glass?
        C: yes, still red
        A: Then I'm afraid it might be a defect of the lamp.
        A: Are you still there?
        A: Since there is no answer, I am ending our conversation.
    """)
    assert worth(criterion(document, "communication.courtesy")) > 0.8
    assert [moment for moment in document["moments"] if moment["type"] == "rudeness"] == []


def test_a_customer_who_has_left_says_nothing_of_completeness() -> None:
    document = results("""
        C: hello
        A: Hello, this is Kim at Voltix. How can I help you today?
        C: my meter reading is wrong on the bill
        A: I can check that. What is your contract number?
        A: Are you still there?
        A: Since there is no answer, I am ending our conversation.
    """)
    completeness = criterion(document, "resolution.completeness")
    assert completeness["applicable"] is False
    assert completeness["explanation"] == "The customer left before the close."
    quotes = [item["quote"] for item in criterion(document, "discovery.probing")["evidence"]]
    assert "Are you still there?" not in quotes


@pytest.mark.xfail(
    strict=True, reason="'now it works' is not read as solved after the customer's own steps"
)
def test_a_customer_who_solved_it_alone_is_not_upset() -> None:
    document = results("""
        C: hi my app doesn't open since the update
        A: Hello, welcome to FitTrack support, I'm Joe. Which phone do you have?
        C: Pixel 7
        C: oh wait
        C: I restarted the phone and now it works
        A: Great to hear! Anything else I can do for you?
        C: nope all good, sorry for bothering you
        A: No bother at all. Have a good one!
    """)
    assert document["resolution"]["status"] == "resolved"
    assert criterion(document, "resolution.confirmed")["answer"] == "yes"
    assert criterion(document, "communication.empathy")["explanation"] == (
        "The customer did not sound upset."
    )


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            "The court said it takes six weeks.",
            marks=pytest.mark.xfail(
                strict=True, reason="a reported duration is read as a complaint"
            ),
        ),
        "Of course. I am just getting warmed up.",
        "No, that won't be necessary right now.",
        "No. Don't order the tickets now.",
        "Lovely. Then please do it.",
    ],
)
def test_a_neutral_line_needs_no_sympathy(line: str) -> None:
    document = results(f"""
        C: Hi, I'd like to change the date of my order.
        A: Hello, this is Zoe from Parcelix. I have changed it. Shall I send you a letter about it?
        C: {line}
        A: All right. Anything else?
        C: No, thank you.
    """)
    empathy = criterion(document, "communication.empathy")
    assert empathy["explanation"] == "The customer did not sound upset."


@pytest.mark.parametrize(
    "line",
    [
        "It has been out for delivery for four days. It must be having a lovely trip.",
        pytest.param(
            "No, you've done quite enough already.",
            marks=pytest.mark.xfail(strict=True, reason="the reproach is read as praise"),
        ),
        "Oh wonderful, another 48 hours.",
    ],
)
def test_sarcasm_without_swear_words_is_negative(line: str) -> None:
    document = results(f"""
        C: Hi, my package was supposed to arrive on Monday. It's Friday.
        A: Hello, this is Dana from ShipIt. Please wait another 48 hours.
        C: {line}
        A: Is there anything else?
    """)
    assert document["sentiment"]["timeline"][2]["score"] < -0.3


@pytest.mark.xfail(
    strict=True, reason="no act tells grief, so a death is not seen as a reason for sympathy"
)
def test_a_bare_i_understand_to_somebody_in_grief_is_not_sympathy() -> None:
    document = results("""
        C: My father has just passed away and I have to cancel his contract.
        A: Hello, this is Max from Nordbank. I understand. What is the account number?
        C: DE 4455. I don't have all the papers yet.
        A: I understand. We need the certificate.
        C: ok
    """)
    empathy = criterion(document, "communication.empathy")
    assert empathy["normalizedScore"] == 0
    assert "My father has just passed away" in empathy["evidence"][0]["quote"]


@pytest.mark.xfail(strict=True, reason="'great' after bad news is read as praise")
def test_a_grudging_great_is_not_praise() -> None:
    document = results("""
        C: My printer won't connect to wifi
        A: Hi, this is Omar from PrintCo. You would have to bring it to a service centre.
        C: Where is the nearest?
        A: In Leeds, open 9 to 5.
        C: thats 2 hours away. great.
        A: Is there anything else I can help you with?
        C: no
    """)
    assert criterion(document, "resolution.confirmed")["answer"] == "no"
    assert document["summary"]["issue"] == "My printer won't connect to wifi"


def test_who_declines_with_thanks_did_not_say_thank_you() -> None:
    document = results("""
        C: I want to cancel my subscription please.
        A: Hi, Greg here from Streamly. I can offer you 20% off for three months.
        C: No thanks, just cancel it.
        A: What about 30% off?
        C: I said no.
    """)
    explanation = criterion(document, "resolution.confirmed")["explanation"]
    assert explanation in (
        "At the end, nobody asked or said whether the problem is solved.",
        "There was no solution to confirm.",
    )


def test_praise_is_not_called_thanks() -> None:
    document = results("""
        C: Please move my delivery to Friday.
        A: Hello, this is Ben from Parcelix.
        A: I have moved it to Friday.
        C: perfect
        A: Anything else?
        C: no
    """)
    confirmed = criterion(document, "resolution.confirmed")
    assert confirmed["answer"] == "yes"
    assert "thank" not in confirmed["explanation"]


def test_taking_up_a_proposal_is_not_asking_again() -> None:
    document = results("""
        C: I would like to have a party for 80 people at Lake House.
        A: Hello! Lake House has 40 seats. Would you like to try another venue?
        C: Sure, please try another venue.
        A: I have booked Garden Hall for you.
        C: Great, thank you!
    """)
    assert worth(criterion(document, "resolution.completeness")) > 0.8
    assert worth(criterion(document, "discovery.understanding")) > 0.8


def test_a_read_back_as_corrected_says_nothing_again() -> None:
    document = results("""
        C: I'd like to watch Hotel Mumbai tonight.
        A: Hello! Please confirm: play Hotel Mumbai without subtitles.
        C: No, please add subtitles.
        A: Please confirm: play Hotel Mumbai with subtitles.
        C: Yes, that's right.
        A: It has been started. Enjoy!
    """)
    assert worth(criterion(document, "discovery.understanding")) > 0.8
    assert worth(criterion(document, "communication.clarity")) > 0.8


def test_a_no_to_a_question_for_a_fact_is_not_a_refusal_before_asking() -> None:
    document = results("""
        C: Can you show me museums in Paris? Is the Louvre free?
        A: Hello! Sorry, no. It is not free.
        C: Ok, then I need a taxi there.
        A: For how many people?
        C: Two
        A: I have booked it for two.
    """)
    assert worth(criterion(document, "discovery.probing")) > 0.5


def test_what_comes_as_soon_as_it_is_fixed_is_not_done_yet() -> None:
    document = results("""
        C: Since yesterday the sync with my watch doesn't work.
        A: Hi, this is Mia from RunBuddy. Our developers are working on it.
        C: So I just wait?
        A: Yes. I'll send you an email as soon as it is fixed.
        C: Perfect, thanks
    """)
    assert "said what was done" not in str(document["criteria"])
    assert document["summary"]["actionItems"] == ["I'll send you an email as soon as it is fixed."]


def test_an_announced_transfer_is_one() -> None:
    document = results("""
        C: There is a payment of 300 euros that I didn't make.
        A: Good morning, this is Paul at EuroBank. I'm sorry to hear that. Your date of birth, please?
        C: 4.4.1979
        A: I've blocked your card and I'm transferring you to our fraud team.
        C: ok thanks
        A: Transferring you now, one moment please.
    """)
    assert document["resolution"]["status"] == "escalated"


def test_a_question_takes_no_note() -> None:
    document = results("""
        C: My new price is 32 euros?
        A: Hello, Ivan from Gasco here. Yes, from September.
        C: And I can cancel before that?
        A: Yes, until August, by email.
        C: Right?
    """)
    assert "accepted" not in criterion(document, "resolution.completeness")["explanation"]


def test_numbers_and_names_are_no_evidence_of_understanding() -> None:
    document = results("""
        C: PX-1002
        A: Hello, this is Zoe from Parcelix. What can I do for this order?
        C: I'd like to change the delivery address to 14 Oak Street.
        A: I have changed it.
        C: Great, thank you!
    """)
    quotes = [item["quote"] for item in criterion(document, "discovery.understanding")["evidence"]]
    assert quotes[:1] == ["I'd like to change the delivery address to 14 Oak Street."]


def test_seeing_an_order_is_not_sympathy_and_a_yes_no_outcome() -> None:
    document = results("""
        C: Third chat this week, when do I finally get my refund?!
        A: Hello, I'm Theo. I see that the transfer was started.
        C: It's been 25 days. This is ridiculous!
        A: Please be patient.
        C: So I have to wait even longer?
        A: Yes
    """)
    assert criterion(document, "communication.empathy")["normalizedScore"] in (None, 0)
    assert document["summary"]["outcome"] == "The request was not resolved."


def test_a_smoking_device_is_a_danger() -> None:
    document = results("""
        C: Your heater is smoking!! what do i do
        A: Hello, thank you for contacting WarmHome. May I have your serial number?
        C: it is SMOKING
    """)
    assert [moment["type"] for moment in document["moments"]] == ["danger", "danger"]


def test_help_beyond_what_was_asked_is_praised_and_not_mocked() -> None:
    document = results("""
        C: Which of the two museums do you recommend?
        A: Hello! I would see the old harbour. Do you require any other assistance?
        C: No. You've helped more than enough. Thank you.
    """)
    assert document["sentiment"]["timeline"][2]["score"] > 0


@pytest.mark.parametrize(
    "error",
    [
        "I'm sorry, there was a system error and the booking failed.",
        "I could not book it because of a technical problem.",
    ],
)
def test_an_error_of_the_service_side_leaves_the_request_open(error: str) -> None:
    document = results(f"""
        C: Please book the room for Friday.
        A: {error}
        C: Can you try once more?
        A: It failed again, I'm afraid. Please book it on our website.
    """)
    assert document["resolution"]["status"] == "unresolved"


@pytest.mark.parametrize(
    "line", ["My husband now works in Berlin, so we moved.", "My old one was cheap and works."]
)
def test_what_works_elsewhere_confirms_no_solution(line: str) -> None:
    document = results(f"""
        C: I need to change the address of my contract.
        A: Hello, I'm Ann. Why does it change?
        C: {line}
        A: I see. I will send you a form.
    """)
    assert criterion(document, "resolution.confirmed")["answer"] != "yes"


def test_a_request_after_a_no_is_not_taken_for_the_end() -> None:
    document = results("""
        C: My internet is slow and I want to cancel the contract.
        A: Hello, I'm Ann. Would you like a discount instead?
        C: No thanks, just cancel it.
        A: Is there anything else I can do for you?
    """)
    assert document["resolution"]["status"] != "resolved"
    assert criterion(document, "resolution.confirmed")["answer"] != "yes"


def test_a_bare_great_after_bad_news_is_not_praise() -> None:
    document = results("""
        C: my tablet turns itself off every hour, third time i contact you
        A: Hello, I'm Deepa from TabWorld. Did you reset it?
        C: yes, twice, but it still turns off
        A: Then it is a bug. There is no date for a fix yet.
        C: so what do i do
        A: You can only wait for the update, I'm afraid.
        C: great. bye
    """)
    assert document["sentiment"]["timeline"][-1]["score"] < -0.3
    assert document["resolution"]["status"] != "resolved"
    assert criterion(document, "resolution.confirmed")["answer"] != "yes"


@pytest.mark.parametrize(
    "line", ["yes. it just turned off again", "i did, it still turns off every hour"]
)
def test_a_problem_that_came_back_confirms_no_solution(line: str) -> None:
    document = results(f"""
        C: my tablet turns itself off every hour
        A: Hello, I'm Deepa from TabWorld. Did you reset it?
        C: {line}
        A: Then it is a bug. There is no date for a fix yet.
        C: ok bye
    """)
    assert criterion(document, "resolution.confirmed")["answer"] != "yes"


def test_a_bare_great_of_an_upset_customer_confirms_nothing() -> None:
    document = results("""
        C: You charged me twice and nobody answers my mails. This is so annoying.
        A: Hello, this is Karl from GymBox. What is your membership number?
        C: 3319
        A: Our accounting looks at it. That takes up to four weeks.
        C: Great.
    """)
    assert criterion(document, "resolution.confirmed")["answer"] != "yes"


def test_what_stayed_unresolved_is_not_well_resolved() -> None:
    document = results("""
        C: Hello, my gas bill is twice as high as last year
        A: Hello, I'm Nadia from BrightGas. Could you send me your customer number?
        A: Are you still there?
        A: As I haven't heard from you, I will close this chat.
    """)
    assert document["resolution"]["status"] == "unresolved"
    assert document["dimensions"]["resolution"] <= 0.5


def test_asking_a_bot_for_a_person_is_not_anger_and_no_fault_of_the_person() -> None:
    document = results("""
        B: Hi! I am Bo, the virtual assistant of Taskly. How can I help you today?
        C: I'd like to export my project
        B: Sorry, I didn't understand that. Please choose: billing, account or projects.
        C: agent
        B: Sorry, I didn't understand that. Please choose: billing, account or projects.
        C: Human please.
        B: I am connecting you to a colleague.
        A: Hello, this is Sven. Which format did you choose?
        C: pdf
        A: I have exported it for you.
        C: thank you
    """)
    scores = [moment["score"] for moment in document["sentiment"]["timeline"]]
    assert (scores[3], scores[5]) == (0, 0)
    asked = [moment for moment in document["moments"] if moment["type"] == "escalation_request"]
    assert [moment["segmentId"] for moment in asked] == ["seg_0004", "seg_0006"]
    assert criterion(document, "communication.empathy")["applicable"] is False
    assert "The agent did what was asked for." in document["resolution"]["explanation"]
    assert worth(criterion(document, "resolution.completeness")) > 0.5


@pytest.mark.parametrize(("first", "second"), [("refund", "7712"), ("hello", "Refund")])
def test_a_request_of_one_word_is_the_issue(first: str, second: str) -> None:
    document = results(f"""
        C: {first}
        A: Hi, this is Leo from ParcelPoint. How can I help you?
        C: {second}
        A: Your refund was sent this morning.
        C: ok
    """)
    assert document["summary"]["issue"].lower() == "refund"


def test_a_greeting_alone_is_not_an_issue() -> None:
    document = results("""
        C: good morning
        A: Hello, this is Leo. How can I help?
        C: bye
        A: Goodbye.
    """)
    assert document["summary"]["issue"] is None


def test_what_the_customer_cannot_do_is_the_issue() -> None:
    document = results("""
        C: Hi, I can't find how to change my password.
        A: Good morning. It's written on the page.
        C: Where exactly?
        A: Under security.
    """)
    assert document["summary"]["issue"] == "I can't find how to change my password."


def test_what_a_supervisor_did_after_the_transfer_counts() -> None:
    document = results("""
        C: My washing machine was supposed to come today. Nobody came.
        A: Hello, Chris from HomeMart. The next slot is in 9 days.
        C: I want to talk to your supervisor.
        A: One moment please, I'm putting you through to my supervisor.
        A: Hello, this is Martin. I'm sorry that you lost a day. I've arranged a delivery for tomorrow.
        C: Ok. Thank you. That's what I wanted to hear.
        A: You are welcome.
    """)
    assert document["resolution"]["status"] == "resolved"
    assert document["resolution"]["escalated"] is True
    assert "arranged a delivery" in document["summary"]["outcome"]
    assert criterion(document, "resolution.confirmed")["answer"] == "yes"


def test_the_agents_own_mistake_is_not_bad_news() -> None:
    document = results("""
        C: how much data is left on my plan?
        A: Hi, Tom from Zippo Mobile here. You have 12 GB left.
        C: really? app says 2
        A: You're right, sorry, I looked at the wrong month. It's 2 GB. Shall I book 5 more?
        C: yes
        A: Done, the 5 GB are active now.
        C: top
    """)
    completeness = criterion(document, "resolution.completeness")
    assert completeness["normalizedScore"] > 0.5
    assert completeness["explanation"] in (
        "The customer confirmed that it is solved.",
        "The agent did what was asked for.",
    )


def test_regret_about_sold_out_goods_is_not_a_correction() -> None:
    document = results("""
        C: Hello, the shoes that I ordered have the wrong size.
        A: Hello, this is Iris from Modello. They are sold out in your size. Would you like a refund?
        C: Hmm, I wanted those shoes. Ok, refund then.
        A: I've refunded 69 euros.
        C: Ok. Thank you.
    """)
    assert criterion(document, "discovery.understanding")["normalizedScore"] == 1


def test_a_question_back_and_a_laugh_are_no_trouble() -> None:
    document = results("""
        C: I try to set up the sync with my tablet
        A: Hello! This is Femi from Datapad. Which version do you have on the laptop?
        C: where do I see that
        A: In the menu Help, About. Then please update the tablet.
        C: slow wifi here lol
        A: No hurry, I'll wait.
        C: done, all there
        A: Great. Anything else?
        C: no thats it, have a nice day
    """)
    for key in ("discovery.understanding", "communication.clarity", "communication.courtesy"):
        assert worth(criterion(document, key)) > 0.8
    assert criterion(document, "communication.empathy")["applicable"] is False
    assert criterion(document, "resolution.confirmed")["explanation"] == (
        "The customer confirmed that the problem is solved."
    )


def test_a_question_back_that_asks_what_is_meant_is_trouble() -> None:
    document = results("""
        C: I want to register my meter.
        A: Hello, this is Ann. Is it bidirectional with ripple control?
        C: I don't understand the question
        A: Does it also count what your panels feed in?
        C: yes
    """)
    assert criterion(document, "discovery.understanding")["normalizedScore"] in (None, 0.5)


def test_a_bot_may_ask_why_somebody_is_calling() -> None:
    said = (
        ("b", 0, "Welcome to Citywater. Please tell me in a few words why you are calling."),
        ("c", 20, "my water bill is wrong"),
        ("b", 40, "Thank you. I have corrected it."),
        ("c", 60, "thanks"),
    )
    document = RuleJudge().judge(chat(*said), scorecard("voice_bot"), Context()).results
    assert criterion(document, "opening.purpose")["answer"] == "yes"
    assert document["summary"]["issue"] == "my water bill is wrong"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no thats all, bye", True),
        ("it still doesnt work", False),
        ("it still doesn't work", False),
    ],
)
def test_an_apostrophe_may_be_left_out(line: str, said: bool) -> None:
    document = results(f"""
        C: please reset my router
        A: Hello, this is Ben. I have reset it. Anything else?
        C: {line}
    """)
    assert criterion(document, "resolution.confirmed")["answer"] == ("yes" if said else "no")


def test_asking_for_a_person_is_not_what_it_is_about() -> None:
    document = results("""
        B: Welcome. How can I help?
        C: give me a real human already
        B: I will connect you to a colleague.
        A: Hello, this is Tim. How can I help?
        C: finally. my card is blocked
        A: I have unblocked it.
        C: thank u
    """)
    assert document["summary"]["issue"] == "my card is blocked"
    assert worth(criterion(document, "resolution.confirmed")) > 0.5


def test_an_unanswered_transfer_stays_one() -> None:
    document = results("""
        A: Hello, this is Leo. I'm transferring you to our sales team.
        A: I have booked the call for you.
    """)
    assert document["resolution"]["status"] in ("escalated", "unknown")
    assert document["resolution"]["escalated"] is True
