"""Every kind of work is known wherever a kind must be: none is accepted and then not done."""

from __future__ import annotations

import typing

from protocol.jobs import WorkRequest
from worker.handlers.work import WEIGHT_S
from worker.pipeline import MAKERS

KINDS = set(typing.get_args(WorkRequest))


def test_every_kind_has_a_maker_of_its_draft():
    assert set(MAKERS) == KINDS
    assert len(set(MAKERS.values())) == len(KINDS)


def test_every_kind_has_a_weight():
    assert set(WEIGHT_S) == KINDS
    assert all(weight > 0 for weight in WEIGHT_S.values())
