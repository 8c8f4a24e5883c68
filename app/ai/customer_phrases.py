"""The phrases by which a customer complains, asks and ends, and those that either side says."""

from app.ai.phrases import Entry, Speaker

_FEELING = r"(?:frustrat(?:ed|ing)|disappoint(?:ed|ing)|angry|annoy(?:ed|ing)|upset|furious|unhappy|dissatisfied|fed up)"
_BAD = r"(?:unacceptable|ridiculous|outrageous|a joke|disgusting|appalling)"

CUSTOMER_PHRASES: dict[str, Entry] = {
    "greeting": Entry(
        Speaker.ANYONE,
        "hello hi hey good greetings welcome thank thanks",
        (
            r"(?:hello|hi|hey|greetings|welcome (?:to|back))\b",
            r"good (?:morning|afternoon|evening|day)\b",
            r"(?:thank you|thanks) for (?:calling|contacting|choosing|reaching|chatting)\b",
        ),
    ),
    "solved": Entry(
        Speaker.CUSTOMER,
        "that it this everything problem issue exactly",
        (
            r"(?:that|this|it) (?:has |finally )?(?:solved|resolved|fixed|helped|worked|did) (?:it|everything|the|my|that|me|a lot)\b",
            r"(?:that|it|this|everything)(?:'s| is| has| was) (?:now |all |finally |been )*(?:working|solved|resolved|fixed|sorted)\b",
            r"(?:it|everything|this) works (?:now|again|fine|perfectly|great)\b",
            r"(?:problem|issue)(?: is|'s| has been)? (?:solved|resolved|fixed)\b",
            r"exactly what i (?:needed|wanted)\b",
        ),
        unless=r"\b(?:if|when|until|unless|not|never|hope|how|need|want) |n't ",
    ),
    "nothing_more": Entry(
        Speaker.CUSTOMER,
        "that nothing all",
        (
            r"that(?:'s| is|'ll be| will be|'d be| would be| was| should be) (?:all|everything|it)(?: (?:for|i|thank|thanks|today|now|then)\b|(?=[.!,])|$)",
            r"(?:nothing else|i'm all set|i am all set)\b",
        ),
    ),
    "still_broken": Entry(
        Speaker.CUSTOMER,
        "not still doesn isn didn hasn",
        (
            r"(?:does|is|did|has)(?:n't| not) <1>(?:work|working|worked|solve|solved|help|helped|fixed|resolved)\b(?! for me)",
            r"still (?:not|no|don't|can't|having|broken|waiting|the same)\b",
        ),
    ),
    "escalation_request": Entry(
        Speaker.CUSTOMER,
        "manager supervisor human person agent representative operator charge else escalate",
        (
            r"(?:speak|talk|speaking|talking|connect|transfer|put) <3>(?:to|with|through to) (?:a |an |your |the |another |some )?(?:real |live |actual )?(?:manager|supervisor|human|person|agent|representative|operator|someone (?:else|in charge))\b",
            r"(?:want|need|get me|give me|like) (?:a |an |your |to speak to a )(?:real |live |actual )?(?:manager|supervisor|human|representative|operator|real person|live person|live agent)\b",
            r"escalate (?:this|it|my)\b",
        ),
        unless=r"(?:\bnot|n't) (?:(?:need|want|have) )?(?:to )?$",
    ),
    "complaint": Entry(
        Speaker.CUSTOMER,
        "complaint unacceptable ridiculous outrageous joke terrible horrible awful disgusting "
        "appalling frustrated frustrating disappointed disappointing angry annoyed annoying upset "
        "furious unhappy dissatisfied fed worst waste time",
        (
            r"(?:file|make|lodge|raise|submit|register) (?:a |an )?(?:formal |official )?complaint\b",
            rf"(?:this|that|it)(?:'s| is| was) (?:so |just |really |absolutely |completely |totally )*(?:{_BAD}|{_FEELING})\b",
            r"this is (?:so |just |really |absolutely )*(?:terrible|horrible|awful)\b",
            rf"(?:i'm|i am|i was|very|really|extremely) (?:so |very |really |quite |extremely |getting |rather )*{_FEELING}\b",
            r"(?:worst|terrible|horrible|awful|appalling) <1>(?:service|support|experience|company)\b",
            r"waste of (?:my )?time\b",
            r"(?:second|third|fourth|fifth) time (?:i|i've|that i|this week)\b",
        ),
        unless=r"\bnot (?:really |very |so )?$",
    ),
    "thanks": Entry(
        Speaker.ANYONE,
        "thank thanks thx appreciate",
        (
            r"(?:thank you|thanks|thx)\b(?! for (?:calling|contacting|choosing|reaching|chatting))",
            r"appreciate (?:it|that|your|the)\b",
        ),
    ),
    "closing": Entry(
        Speaker.ANYONE,
        "bye goodbye have take enjoy",
        (
            r"(?:bye|goodbye|good bye)\b",
            r"have (?:a|an) (?:\w{2,20} )?(?:great |good |nice |wonderful |lovely |pleasant )*(?:day|evening|night|weekend|afternoon|morning|one|time|trip|stay|flight)\b",
            r"take care(?: of yourself)?(?=[.!,]|$)",
            r"enjoy your \w{2,20}",
        ),
        unless=r"\b(?:i|we|do|did|to) $",
    ),
    "profanity": Entry(
        Speaker.ANYONE,
        "fuck fucking fucked fucker shit shitty bullshit asshole arsehole bastard bastards bitch "
        "moron idiot idiots stupid dumb shut motherfucker dickhead cunt",
        (
            r"(?:fuck(?:ing|ed|er)?|motherfucker|shit(?:ty)?|bullshit|asshole|arsehole|bastards?|bitch|dickhead|cunt)\b",
            r"(?:you|you're|you are)(?: an?| such an?| all| really| so)? (?:fucking |complete |total |bloody )?(?:idiots?|morons?|stupid|dumb)\b",
            r"shut (?:the \w{2,10} )?up\b",
        ),
        unless=r"\b(?:won't|don't|to|he|she|they|will|would|me|doors?) $",
    ),
    "opt_out": Entry(
        Speaker.CUSTOMER,
        "stop quit off don not unsubscribe opt call list from",
        (
            r"(?:stop|quit) (?:calling|texting|messaging|emailing|contacting)\b",
            r"(?:take|remove) (?:me|my number|my name) (?:off|from)\b",
            r"(?:do not|don't) (?:ever )?(?:call|contact|text|email|message) (?:me|us|this number) (?:again|any ?more|ever)\b",
            r"unsubscribe\b",
            r"opt (?:me )?out\b",
            r"do not call list\b",
        ),
    ),
}
