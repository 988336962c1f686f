"""The box's own speed test: arithmetic, prompts, judgement, and what spoils a figure."""

from __future__ import annotations

import datetime as dt
import io

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from rich.console import Console

from bench.board_boxes import build_a, make_board, make_box
from protocol.errors import Unavailable
from worker.boards import Sample, Samples
from worker.boards.declared import Declared
from worker.engine import EngineSettings, Finished, FinishReason, Prompt, Text, Usage, messages
from worker.engine.scripted import Line, Scripted
from worker.engine.speeds import Speed
from worker.measuring import Cards, Measurement, Plan, Run, cell_of, is_unsteady, spread_of
from worker.measuring.campaign import devices_of, measure
from worker.measuring.cards import Watched
from worker.measuring.chart import draw
from worker.measuring.report import judged, keep, read_baseline, shown
from worker.measuring.running import timed
from worker.measuring.texts import prompt_of

NOW = dt.datetime(2026, 3, 2, 12, 0, tzinfo=dt.UTC)


class Paced:
    """An engine whose words come at told times; it keeps what it was asked."""

    def __init__(self, usage, waits_s, *, end=FinishReason.LENGTH):
        self.now = 100.0
        self._usage, self._waits_s, self._end = usage, waits_s, end
        self.asked = []

    def clock(self):
        return self.now

    async def stream(self, request, on_progress=None):
        self.asked.append(request)
        for wait_s in self._waits_s:
            self.now += wait_s
            yield Text(delta="word ")
        self.now += 50.0  # what comes after the last word is not writing
        yield Finished(usage=msgspec.structs.replace(self._usage, finish_reason=self._end))


async def test_times_are_from_sending_to_first_and_from_first_to_last():
    usage = Usage(prompt_tokens=1000, output_tokens=5, prefill_ms=2000.0, decode_ms=1.0)
    engine = Paced(usage, [3.0, 0.5, 0.5, 0.5, 0.5])
    run, _ = await timed(
        engine, Prompt(system="s"), kind="code", size=1024, output_tokens=5, clock=engine.clock
    )
    assert run.ttft_ms == 3000.0
    assert run.decode_tokens_per_s == 4 / 2.0
    assert run.prefill_tokens_per_s == 500.0
    (request,) = engine.asked
    limits = request.limits
    assert (limits.temperature, limits.reuse, limits.ignore_end) == (0.0, False, True)


@pytest.mark.parametrize(
    ("waits_s", "end"), [([], FinishReason.STOP), ([1.0], FinishReason.CANCELLED)]
)
async def test_a_call_that_did_not_write_is_no_figure(waits_s, end):
    engine = Paced(Usage(), waits_s, end=end)
    with pytest.raises(Unavailable):
        await timed(engine, Prompt(system=""), kind="code", size=1, output_tokens=1)


@pytest.mark.parametrize("kind", ["code", "legal"])
@settings(max_examples=25, deadline=None)
@given(tokens=st.integers(150, 6000))
def test_a_prompt_has_the_length_that_was_wanted_and_a_head_of_its_own(kind, tokens):
    engine = Scripted((), context_tokens=10_000)

    async def two():
        one, other = [await prompt_of(engine, kind, tokens) for _ in range(2)]
        return one, other, await engine.count_tokens(one), await engine.count_tokens(other)

    one, other, first, second = _run(two())
    for counted in (first, second):
        assert abs(counted - tokens) <= max(2, tokens * 0.005)
    assert messages(one)[1]["content"][:60] != messages(other)[1]["content"][:60]


def _run(coroutine):
    import asyncio

    return asyncio.run(coroutine)


async def test_a_length_that_cannot_be_made_is_refused():
    with pytest.raises(ValueError, match="length"):
        await prompt_of(Scripted(()), "legal", 10)


def test_spread_and_the_third_run():
    assert spread_of([90.0, 110.0]).spread == pytest.approx(0.2)
    assert not is_unsteady([_row(50.0), _row(51.0)])
    assert is_unsteady([_row(50.0), _row(56.0)])
    assert is_unsteady([_row(50.0, ttft_ms=1000.0), _row(50.0, ttft_ms=1100.0)])


def _row(rate, *, ttft_ms=1000.0, size=1024, kind="code", **more):
    return Run(
        kind=kind,
        size=size,
        prompt_tokens=size,
        output_tokens=1024,
        ttft_ms=ttft_ms,
        prefill_tokens_per_s=800.0,
        decode_tokens_per_s=rate,
        **more,
    )


def _measurement(*runs, **changes):
    keys = dict.fromkeys((run.size, run.kind) for run in runs)
    values = {
        "at": NOW, "board": "A", "model": "M.gguf", "model_sha256": "a" * 64,
        "binary_sha256": "b" * 64, "build": "b1", "flags": (), "devices": (), "boards": (),
        "crossings": 0, "driver": "", "machine": "here", "output_tokens": 1024,
        "floor_tokens_per_s": 40.0, "runs": tuple(runs),
        "cells": tuple(cell_of([r for r in runs if (r.size, r.kind) == key]) for key in keys),
    }  # fmt: skip
    return Measurement(**(values | changes))


def test_floor_baseline_and_reference():
    before = _measurement(_row(100.0), _row(100.0), _row(50.0, kind="legal"))
    now = _measurement(_row(90.0), _row(90.0), _row(39.0, kind="legal", ttft_ms=2400.0))
    code, legal = judged(now, before)
    assert (code.under_floor, code.worse, code.decode_of_baseline) == (False, True, 0.9)
    assert legal.under_floor
    assert legal.ttft_of_reference == pytest.approx(2.0)
    assert code.decode_of_reference == pytest.approx(90 / 215)
    alone = judged(now, None)[0]
    assert (alone.worse, alone.decode_of_baseline) == (False, None)
    other = msgspec.structs.replace(before, output_tokens=32)
    assert judged(now, other)[0].decode_of_baseline is None


def test_a_loss_within_the_spread_is_none_and_a_longer_wait_is_one():
    before = _measurement(_row(100.0), _row(120.0))
    assert not judged(_measurement(_row(95.0), _row(100.0)), before)[0].worse
    slow = judged(_measurement(_row(110.0, ttft_ms=1200.0)), _measurement(_row(110.0)))[0]
    assert slow.worse


async def test_the_plan_is_run_and_what_does_not_fit_is_named(tmp_path):
    engine = Scripted((Line(text="word " * 60, token_s=0.0001),), context_tokens=600)
    await engine.start()
    speed = Speed(tmp_path / "speeds.json", "A", engine)
    told = []
    done = await measure(
        engine,
        Plan(sizes=(300, 1024), runs=2, output_tokens=20),
        EngineSettings(name="A", engine="scripted"),
        box=make_box(),
        declared=Declared(),
        probe=None,
        speed=speed,
        now=NOW,
        say=told.append,
    )
    await engine.stop()
    assert {(cell.size, cell.kind) for cell in done.cells} == {(300, "code"), (300, "legal")}
    assert all(cell.runs in (2, 3) for cell in done.cells)
    assert done.left_out == ("1024 tokens: 1044 are needed, the context holds 600",)
    assert done.unfit == ()
    assert told
    heads = {messages(call.prompt)[1]["content"][:60] for call in engine.asked}
    assert len(heads) == len(engine.asked) == len(done.runs)
    assert not any(call.limits.reuse for call in engine.asked)


def test_devices_come_from_the_engines_own_list_and_crossings_are_counted():
    box = build_a()
    named = EngineSettings(environment={"CUDA_VISIBLE_DEVICES": "GPU-0004,GPU-0006,GPU-0005"})
    assert devices_of(named, box) == ("GPU-0004", "GPU-0006", "GPU-0005")
    assert len(devices_of(EngineSettings(), box)) == 12


# --- the cards meanwhile --------------------------------------------------------------------------


def _sample(at_s, **changes):
    values = {
        "uuid": "GPU-0000", "power_mw": (100_000, 140_000), "power_limit_mw": 180_000,
        "utilisation": 90, "sm_clock_mhz": 1500, "link_width": 8, "link_width_most": 8,
        "reasons": 4, "temperature_c": 60, "memory_temperature_c": 60, "ecc_corrected": 0,
        "ecc_uncorrected": 0, "pages_single": 0, "pages_double": 0, "pages_pending": 0,
        "links_active": 0, "link_errors": 0, "replays": 0,
    }  # fmt: skip
    return Sample(at_s=at_s, **(values | changes))


def _watched(*samples):
    watched = Watched(make_box(make_board("A", (0,))), Declared(), ("GPU-0000",))
    for sample in samples:
        watched.take(Samples(samples=(sample,)))
    return watched.cards()


def test_energy_is_power_over_time_and_the_peak_is_one_reading():
    cards = _watched(_sample(0.0), _sample(1.0), _sample(3.0, power_mw=(150_000,)))
    assert cards.energy_j == 120.0 * 1 + 150.0 * 2
    assert (cards.peak_w, cards.hottest_c) == (150.0, 60)
    assert (cards.throttled, cards.trouble, cards.stop) == ((), (), False)


@pytest.mark.parametrize(("bit", "said"), [(3, "slowed"), (6, "hot"), (7, "braked")])
def test_throttling_by_the_hardware_is_named(bit, said):
    assert said in _watched(_sample(0.0, reasons=4 | 1 << bit)).throttled[0]


def test_a_narrow_link_and_a_power_peak_are_told():
    narrow = _watched(*(_sample(float(n), link_width=4) for n in range(4)))
    assert narrow.trouble
    assert not narrow.stop
    over = _watched(_sample(0.0, power_mw=(240_000,)))
    assert over.stop


def test_other_boards_cards_and_a_box_without_any_are_left_out():
    assert _watched(_sample(0.0, uuid="GPU-0009", power_mw=(900_000,))) == Cards()
    assert _watched() == Cards()


# --- shown and kept -------------------------------------------------------------------------------


def test_it_is_drawn_shown_and_kept(tmp_path):
    runs = [
        _row(200.0 / n, size=size, kind=kind, ttft_ms=900.0 * n, cards=Cards(energy_j=5.0))
        for n, size in enumerate((1024, 32_768), start=1)
        for kind in ("code", "legal")
    ]
    done = _measurement(*runs, left_out=("524288 tokens: too long",), unfit=("too hot",))
    draw(done, tmp_path / "m" / "x.png")
    with Image.open(tmp_path / "m" / "x.png") as image:
        assert image.size == (960, 840)
        assert len(image.getcolors(1 << 20)) > 10
    page = io.StringIO()
    Console(file=page, width=120).print(shown(done, judged(done, done)))
    said = page.getvalue()
    for words in ("32,768", "legal", "1.00x", "left out: 524288", "not to be passed on: too hot"):
        assert words in said
    keep(tmp_path / "m" / "x.json", done)
    assert read_baseline(tmp_path / "m" / "x.json") == done
    assert read_baseline(tmp_path / "nothing.json") is None
