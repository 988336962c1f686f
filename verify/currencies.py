"""Currencies, scales and periods as people write them, as data."""

from __future__ import annotations

SYMBOLS = {"$": "$", "＄": "$", "€": "EUR", "£": "GBP", "¥": "JPY", "₩": "KRW", "￦": "KRW"}
"""A sign to its currency; "$" is a dollar of no stated country."""

PREFIXES = {
    prefix: currency
    for currency, prefixes in {
        "USD": "us u.s. usd",
        "CAD": "ca c cad",
        "AUD": "a au aud",
        "HKD": "hk hkd",
        "NZD": "nz nzd",
        "SGD": "s sg sgd",
    }.items()
    for prefix in prefixes.split()
}
"""What stands before a dollar sign to the dollar it means."""

CODES = "USD|EUR|GBP|JPY|KRW|CHF|CAD|AUD|HKD|SGD|NZD|CNY|RMB|INR|SEK|NOK|DKK|MXN"
"""Three-letter codes, for a regular expression."""

NAMES = {
    "dollar": "$",
    "dollars": "$",
    "euro": "EUR",
    "euros": "EUR",
    "€": "EUR",
    "pound": "GBP",
    "pounds": "GBP",
    "won": "KRW",
    "yen": "JPY",
    "francs": "CHF",
    "cent": "cent",
    "cents": "cent",
}
"""A currency's name to the currency; a cent is a hundredth of a dollar."""

CJK_NAMES = {"원": "KRW", "円": "JPY", "엔": "JPY", "달러": "$", "유로": "EUR"}

SCALES = {
    word: value
    for value, words in {
        10**3: "thousand k",
        10**6: "million mill mil mio mn mm m",
        10**9: "billion bn b mrd",
        10**12: "trillion",
    }.items()
    for word in words.split()
}
"""A scale, points left out, to its value."""

PER_NAMES = {
    "annum": "year",
    "monthly": "month",
    "annually": "year",
    "yearly": "year",
    "weekly": "week",
    "daily": "day",
    "hourly": "hour",
    "p.a.": "year",
}
"""Other words for "per month" and the like."""
