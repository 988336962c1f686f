"""Arithmetic a reply states: "$100 and $200, in total $300", "the difference between A and B is C".

A statement is `strict` when its form leaves no doubt what is added to what: then a wrong result is
an inconsistency. A loose statement can only confirm.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, DivisionByZero, InvalidOperation

from verify.amounts import Figure

_BASE = 0xE000
_F = "[\ue000-\uf8ff]"
_LIST = rf"{_F}(?:(?:\s*,\s*(?:and\s+|plus\s+)?|\s+and\s+|\s*(?:plus|\+|와|과|및)\s*){_F})+"
_FORMS: tuple[tuple[str, bool, re.Pattern[str]], ...] = (
    (
        "expression",
        True,
        re.compile(rf"(?P<terms>{_F}(?:\s*[+\-–−×x*/÷]\s*{_F})+)\s*=\s*(?P<result>{_F})"),
    ),
    (  # "the increase was $3,750 ($52,250 − $48,500)"
        "expression",
        True,
        re.compile(
            rf"(?P<result>{_F})[^.;(){_F[1:-1]}]{{0,40}}\(\s*(?:(?:i\.e\.|that\s+is|namely|viz\.?|=)\s*,?"
            rf"\s*)?(?P<terms>{_F}(?:\s*[+\-–−×x*/÷]\s*{_F})+)\s*\)"
        ),
    ),
    (
        "sum",
        True,
        re.compile(
            rf"(?P<terms>{_LIST})[^.;{_F[1:-1]}]{{0,40}}?(?:total(?:s|ed|ing|led|ling)?|sums?\s+(?:to|of)|add(?:s|ed|ing)?\s+up\s+to"
            rf"|together|altogether|combined|equals?|makes?|합계|합하여|총)[^.;{_F[1:-1]}]{{0,30}}(?P<result>{_F})(?!\s*,?\s*(?:and|plus)\s*{_F})"
        ),
    ),
    (
        "sum",
        True,
        re.compile(rf"(?i)sum\s+of\s+(?P<terms>{_LIST})[^.;{_F[1:-1]}]{{0,20}}(?P<result>{_F})"),
    ),
    (
        "sum",
        True,
        re.compile(
            rf"(?i)total(?:ing|ling|s|ed)?(?:\s+of|\s+is|:)?\s+(?P<result>{_F})\s*[(:=—]\s*(?P<terms>{_LIST})"
        ),
    ),
    (
        "sum",
        False,
        re.compile(
            rf"(?i)(?P<terms>{_F}[^.;{_F[1:-1]}]{{0,80}}(?:,|and|plus)[^.;{_F[1:-1]}]{{0,80}}{_F})[^.;{_F[1:-1]}]{{0,60}}(?:total|sum|together|combined|in\s+all)"
            rf"[^.;{_F[1:-1]}]{{0,40}}(?P<result>{_F})"
        ),
    ),
    (
        "sum",
        True,
        re.compile(
            rf"(?P<terms>{_F}(?:\s*(?:plus|\+)\s*{_F})+)\s*,?\s*(?:is|are|equals?|makes?|=)"
            rf"[^.;{_F[1:-1]}]{{0,10}}(?P<result>{_F})"
        ),
    ),
    (
        "difference",
        True,
        re.compile(
            rf"(?i)difference\s+between\s+(?P<terms>{_F}\s+and\s+{_F})[^.;{_F[1:-1]}]{{0,25}}(?P<result>{_F})"
        ),
    ),
    (
        "less",
        True,
        re.compile(
            rf"(?i)(?P<terms>{_F}\s*,?\s*(?:less|minus|reduced\s+by|−)\s*(?:the\s+)?{_F})[^.;{_F[1:-1]}]{{0,25}}?(?:is|are|equals?|leaves?|leaving|=|makes?|or)"
            rf"[^.;{_F[1:-1]}]{{0,10}}(?P<result>{_F})"
        ),
    ),
    (
        "product",
        True,
        re.compile(
            rf"(?i)(?P<terms>{_F}\s*(?:times|multiplied\s+by|×)\s*{_F})[^.;{_F[1:-1]}]{{0,25}}?(?:is|are|equals?|=|makes?|or)\s*(?P<result>{_F})"
        ),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One stated computation: the terms, what they give, and the formula in words."""

    terms: tuple[Figure, ...]
    value: Decimal
    formula: str
    strict: bool


def stated(text: str, item: Figure, figures: Sequence[Figure]) -> Statement | None:
    """The computation whose result ``item`` is said to be; None when there is none."""
    low, high = max(0, item.start - 500), item.end + 300
    near = [figure for figure in figures if low <= figure.start and figure.end <= high][:500]
    pieces, at = [], low
    for number, figure in enumerate(near):
        pieces += [text[at : figure.start], chr(_BASE + number)]
        at = figure.end
    marked = "".join(pieces) + text[at:high]
    for name, strict, form in _FORMS:
        for found in form.finditer(marked):
            if near[ord(found["result"]) - _BASE] != item:
                continue
            terms = tuple(near[ord(sign) - _BASE] for sign in re.findall(_F, found["terms"]))
            statement = _compute(name, found["terms"], terms, item, text, strict)
            if statement:
                return statement
    return None


def _compute(
    name: str, written: str, terms: tuple[Figure, ...], item: Figure, text: str, strict: bool
) -> Statement | None:
    signs = re.findall(r"[+\-–−×x*/÷]", written) if name == "expression" else []
    values = [term.value for term in terms]
    if name == "product" or (signs and all(sign in "×x*" for sign in signs)):
        value, sign = _product(values), " × "
    elif len({(term.group, term.unit) for term in (*terms, item)} - {(item.group, "")}) > 1:
        return None  # dollars and days do not add
    elif name == "difference":
        value, sign = abs(values[0] - values[1]), " − "
        values.sort(reverse=True)
    elif name == "less":
        value, sign = values[0] - sum(values[1:], Decimal(0)), " − "
    elif signs:
        return _mixed(signs, terms, item, strict)
    else:
        value, sign = sum(values, Decimal(0)), " + "
    formula = sign.join(f"{one:,}" for one in values) + f" = {value:,}"
    return Statement(terms=terms, value=value, formula=formula, strict=strict)


def _product(values: Sequence[Decimal]) -> Decimal:
    result = Decimal(1)
    for value in values:
        result *= value
    return result


def _mixed(
    signs: Sequence[str], terms: tuple[Figure, ...], item: Figure, strict: bool
) -> Statement | None:
    """An expression of plus and minus, or one division; anything else is left alone."""
    value = terms[0].value
    words = f"{value:,}"
    if any(sign in "×x*/÷" for sign in signs):
        if len(signs) != 1 or signs[0] not in "/÷":
            return None
        try:
            value = value / terms[1].value
        except (DivisionByZero, InvalidOperation):
            return None
        words = f"{terms[0].value:,} / {terms[1].value:,}"
    else:
        for sign, term in zip(signs, terms[1:], strict=True):
            value += term.value if sign == "+" else -term.value
            words += f" {'+' if sign == '+' else '−'} {term.value:,}"
    return Statement(terms=terms, value=value, formula=f"{words} = {value:,}", strict=strict)
