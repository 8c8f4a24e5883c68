"""The phrases by which an agent or a bot is known to greet, verify, hold, promise and close."""

from app.ai.phrases import Entry, Speaker

_SOMEONE = r"(?:i|we|they|someone|team|technician|colleague|email|confirmation|refund)"
_DAY = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_COUNT = r"(?:\d{1,3}|an?|one|two|three|four|five|seven|ten|a few|a couple of|several)"
_WHEN = (
    r"(?:tomorrow|today|tonight|shortly|this (?:morning|afternoon|evening)"
    rf"|(?:by|on|next) {_DAY}|(?:by|next|this) (?:week|month)|by (?:the )?end of"
    rf"|(?:within|in) (?:the next )?{_COUNT} <1>(?:minute|hour|day|week|month)s?)"
)
_ASKS = (
    r"(?:(?:can|could|may|might) (?:i|we) (?:please )?(?:have|get|know|take)"
    r"|(?:give|tell|send|provide|read|share|text|email|message|confirm|verify)"
    r"(?: (?:me|us))?(?: (?:with|out|back))?"
    r"|(?:i|we)(?:'ll| will)? (?:just |also )?need(?: to (?:know|have))?"
    r"|what(?:'s| is| are)) (?:please )?(?:(?:me|us) )?"
)
_CARD_DATA = (
    r"(?:(?:full|complete|entire|whole|long|\d{1,2} digit|three digit"
    r"|four digit|sixteen digit|digits|of|on|the|your|current|account|online|login|banking|card"
    r"|debit|credit|atm|secret) ){0,5}"
    r"(?:(?:card|credit card|debit card) number|cvv2?|cvc2?|cvn"
    r"|security code on the back|pin(?! code)(?: number)?|card pin code|otp"
    r"|one time (?:password|passcode|code|pin)|password|passcode)\b"
)
_NOT_ASKED = (
    r"\b(?:never|not|cannot|without|no need|reset|change|update|forgot|new|enter|type|choose"
    r"|create|set|(?:last|first) (?:four|three|two|six|\d)|gift|loyalty)\b|n't\b"
)
_DONE = (
    r"(?:booked|reserved|confirmed|completed|scheduled|processed|resolved|fixed|updated|cancell?ed"
    r"|refunded|sent|approved|changed|added|submitted|placed|activated|reset|arranged|set up)"
)

SERVICE_PHRASES: dict[str, Entry] = {
    "introduction": Entry(
        Speaker.SERVICE,
        "name this i speaking chatting talking here",
        (
            r"(?i:my name is|my name's) [A-Za-z]{2,20}\b",
            r"(?i:this is|i am|i'm|speaking with|chatting with|talking to|speaking to) [A-Z][a-z]{1,20}\b",
            r"[A-Z][a-z]{1,20} (?:speaking\b|here(?=[.!]| from\b))",
        ),
        cased=True,
    ),
    "brand": Entry(
        Speaker.SERVICE,
        "for welcome reached through from with at behalf",
        (
            r"(?i:for (?:calling|contacting|choosing|chatting with|reaching out to|reaching))"
            r" (?!us\b|me\b|today\b|in\b|back\b|our\b|the\b|your\b|and\b|about\b|so\b)\w{2,20}",
            r"(?i:welcome to|you've reached|you have reached|through to)"
            r" (?!our\b|the\b|your\b|us\b)\w{2,20}",
            r"(?i:this is|i'm|i am|name is|calling|speaking|here) <3>(?i:from|with|at|on behalf of)"
            r" (?:the )?[A-Z]\w{1,20}",
        ),
        cased=True,
    ),
    "identity_check": Entry(
        Speaker.SERVICE,
        "verify verification identity need birth security last confirm have maiden name number address zip",
        (
            r"verify (?:your|the|that|who|a few|some) <3>(?:identity|account|name|address|number|details|information|id|speaking)\b",
            r"(?:your|of) (?:date of birth|mother's maiden name)\b",
            r"(?:your|a|the) (?:security|secret) (?:question|word|answer)\b",
            r"last (?:four|4) (?:digits )?of (?:your|the)\b",
            r"confirm (?:me )?your (?:full |current |home |billing |email |e-?mail |phone )*(?:name|address|number|zip|postcode|identity)\b",
            r"(?:can|could|may) (?:i|we) <2>(?:have|get|take|know) your (?:full |first |last |account |order |policy |phone |customer |member |member ?ship |reference |email |billing |home |and )*(?:name|number|address|zip|postcode|id)\b",
            r"(?:i|we)(?:'ll| will)? (?:just |also )?need <6>your (?:full |account |order |phone |and )*(?:name|number|address|zip|date of birth)\b",
            r"what(?:'s| is) your (?:full |account |order |policy |phone |customer |email |billing )*(?:name|number|address|zip|postcode)\b",
        ),
    ),
    "account_detail": Entry(
        Speaker.SERVICE,
        "balance your account records transaction",
        (
            r"your <2>balance (?:is|was|of|stands)\b",
            r"(?:i|we)(?:'ve| have| can| do)? (?:see|found|pulled up|opened) (?:that )?(?:your|the) <2>(?:account|order|booking|policy|reservation|file|profile|bill|transaction|payment)\b",
            r"your (?:account|claim|payment|refund|bill|last transaction) (?:shows|was|number is)\b",
            r"your (?:order|booking|policy|reservation) (?:shows|number is)\b",
            r"(?:on|from|to|in) your account\b",
            r"according to (?:your|our) (?:account|records|file)\b",
        ),
    ),
    "apology": Entry(
        Speaker.SERVICE,
        "sorry apologize apologise apologies apology",
        (r"sorry(?! to hear)\b", r"apolog(?:ize|ise|ies|y)\b"),
    ),
    "done": Entry(
        Speaker.SERVICE,
        "have has is are been set all successfully",
        (
            rf"(?:i|we)(?:'ve| have) (?:now |just |successfully |already |also )*{_DONE}\b",
            rf"(?:has|have) (?:now |just )?been (?:now |successfully )*{_DONE}\b",
            rf"your \w{{2,20}} (?:is|are) (?:now |all |successfully )*{_DONE}\b",
            r"you(?:'re| are) all set\b",
        ),
    ),
    "solved_check": Entry(
        Speaker.SERVICE,
        "did does has have is everything happy",
        (
            r"(?:did|does) (?:that|this|it) <1>(?:answer|solve|resolve|fix|help|clear)\b",
            r"(?:has|have) (?:that|this|it|i) <1>(?:answered|solved|resolved|fixed|helped|addressed)\b",
            r"is (?:it|that|everything|this|your \w{2,20}) (?:now )?(?:working|resolved|solved|sorted|fixed)\b",
            r"are you (?:happy|satisfied) with\b",
        ),
    ),
    "offer_help": Entry(
        Speaker.SERVICE,
        "anything further other assistance",
        (
            r"anything (?:else|more|further)\b",
            r"any (?:other|further|more|additional) (?:questions?|concerns?|help|assistance|requests?)\b",
            r"further (?:help|assistance)\b",
        ),
    ),
    "recap": Entry(
        Speaker.SERVICE,
        "recap summarize summarise summary sum confirm over repeat",
        (
            r"(?:to|let me|i'll|quick) (?:just |quickly )?(?:recap|summari[sz]e|sum up)\b",
            r"in summary\b",
            r"(?:so )?just to (?:confirm|be clear|make sure)\b",
            r"let me (?:just |quickly )?(?:go over|repeat|read (?:that|it|this) back|confirm (?:that|the|what))\b",
        ),
    ),
    "next_step": Entry(
        Speaker.SERVICE,
        "will ll should going",
        (rf"{_SOMEONE}(?:'ll| will| should|'re going to|'m going to) <8>{_WHEN}\b",),
    ),
    "commitment": Entry(
        Speaker.SERVICE,
        "will ll going",
        (
            r"(?:i|we)(?:'ll| will|'m going to|'re going to| am going to| are going to)"
            r" (?:personally |also |then )*(?:call you(?: back)?|get back to you|follow up|e-?mail you|send you|text you|be in touch|arrange|escalate)\b",
        ),
    ),
    "hold": Entry(
        Speaker.SERVICE,
        "hold hang bear moment second minute wait line check look sec moments",
        (
            r"(?:put|place|putting|placing) you on (?:a )?(?:brief |short |quick )?hold\b",
            r"(?:please |can you |could you |mind )?(?:hold|hang|holding) on\b",
            r"please (?:hold|wait)\b",
            r"bear with me\b",
            r"(?:one|just a|give me a|just one|for a) (?:quick |brief )?(?:moment|second|minute|sec)\b",
            r"(?:stay|remain|hold) (?:on )?the line\b",
            r"(?:while i|let me) (?:just |quickly )?(?:check|look|pull|find|see if)\b",
        ),
    ),
    "transfer": Entry(
        Speaker.SERVICE,
        "transfer transferring connect connecting put putting pass passing hand handing",
        (
            r"(?:transfer|transferring|connect|connecting|pass|passing|hand|handing|put|putting)"
            r" (?:you|your call)(?: (?:over|on|straight))? (?:to|with|through)\b",
        ),
        unless=r"\b(?:can|could|like|recommend|want|may|if|should|shall|before|after)\b",
    ),
    "opt_out_done": Entry(
        Speaker.SERVICE,
        "removed remove taken take again anymore further call opted unsubscribed",
        (
            r"(?:removed|remove|taken|take|removing|taking) (?:you|your number|your name|this number) (?:off|from)\b",
            r"(?:won't|will not|not) (?:be )?(?:call|calling|contact|contacting|called|contacted)(?: you| by us)? (?:again|any ?more|further)\b",
            r"(?:on|to) (?:our|the) do not call list\b",
            r"(?:opted you out|unsubscribed you)\b",
        ),
        unless=r"\b(?:cannot|unable to|could not) |(?:can't|couldn't) ",
    ),
    "automated": Entry(
        Speaker.SERVICE,
        "automated virtual digital ai artificial bot chatbot robot",
        (
            r"(?:automated|virtual|digital|ai|artificial intelligence) (?:\w{2,20} )?(?:assistant|agent|system|call|voice|caller|helper)\b",
            r"(?:i'm|i am|this is|you are speaking with) an? (?:\w{2,20} )?(?:bot|chatbot|robot|ai)\b",
        ),
    ),
    "purpose": Entry(
        Speaker.SERVICE,
        "calling call reaching help assist do reason",
        (
            r"(?:calling|reaching out|contacting you) (?:you )?(?:today )?(?:about|regarding|to|because|concerning|with|on behalf|for)\b",
            r"(?:how|what) (?:can|may|could) (?:i|we) (?:help|assist|do)\b",
            r"reason (?:for (?:my|this|the|your) call|i'm calling|i am calling)\b",
        ),
    ),
    "fallback": Entry(
        Speaker.SERVICE,
        "understand catch get hear repeat rephrase",
        (
            r"(?:didn't|did not|couldn't|could not|don't) (?:quite |really )?(?:understand|catch|hear|get) (?:that|you|what)\b",
            r"(?:could|can) you (?:please )?(?:repeat|rephrase)\b",
        ),
    ),
    "asks_secret": Entry(
        Speaker.SERVICE,
        "cvv cvv2 cvc cvc2 cvn pin otp password passcode card code",
        (
            rf"{_ASKS}(?:the |your |all )+{_CARD_DATA}",
            rf"(?:(?:can|could|may) (?:i|we) (?:please |also |just )*(?:have|get|take|know)"
            rf"|(?:i|we)(?:'ll| will)? (?:also |just )?need your) <8>{_CARD_DATA}",
            rf"(?:and|also) your {_CARD_DATA}(?: as well| too)? please\b",
        ),
        unless=_NOT_ASKED,
    ),
}
