"""The worker as it is joined, on the line of several boxes: a real PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import postgres
from worker.app import App
from worker.box_settings import BoxSettings
from worker.checks_boxes import box_checks
from worker.config import Settings
from worker.engine import EngineSettings
from worker.registry import Registry, write


@pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing())
async def test_two_workers_stand_on_one_line_and_each_keeps_its_boards(tmp_path: Path) -> None:
    def settings(name: str) -> Settings:
        state = tmp_path / name
        (state / "registry").mkdir(parents=True)
        write(state / "registry" / "users.toml", Registry(users=()))
        return Settings(
            state=state,
            run_folder=tmp_path / f"run-{name}",
            boards=(EngineSettings(name=f"{name}.a", engine="scripted"),),
            box=BoxSettings(name=name, queue_file=tmp_path / "queue"),
        )

    with postgres.server(durable=False) as server:
        (tmp_path / "queue").write_text(f"{server.conninfo}\n", "utf-8")
        one, two = settings("one"), settings("two")
        async with App(one).open() as first, App(two).open() as second:
            for app in (first, second):
                assert {"queue one.a", "queue two.a"} <= set(await app.health())
                assert f"board {app.settings.boards[0].name}" in await app.health()
        assert not (one.state / "queue.sqlite").exists()
        said = {check.name: check.reason for check in box_checks(one)}
        assert said["shared queue"] == "the database answers"
        server.stop()
        gone = {check.name: check for check in box_checks(one)}
        assert gone["shared queue"].state == "fail"
        assert "host=" not in gone["shared queue"].reason
