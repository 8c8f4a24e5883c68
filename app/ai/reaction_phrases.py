"""The phrases by which a customer corrects, asks again, settles, accepts, praises and gives up."""

from app.ai.phrases import Entry, Speaker

REACTION_PHRASES: dict[str, Entry] = {
    "correction": Entry(
        Speaker.CUSTOMER,
        "meant not no said incorrect wrong asked actually mean wait mistake sorry",
        (
            r"i (?:meant|said|asked for|asked you|wanted)\b(?! to thank)",
            r"(?:no|nope) (?:that's|that is|it's|i|this is|make|change|it|wait|the)\b(?! (?:all|it|fine|ok|good|great|everything|am good|think that))",
            r"(?:that|this|it)(?:'s| is| was)(?: not|n't) (?:right|correct|what|true|it)\b",
            r"(?:is|was)n't (?:right|correct|what)\b",
            r"(?:that|this|it)(?:'s| is| was) (?:wrong|incorrect|a mistake)\b",
            r"not what i\b",
            r"(?:you|you've) (?:got|have|made) <3>(?:wrong|mistake|mixed up)\b",
        ),
    ),
    "concession": Entry(
        Speaker.CUSTOMER,
        "how what then instead perhaps maybe another different any",
        (
            r"(?:how|what) about\b",
            r"(?:what if|instead)\b",
            r"(?:then|case) (?:i|can|could|please|let's)\b",
            r"(?:okay|ok|well)? ?(?:perhaps|maybe) (?:i|we|a|you|one|the|in|try)\b",
            r"(?:any|another|different|other) <1>(?:area|time|day|date|part|type|price|place|option|one)\b",
        ),
    ),
    "asks_again": Entry(
        Speaker.CUSTOMER,
        "again already told repeat twice double still sure answered answer listening recheck retry "
        "try hello",
        (
            r"(?:try|check|look|search|once|booking|book) <3>again\b",
            r"i(?:'ve| have)? (?:already|just) (?:told|said|gave|given|asked|mentioned|provided|answered|explained)\b",
            r"(?:as|like) i (?:already |just )?(?:said|told|mentioned)\b",
            r"(?:double|re) ?check\b",
            r"are you (?:sure|listening|there|still there|certain)\b",
            r"(?:you )?(?:didn't|did not|haven't|have not) (?:answer|answered|tell|told|give|given|respond|responded)\b",
            r"i still (?:need|want|don't|have|haven't)\b",
            r"(?:can|could|please) (?:you )?repeat\b",
            r"try (?:one more|for|a different|another|it|that)\b",
        ),
    ),
    "problem": Entry(
        Speaker.CUSTOMER,
        "problem issue trouble wrong broken error lost stolen missing worried late delayed damaged "
        "arrived working works fraud fraudulent charged overcharged charge stuck locked hurt sick "
        "emergency help worry forgot mistake",
        (
            r"(?:problem|issue|trouble)s? (?:with|logging|getting|is|was|that)\b",
            r"(?:having|had|have|got) (?:a |an |some |this )?<1>(?:problem|issue|trouble|emergency)s?\b",
            r"(?:is|are|was|were|it's|got|gets|been|be|arrived|came|i'm|am) (?:now |still |so |a little |really |very )*(?:broken|lost|stolen|missing|damaged|delayed|late|stuck|locked|worried|sick|hurt|charged twice|overcharged)\b",
            r"i (?:lost|broke|forgot) my\b",
            r"(?:has|have|did|does|is)(?:n't| not) (?:arrive|arrived|work|working|come|show|shown|received)\b",
            r"(?:stole|fraudulent|fraud|scammed)\b",
            r"(?:someone|somebody) <3>(?:stole|charged|spent|hacked|used)\b",
            r"(?:wrong|incorrect) (?:item|order|amount|size|charge|bill|address|product)\b",
        ),
    ),
    "praise": Entry(
        Speaker.CUSTOMER,
        "perfect great excellent wonderful awesome amazing fantastic lovely helpful brilliant",
        (
            r"(?:perfect|excellent|wonderful|awesome|amazing|fantastic|lovely|brilliant)\b",
            r"(?:that's|that is|sounds|sound|that sounds|looks|very|so|been|you're|is|are) (?:really |very |just |so |a |been )*(?:great|helpful)\b",
            r"great(?=[.!,]|$)",
        ),
        unless=r"\b(?:not|isn't|wasn't|if|a|an|some) $",
    ),
    "acceptance": Entry(
        Speaker.CUSTOMER,
        "yes yeah yep sure ok okay correct right fine works good",
        (
            r"(?:yes|yeah|yep|sure|ok|okay|correct)\b",
            r"(?:that's|that is|that|it|this|sounds|it's) (?:is |'s |will |would )?(?:right|fine|works|work|good)\b",
        ),
    ),
    "rejection": Entry(
        Speaker.CUSTOMER,
        "no nope not don else other another different anything",
        (
            r"(?:no|nope)\b(?! (?:thank|thanks|that's|that is|problem|that'll|that will|i'm good|i am good|preference|need))",
            r"(?:something|anything|anywhere|somewhere) else\b",
            r"(?:any|another|some) other\b",
            r"(?:another|different) (?:one|option|place|time|restaurant|hotel|movie|song)\b",
            r"(?:don't|do not) (?:like|want)\b",
        ),
    ),
    "gives_up": Entry(
        Speaker.CUSTOMER,
        "never forget mind anyway anyways useless elsewhere myself hopeless nevermind bother mess",
        (
            r"(?:never ?mind|nevermind|forget (?:it|about it))\b",
            r"thank(?:s| you) <2>any ?ways?\b",
            r"(?:useless|hopeless|not helpful|no help)\b",
            r"(?:go|call|look|try|take my business) elsewhere\b",
            r"(?:book|do|find|handle|call) (?:it|them|that) myself\b",
            r"(?:don't|do not) bother\b",
        ),
    ),
}
