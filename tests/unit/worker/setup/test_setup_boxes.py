"""A box that borrows: init makes its key, and the way to the other box lies where both come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from worker.app import utc_now
from worker.app_boxes import Boxes
from worker.boards import Box, HostMemory
from worker.boards.declared import Declared
from worker.box_settings import BoxSettings, OtherBoxSettings, way_socket
from worker.cli.gateway import ways
from worker.config import Settings
from worker.engine import EngineSettings
from worker.setup.plan import Plan, carry_out
from worker.setup.units import render_units

NO_CARDS = Box(boards=(), memory=HostMemory(total_bytes=0, available_bytes=0))


def joined(folder: Path, **more: object) -> Settings:
    return Settings(
        state=folder / "state",
        run_folder=folder / "run",
        boards=(EngineSettings(name="A", engine="scripted", model_sha256="ab" * 32),),
        box=BoxSettings(name="one"),
        other_box=(
            OtherBoxSettings(
                name="two",
                host="10.0.0.2",
                key=folder / "keys" / "box.key",
                known_hosts=folder / "two.known_hosts",
            ),
        ),
        **more,
    )


@pytest.mark.parametrize("uids", [(), (61002,)], ids=["one user", "two users"])
def test_gateway_and_worker_mean_the_same_socket(tmp_path: Path, uids: tuple[int, ...]) -> None:
    settings = joined(tmp_path, gateway_uids=uids)
    (way,) = ways(settings)
    (far,) = Boxes(settings, settings.run_of_worker(), utc_now).far
    assert far.endpoint == str(way.socket)
    assert (way.socket.parent == tmp_path / "run") == (not uids)


def test_the_gateways_unit_makes_the_folder_of_that_socket() -> None:
    settings = joined(Path("/etc/secondchair"), gateway_uids=(61002,))
    settings = Settings(
        state=Path("/var/lib/secondchair"),
        run_folder=Path("/run/secondchair"),
        gateway_uids=settings.gateway_uids,
        box=settings.box,
        other_box=settings.other_box,
    )
    units = render_units(settings, Path("/c.toml"), box=NO_CARDS, declared=Declared())
    lines = units["secondchair-gateway.service"].splitlines()
    (made,) = (line.partition("=")[2] for line in lines if line.startswith("RuntimeDirectory="))
    (way,) = ways_at(settings)
    assert way.parent == Path("/run") / made


def ways_at(settings: Settings) -> list[Path]:
    assert settings.run_folder is not None
    return [
        way_socket(other, settings.run_folder, apart=bool(settings.gateway_uids))
        for other in settings.other_box
    ]


def test_the_key_to_another_box_is_made_once_and_the_next_step_is_said(tmp_path: Path) -> None:
    settings = joined(tmp_path)
    plan = Plan(settings=settings, config=tmp_path / "c.toml", box=NO_CARDS, service=False)
    key = tmp_path / "keys" / "box.key"
    assert any("key to box two" in said for said in carry_out(plan, dry_run=True))
    assert not key.exists()
    said = "\n".join(carry_out(plan, dry_run=False))
    assert "users add one --key box.key.pub --role box" in said
    assert key.stat().st_mode & 0o777 == 0o600
    made = key.read_bytes()
    assert not any("key to box" in said for said in carry_out(plan, dry_run=False))
    assert key.read_bytes() == made
