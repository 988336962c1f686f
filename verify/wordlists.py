"""Words that carry no event, and words that must agree, as data."""

from __future__ import annotations

FUNCTION_WORDS = frozenset(
    """
    a an the this that these those such said same of in on at by to for from with as into upon
    under within during between among through per via about around approximately and or but nor
    so if then than there here is are was were be been being am do does did done has have had
    having will would shall should may might can could must it its he she his her hers him they
    their them theirs we our us you your i my me who whom whose which what when where how also
    any some all both either each other another one ones following follows follow above below
    herein hereof thereof hereby day date calendar time year month later after before prior until
    till since no plus minus der die das den dem des ein eine einen einem und oder mit von vom
    zum zur im am ist war wurde worden hat haben sich auf aus bei nach vor bis für le la les un
    une des du de et ou à au aux en par pour sur dans est a été avait avoir être qui que se ce
    cette mr mrs ms miss dr prof herr frau mme 이었다 이었습니다 이다 입니다 였다 였습니다 은 는
    이 가 을 를 의 에 자 일자 날 및 와 과 그 이후 이전 이날 である です でした だった ます ました
    とする とし とされる ている
    """.split()
)
"""Words that say nothing of an event (English, German, French)."""

REPORTING_WORDS = frozenset(
    """
    record records recorded say says said state states stated refer refers referred report
    reports reported note notes noted mention mentions mentioned describe describes described
    indicate indicates indicated show shows showed shown provide provides provided timeline entry
    chronology according find found finds set sets figure amount cite cites cited rely relies see
    document source matters aside relevant important notable exactly precisely specifically namely
    entry item
    """.split()
)
"""Words with which a reply introduces what a document says; they are the reply's own."""

FRAME_WORDS = frozenset(
    """
    said stating states testified testifies testify testimony asked asks asking answered answers
    answer replied replies responded responds argued argues wrote writes written explained explains
    admitted admits conceded concedes acknowledged acknowledges told tells observed observes
    remarked remarks agreed confirmed confirms insisted insists claimed claims added adds recalled
    recalls swore declared declares warned maintained held holds holding read reads reading put
    puts way words word text texts language wording phrase sentence sentences passage passages line
    lines page pages pp paragraph paragraphs para section sections sec clause clauses article
    articles art subsection exhibit exhibits ex docket dkt ecf doc tab footnote heading bates
    part parts relevant pertinent full verbatim literally expressly explicitly plainly clearly
    following quote quotes quoted quoting quotation excerpt excerpts extract contains contain
    contained includes include included appears appear stands stand runs begins ends opens closes
    goes continues recites recite specifies specify question questions witness deponent court
    opinion counsel attorney author sender justice judge majority papers paper file files page pdf
    argument hearing explicit point points phrase uses use used rely relies key context formula
    out documents material title titled entitled dated above below quite answering
    writing
    heißt steht lautet wörtlich sagt schreibt bestimmt regelt erklärt dokument seite absatz satz
    wortlaut akte es dit écrit prévoit stipule indique énonce déclare précise dispose selon pièce
    article texte mentionne relevant
    """.split()
)
"""Further words of an attribution ("On page 3 the witness testified: ..."): they say who or what
speaks and where, and nothing of what happened."""

FRAME_STEMS = (
    "따르면 의하면 기재 규정 명시 진술 증언 약정 주장 적혀 되어 있다 있습니다 라고 고 하였 했 말 "
    "답 문서 기록 계약서 조항 페이지 쪽 제 항 본문 문언 내용 記載 定め 規定 述べ 書かれ ある いう "
    "によれば 契約書 頁 条 項 には では は と記 と定 と規 と述 という とある とされ"
).split()
"""The same for Korean and Japanese, as the first letters of a word."""

PARTIES = frozenset(
    """
    buyer seller purchaser vendor supplier customer client provider contractor subcontractor owner
    tenant landlord lessee lessor borrower lender bank guarantor debtor creditor licensee licensor
    employee employer executive company corporation agent principal plaintiff plaintiffs defendant
    defendants petitioner respondent appellant appellee claimant assignor assignee franchisor
    franchisee insurer insured trustee beneficiary parent subsidiary licensees party
    매수인 매도인 임차인 임대인 갑 을 원고 피고 채권자 채무자 발주자 수급인 도급인 위탁자 수탁자
    甲 乙 買主 売主 賃貸人 賃借人 原告 被告 委託者 受託者
    käufer verkäufer mieter vermieter darlehensgeber darlehensnehmer kläger beklagte auftraggeber
    auftragnehmer acheteur vendeur bailleur preneur locataire prêteur emprunteur demandeur
    défendeur
    """.split()
)
"""Words for the two sides of a deal or a case: who does what to whom is told by their order."""

TITLES_OF_PEOPLE = {
    "mr": "he", "mister": "he", "herr": "he", "monsieur": "he", "sir": "he",
    "mrs": "she", "ms": "she", "miss": "she", "frau": "she", "mme": "she", "madame": "she",
}  # fmt: skip
"""Titles that say which of two people of one surname is meant."""

FIRST_PERSON = frozenset("i we my our me us".split())

NEGATIONS = frozenset(
    """
    not no never none nor neither nobody nowhere hardly scarcely barely rarely seldom without
    nothing cannot unless except excluding fail failed
    fails refuse refused refuses decline declined denied deny denies nicht kein keine keinen ohne
    nie pas sans jamais aucun aucune
    """.split()
)
KOREAN_NEGATIONS = (
    "지 않",
    "지 아니",
    "지 못",
    "하지않",
    "없",
    "아니하",
    "거절",
    "거부",
    "ない",
    "なかった",
    "せず",
)

WEEKDAYS = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag lundi mardi mercredi
    jeudi vendredi samedi dimanche 월요일 화요일 수요일 목요일 금요일 토요일 일요일
    """.split()
)
"""Weekdays say nothing of an event; whether they fit their date is arithmetic."""

SEQUENCE_WORDS = frozenset(
    """
    another additional further twice
    first second third fourth fifth final finally last again initial initially original
    originally previous previously next earlier earliest latest only amended revised supplemental
    renewed 처음 최초 마지막 다시 재차 최종 erstmals zuletzt erneut wieder premier première
    dernier dernière
    """.split()
)
"""Words that place an event in an order; the record must hold them too."""

MODALS = frozenset("will shall would may might could should must".split())
"""In the record: something that shall or may be, not something that was."""

OBLIGATIONS = MODALS | frozenset(
    """
    can required requires require obliged obligated agreed agrees scheduled supposed promised
    undertook undertakes intended intends planned expected proposed ought needs need wird soll
    muss darf devra doit 예정 약정 의무
    """.split()
)
"""In the reply: it says so."""

DISTANCING = frozenset(
    """
    whether if alleged alleges allege alleging allegedly contends contended asserts asserted
    argues argued disputes disputed doubts supposedly purported purportedly proposed proposes
    planned intended intends expected expects anticipated draft hypothetical
    """.split()
)
"""Words with which the record reports what somebody says, wants or doubts, not what happened."""

EXCEPTIONS = frozenset("unless except excluding 단 다만".split())
"""Words that restrict what was just said."""

POSITIONS = frozenset("before after until above below".split())
"""Function words that belong to an event when they do not bind the item itself."""

DEADLINE_WORDS = frozenset(
    """
    due deadline expire expires expired expiry latest limit cutoff 기한 마감 만료 만기 기일 frist
    fällig échéance délai 期限 締切
    """.split()
)
"""Words that mean "on or before"."""

IRREGULAR = {
    "wrote": "write",
    "written": "write",
    "sent": "send",
    "paid": "pay",
    "payment": "pay",
    "held": "hold",
    "began": "start",
    "begun": "start",
    "begin": "start",
    "begins": "start",
    "commence": "start",
    "commenc": "start",
    "beginning": "start",
    "met": "meet",
    "left": "leave",
    "made": "make",
    "gave": "give",
    "given": "give",
    "took": "take",
    "taken": "take",
    "told": "tell",
    "bought": "buy",
    "sold": "sell",
    "knew": "know",
    "known": "know",
    "died": "death",
    "die": "death",
    "dead": "death",
    "ran": "run",
    "saw": "see",
    "heard": "hear",
    "brought": "bring",
    "became": "become",
    "spoke": "speak",
    "chose": "choose",
    "fell": "fall",
    "receipt": "receiv",
    "deposed": "depos",
    "deposition": "depos",
    "testified": "testif",
    "testify": "testif",
    "testimony": "testif",
    "testifying": "testif",
}
"""Forms of one word that no suffix rule joins. Forms only, no near meanings: "dated", "signed" and
"sent" are three events."""

KOREAN_ENDINGS = (
    "하였습니다 되었습니다 하였다 되었다 하였고 되었고 했습니다 됐습니다 했다 됐다 하기로 하고 "
    "하여 한다 된다 하는 되는 "
    "이었습니다 이었다 입니다 이다 였다 에서는 에서 으로 에게 부터 까지 에는 에 은 는 이 가 을 를 "
    "의 로 와 과 도 만"
).split()
"""Particles and verb endings glued to a Korean word, longest first within each length."""

DOCUMENT_TYPES = {
    word: kind
    for kind, words in {
        "agreement": "agreement contract deed 계약서 vertrag contrat",
        "lease": "lease",
        "amendment": "amendment addendum",
        "deposition": "deposition dep depo",
        "transcript": "transcript tr",
        "declaration": "declaration decl affidavit aff 진술서",
        "e-mail": "email mail emails e-mail",
        "letter": "letter 서신 내용증명 brief",
        "memorandum": "memorandum memo",
        "report": "report 보고서",
        "complaint": "complaint compl 소장",
        "answer": "answer 답변서",
        "motion": "motion mot",
        "order": "order",
        "opinion": "opinion judgment 판결 판결문",
        "invoice": "invoice",
        "minutes": "minutes",
        "notice": "notice",
        "policy": "policy",
        "plan": "plan",
        "will": "testament",
        "statute": "statute act gesetz",
    }.items()
    for word in words.split()
}
"""Words for kinds of paper to the kind."""

DOCUMENT_VERBS = {
    "testified": ("deposition", "transcript", "declaration"),
    "deposed": ("deposition",),
    "declared": ("declaration",),
    "declares": ("declaration",),
    "wrote": ("e-mail", "letter"),
    "emailed": ("e-mail",),
    "mailed": ("e-mail", "letter"),
}
"""Verbs that imply a kind of paper when their subject's name stands in a title."""
