"""Words that may be put in the place of one another."""

from __future__ import annotations

from typing import Final

NEGATIONS: Final = {"not", "no", "never", "without", "neither", "nor", "cannot", "none", "nothing"}
MODALS: Final = ["shall", "may", "must", "will", "can", "should", "would", "could", "might"]
AUXILIARIES: Final = {
    "is",
    "are",
    "was",
    "were",
    "has",
    "have",
    "had",
    "does",
    "do",
    "did",
    *MODALS,
}
QUANTIFIERS: Final = [
    "all",
    "any",
    "each",
    "every",
    "some",
    "no",
    "most",
    "many",
    "few",
    "several",
    "both",
    "either",
]
OPPOSITES: Final = {
    "before": "after",
    "after": "before",
    "and": "or",
    "or": "and",
    "more": "less",
    "less": "more",
    "least": "most",
    "most": "least",
    "above": "below",
    "below": "above",
    "to": "from",
    "from": "to",
    "with": "without",
    "without": "with",
    "if": "unless",
    "unless": "if",
    "until": "since",
    "first": "last",
    "last": "first",
    "same": "other",
    "minimum": "maximum",
    "maximum": "minimum",
    "affirmed": "reversed",
    "reversed": "affirmed",
    "granted": "denied",
    "denied": "granted",
    "plaintiff": "defendant",
    "defendant": "plaintiff",
    "buyer": "seller",
    "seller": "buyer",
    "borrower": "lender",
    "lender": "borrower",
    "petitioner": "respondent",
    "respondent": "petitioner",
    "true": "false",
    "always": "never",
    "he": "she",
    "she": "he",
    "his": "her",
    "him": "her",
    "up": "down",
    "over": "under",
    "under": "over",
    "within": "beyond",
    "greater": "lesser",
    "higher": "lower",
    "lower": "higher",
    "increase": "decrease",
    "include": "exclude",
    "including": "excluding",
    "valid": "invalid",
    "lawful": "unlawful",
    "able": "unable",
    "proper": "improper",
    "possible": "impossible",
}
MONTHS: Final = (
    "January February March April May June July August September October November December".split()
)
NUMBER_WORDS: Final = (
    "one two three four five six seven eight nine ten twelve twenty thirty sixty ninety"
    " hundred".split()
)
