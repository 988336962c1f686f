"""Ways to spoil a true quotation, for the checker's fuzzing bench.

Each function of the modules here takes the words of a true quotation and what stands around it and
gives the spoiled words, or None where it does not apply; a new one is found by being there. The
kinds go beyond those of any labelled set on purpose. Nothing here is known to the checker.
"""

from __future__ import annotations

import inspect
from typing import Final

from bench.mutations import brackets, duty, edges, spelling, splices, values, words
from bench.mutations.sample import Mutation, Sample

__all__ = ["ALWAYS_WRONG", "MUTATIONS", "Mutation", "Sample"]

MUTATIONS: Final[dict[str, Mutation]] = {
    name: function
    for module in (duty, words, spelling, values, splices, brackets, edges)
    for name, function in vars(module).items()
    if inspect.isfunction(function)
    and function.__module__ == module.__name__
    and not name.startswith("_")
}
"""Every way by its name. A seed draws by this order, so it is part of a figure."""

ALWAYS_WRONG: Final = {
    "currency_changed",
    "percent_dropped",
    "decimal_moved",
    "homoglyph",
    "thousands_moved",
    "compound_cut",
    "starts_after_negation",
    "stop_cuts_exception",
    "dots_swallow_negation",
}
"""Kinds whose result a search for letters would call true: signs, and what the cut leaves out."""
