"""The start-up test measures the box; a job says how long its prompt will take to read."""

from __future__ import annotations

import pytest

from bench.house import open_house
from protocol.errors import Unavailable
from protocol.events import Progress, Stage
from worker.engine import EngineSettings, bundled_model, open_engine
from worker.engine.builds import Builds, build_key
from worker.engine.speeds import Speed


@pytest.mark.model
@pytest.mark.slow
async def test_a_start_fills_the_boxs_own_table(tmp_path):
    try:
        bundled_model()
    except Unavailable as error:
        pytest.skip(error.message)
    file = tmp_path / "speeds.json"
    notes = tmp_path / "A.json"
    settings = EngineSettings(
        name="A",
        context_tokens=1024,
        speeds_file=file,
        state_file=notes,
        long_test_tokens=600,
    )
    engine = open_engine(settings)
    await engine.start()
    try:
        speed = Speed(file, "A", engine)
        assert speed.prefill(500) > 0
        assert speed.decode(500) > 0
        note = Builds(notes).note(build_key(engine.provenance))
        assert note.answer_sha256
        assert note.long_answer_sha256
    finally:
        await engine.stop()


async def test_a_job_says_how_long_the_prompt_will_take(sample_root):
    async with open_house(sample_root) as house:
        accepted = await house.answer(house.ask("When did Northgate first know of the leak?"))
        events = await house.queue.events_since(accepted.job, 0)
        said = [
            event.body
            for event in events
            if isinstance(event.body, Progress) and event.body.stage is Stage.READING
        ]
    counted = [body for body in said if body.total]
    assert counted
    assert all(body.eta_s is not None for body in counted)
    assert counted[-1].eta_s == 0
    assert counted[0].eta_estimated  # this house was never measured
