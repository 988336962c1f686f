"""Titles, suffixes and capitalised words that are no names, as data."""

from __future__ import annotations

_TITLES = (
    "Mr Mrs Ms Miss Dr Prof Professor Judge Justice Hon Sir Herr Frau Mme Sgt Officer Agent "
    "Detective Lt Capt"
).split()
TITLES = frozenset({*_TITLES, *(title.lower() for title in _TITLES), "Chief Justice"})
PARTICLES = frozenset("van von der den de du la le da dos del di bin al el ibn ter ten zu".split())
COMPANY_SUFFIXES = frozenset(
    "Inc Inc. LLC L.L.C. Corp Corp. Corporation Company Co Co. Ltd Ltd. Limited LP L.P. LLP "
    "L.L.P. PLC plc GmbH AG KG S.A. SA SARL N.A. Bank Trust Partners Holdings Group "
    "Associates".split()
)
KOREAN_SURNAMES = tuple(
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진"
    "엄채원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국"
)
KOREAN_TITLES = (
    "씨 님 군 양 대표 이사 부장 과장 차장 사장 회장 변호사 판사 검사 교수 박사 증인 원고 피고"
).split()
COMMON_CAPITALS = frozenset(
    """
    the a an this that these those he she it they we you i his her its their our my in on at by
    for from to of with as if when where while after before since until because although however
    moreover therefore thus accordingly and but or nor so yet both each every no not any all some
    see also according under during between within without upon there here what which who whom
    whose why how is was were are be been has had have do did does may might must shall should
    will would can could having being given asked told shown based assuming considering
    regarding concerning despite once unless monday tuesday wednesday thursday friday saturday
    sunday january
    february march april june july august september october november december jan feb mar apr jun
    jul aug sep sept oct nov dec agreement contract lease exhibit ex section article schedule
    appendix annex clause paragraph page pages line deposition dep declaration decl affidavit
    complaint answer motion order opinion brief memorandum memo report letter email e-mail notice
    plan policy invoice minutes transcript tr record document documents timeline entry amount
    credit court courts district circuit supreme appeals state states united federal county city
    plaintiff plaintiffs defendant defendants appellant appellee petitioner respondent borrower
    lender landlord tenant lessor lessee seller buyer purchaser supplier employee employer
    executive company corporation bank board party parties counsel witness congress senate house
    president government department secretary commission agency act rule code constitution
    amendment english american korean german french japanese european bates ecf dkt docket pdf
    usd eur krw yes first second third finally next then later earlier following please confirm
    note draft final executed effective date dated closing employment severance construction
    software license stock purchase asset loan chief officer director manager vice chairman
    general attorney attorneys office inspection supply verified check found today yesterday both
    neither either one two three four five six seven eight nine ten northern southern eastern
    western north south east west international national repairs rent payment payments facilities
    phase appellants appellees
    """.split()
)
"""Words that start a sentence or a defined term far more often than a name."""
