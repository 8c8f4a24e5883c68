"""The phrases of what becomes of a request: done, failed, refused, offered, acknowledged."""

from app.ai.phrases import Entry, Speaker

_ACT = (
    r"(?:book|reserve|make|get|find|schedule|purchase|buy|order|complete|process|locate|search|do"
    r"|play|add|set|send|submit|change|cancel|update|arrange|place|access|open|unlock|provide|help"
    r"|accommodate|verify|confirm|reach|see|offer|match|manage|fulfil|fulfill|connect|retrieve)"
)
_ACTED = (
    r"(?:booked|reserved|made|scheduled|purchased|bought|completed|processed|played|added|placed"
    r"|confirmed|found|done|submitted|authenticated|verified|validated)"
)
_THING = (
    r"(?:reservation|booking|appointment|ticket|tickets|order|payment|request|transaction|table"
    r"|visit|ride|room|search|attempt|authentication|it|that|this)"
)

_SUCCEEDED = (
    r"(?:booked|reserved|confirmed|completed|scheduled|processed|resolved|fixed|updated|cancell?ed"
    r"|refunded|sent|approved|changed|added|submitted|placed|activated|reset|arranged|purchased"
    r"|bought|made|done|unlocked|recovered|authenticated|verified|reported|locked|set up"
    r"|back (?:up|online)|restored|secured|registered|found you|got you)"
)

EVENT_PHRASES: dict[str, Entry] = {
    "failure": Entry(
        Speaker.SERVICE,
        "unable able can cannot couldn couldnt cant could wasn not didn unsuccessful unsuccessfully "
        "failed fail fails wrong invalid incorrect uable manage declined error system won doesn "
        "problem",
        (
            r"(?:un|u)able to\b",
            r"(?:not|wasn't|weren't|isn't|aren't|wasnt) (?:currently |been )?able to\b",
            rf"(?:i|we|they|it|system|but|and|so|sorry) (?:just |simply |also |really |still )?(?:cannot|can not|can't|cant|couldn't|couldnt|could not) (?:seem to |currently |be able to )?(?!wait\b|complain|go wrong){_ACT}\b",
            rf"(?:could not|couldn't|cannot|can't|can not) be {_ACTED}\b",
            rf"(?:couldn't|could not) {_ACT}\b",
            rf"{_THING} (?:could not|couldn't|was not|wasn't|did not|didn't|has not|cannot|can't) (?:be |been )?(?:go|gone|successful|succeed|work|complete|{_ACTED})\b",
            r"(?:did not|didn't|do not|don't|does not|doesn't) (?:go|come) through\b",
            r"(?:did not|didn't) (?:manage|succeed|work)\b",
            r"(?:was|were|is|are|been|be|being|it's) (?:also |again |still )?(?:unsuccessful|not successful)\b",
            r"(?:not|n't) successful\b",
            rf"{_THING} <2>(?:failed|fails)\b",
            r"(?:unsuccessful(?:ly)?|has failed|have failed)\b",
            r"(?:invalid|incorrect) (?:\w{2,15} )?(?:details|number|code|credentials|pin|password|information|name|date)\b",
            r"(?:details|number|code|credentials|pin|password|information|name|date)s? <3>(?:is|are|was|were) (?:not correct|incorrect|invalid|wrong|not valid)\b",
            r"something (?:went|has gone|is) wrong\b",
            r"(?:technical|system) (?:error|problem|difficult(?:y|ies)|issue)s?\b",
            r"system <2>(?:is |won't |isn't |not |doesn't |does not )<1>(?:down|allow|let|allowing|letting|working)\b",
        ),
        unless=r"\b(?:if|in case|unless)\b",
    ),
    "success": Entry(
        Speaker.SERVICE,
        "booked reserved confirmed completed scheduled processed resolved fixed updated cancelled "
        "canceled refunded sent approved changed added submitted placed activated reset arranged "
        "purchased bought made done set successful successfully success unlocked open recovered "
        "authenticated verified rsvp that thats way balance able managed got playing started going reported locked over",
        (
            rf"(?:i|we)(?:'ve| have)? (?:now |just |successfully |already |also |went ahead and )*{_SUCCEEDED}\b(?! (?:it |that )?(?:up )?if)",
            rf"(?:has|have|is|are|was|were|been|it's) (?:now |all |already |successfully |just )*{_SUCCEEDED}\b",
            r"(?:was|am|were|been) able to\b(?! (?:assist|help))",
            r"(?:was|were|is|been) (?:a )?success(?:ful|fully)?\b",
            rf"success(?:ful|fully) {_SUCCEEDED}?\b",
            r"(?:you're|you are|is|are|it's) (?:now )?all (?:set|done|booked|good)\b",
            r"(?:booking|reservation|order) (?:is|was) (?:made|over|done)\b",
            r"(?:that's|thats|that is) (?:all )?<2>(?:done|taken care of|sorted)\b",
            r"is on (?:its|the|his|her|their) way\b",
            r"your <2>balance is\b",
        ),
        unless=r"\b(?:not|n't|cannot|before|once|when|if|could|should|would|please|unable|can|until|to be|will|be|must|need|never)\b|n't ",
    ),
    "no_result": Entry(
        Speaker.SERVICE,
        "no not none nothing any anything full booked sold isn aren wasn weren doesn don didn match "
        "matches matching unavailable",
        (
            r"(?:there (?:are|were|appears? to be|seems? to be)|(?:i|we) <1>(?:see|have|find|found|show)|showing) (?:currently |also |actually |really |still )?(?:no|not any|none|nothing)\b(?! (?:problem|need|fee|charge|extra|additional))",
            r"there (?:are|is|were|was)(?:n't| not) (?:any|anything|a)\b",
            r"(?:i|we) (?:also |still |really |currently |just )*(?:do not|don't|did not|didn't) (?:currently |actually |really |seem to )?(?:have|see|find|show)\b",
            r"(?:not|n't) (?:finding|seeing|showing|find|locate) (?:any|anything|a)\b",
            r"no <4>(?:match|matches|matching|availability|meet|fit|fits|found|left|results)\b",
            r"(?:there is|there's) (?:none|nothing|not one)\b",
            r"none (?:of|are|in|that|available|match)\b",
            r"nothing <3>(?:match|matches|matching|available|found|like that)\b",
            r"(?:is|are|was|were|it's|they're|all) (?:now |currently |already |fully |completely )*(?:full|fully booked|booked (?:up|out)|sold out)\b",
            r"(?:not|no tables|no rooms|no seats|n't) available (?:at|on|for|then|that|during)\b",
            r"(?:don't|doesn't|do not|does not) (?:match|meet|fit)\b",
            r"not possible\b",
        ),
        unless=r"\b(?:if|in case|unless)\b",
    ),
    "lack": Entry(
        Speaker.SERVICE,
        "no not doesn don isn aren unavailable",
        (
            r"(?:there is|there's) no\b",
            r"(?:does not|doesn't|do not|don't|isn't|is not|aren't|are not|not) (?:have|offer|serve|provide|accept|allow|available|listed|any)\b",
            r"(?:is|are) unavailable\b",
        ),
        unless=r"\b(?:if|in case|unless)\b",
    ),
    "refusal": Entry(
        Speaker.SERVICE,
        "policy allowed permitted against only eligible refuse rules",
        (
            r"(?:not|n't) (?:be )?(?:allowed|permitted|authorized|authorised|eligible)\b",
            r"against (?:our |the |company )?(?:policy|rules)\b",
            r"(?:policy|rules) (?:does not|doesn't|do not|don't|forbids?|prohibits?|only)\b",
            r"(?:have to|must) refuse\b",
        ),
    ),
    "bad_news": Entry(
        Speaker.SERVICE,
        "unfortunately afraid regret sadly sorry apologies apologize",
        (
            r"(?:unfortunately|sadly)\b",
            r"(?:i'm|i am) afraid\b",
            r"regret (?:to|that)\b",
            r"(?:sorry|apologies|apologize)(?: to say)? (?:but|that|it|there|they|i|we|no|the|your)\b",
        ),
    ),
    "alternative": Entry(
        Speaker.SERVICE,
        "another different other instead else alternative how",
        (
            r"(?:would you like|do you want|shall i|should i|can i|want) <4>(?:another|different|other|else|alternative|instead)\b",
            r"(?:try|check|look|search) <3>(?:another|different|other|else|alternative)\b",
            r"(?:another|different|other) <2>(?:time|day|date|area|option|part|place|type|perhaps|price)\b",
            r"(?:how|what) about\b",
        ),
    ),
    "offer": Entry(
        Speaker.SERVICE,
        "would do shall should can want may",
        (
            r"(?:would you like|do you want|do you wish|do you need) (?:me|to|us|a|the)\b",
            r"(?:shall|should|can|may) i (?:go ahead|book|reserve|make|add|get|send|schedule|buy|purchase|help you)\b",
        ),
    ),
    "asks_confirmation": Entry(
        Speaker.SERVICE,
        "confirm correct right sure verify accurate okay ok",
        (
            r"please (?:confirm|verify|make sure)\b",
            r"(?:is|are) (?:that|this|these|it|everything|the following|those) <2>(?:correct|right|ok|okay|accurate|fine)\b",
            r"(?:correct|right)\?",
            r"(?:do i have|did i get) <3>(?:right|correct)\b",
        ),
    ),
    "empathy": Entry(
        Speaker.SERVICE,
        "sorry understand apologize apologise worry inconvenience frustrating imagine hear terrible "
        "help",
        (
            r"(?:sorry|sad|unhappy) (?:to hear|about|for|you)\b",
            r"(?:i|we) (?:can |completely |totally |fully |do )*(?:understand|appreciate|see|imagine) (?:how|your|that|why|the|you)\b",
            r"apolog(?:ize|ise|ies) (?:for|about)\b",
            r"(?:that|this|it)(?:'s| is| must| sounds| must be) <2>(?:frustrating|terrible|awful|stressful|annoying|upsetting|worrying)\b",
            r"(?:don't|do not|no need to) worry\b",
            r"inconvenience\b",
        ),
    ),
}
