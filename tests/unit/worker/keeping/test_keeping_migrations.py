"""Numbered changes of the state folder: up, back, cut off in the middle, newer than we know."""

from __future__ import annotations

import stat

import pytest

from protocol.errors import BadRequest, Conflict, Damaged, Unavailable
from worker.jobs import open_queue
from worker.keeping.migrations import (
    CHAIN,
    Migration,
    mark_new,
    pending,
    refuse_unfit,
    rollback,
    upgrade,
)
from worker.keeping.version import (
    CURRENT,
    StateVersion,
    read_version,
    refuse_newer,
    worker_stopped,
    write_version,
)


def chain_of(count, log, fail_at=None):
    """Migrations that write a file each and note what they did."""

    def make(number):
        def up(state):
            (state / f"v{number}").write_text("x")
            if number == fail_at and f"up {number}" not in log:
                log.append(f"up {number}")
                raise KeyboardInterrupt  # as if the process were ended there
            log.append(f"up {number}")

        def down(state):
            (state / f"v{number}").unlink(missing_ok=True)
            log.append(f"down {number}")

        return Migration(number=number, title=f"step {number}", up=up, down=down)

    return tuple(make(number) for number in range(1, count + 1))


def test_the_chain_is_numbered_without_gaps_up_to_the_current_version():
    assert [one.number for one in CHAIN] == list(range(1, CURRENT + 1))


def test_all_that_is_pending_runs_in_order_and_once(tmp_path):
    log = []
    chain = chain_of(3, log)
    assert [one.number for one in upgrade(tmp_path, chain)] == [1, 2, 3]
    assert list(upgrade(tmp_path, chain)) == []
    assert log == ["up 1", "up 2", "up 3"]
    assert read_version(tmp_path) == StateVersion(version=3)


def test_the_way_back_runs_the_newest_first(tmp_path):
    log = []
    chain = chain_of(3, log)
    list(upgrade(tmp_path, chain))
    assert [one.number for one in rollback(tmp_path, 1, chain)] == [3, 2]
    assert log[3:] == ["down 3", "down 2"]
    assert read_version(tmp_path).version == 1
    assert sorted(path.name for path in tmp_path.glob("v[0-9]")) == ["v1"]


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_change_that_is_cut_off_stops_the_worker_and_is_run_again(tmp_path, cut, monkeypatch):
    monkeypatch.setattr("worker.keeping.version.CURRENT", 3)
    log = []
    chain = chain_of(3, log, fail_at=cut)
    with pytest.raises(KeyboardInterrupt):
        list(upgrade(tmp_path, chain))
    assert read_version(tmp_path) == StateVersion(version=cut - 1, under_way=cut)
    with pytest.raises(Conflict, match="cut off"):
        refuse_newer(tmp_path)
    assert [one.number for one in upgrade(tmp_path, chain)] == list(range(cut, 4))
    assert log.count(f"up {cut}") == 2
    assert read_version(tmp_path) == StateVersion(version=3)


def test_a_way_back_that_is_cut_off_can_go_either_way(tmp_path):
    log = []
    chain = chain_of(2, log)
    list(upgrade(tmp_path, chain))
    write_version(tmp_path, StateVersion(version=2, under_way=1))
    assert [one.number for one in pending(tmp_path, chain)] == [2]
    assert [one.number for one in rollback(tmp_path, 1, chain)] == [2]
    assert read_version(tmp_path) == StateVersion(version=1)


@pytest.mark.parametrize("to", [2, 3, 7])
def test_there_is_no_way_back_to_what_is_not_behind(tmp_path, to):
    chain = chain_of(2, [])
    list(upgrade(tmp_path, chain))
    with pytest.raises(BadRequest, match="no way"):
        list(rollback(tmp_path, to, chain))
    assert read_version(tmp_path).version == 2


def test_a_newer_folder_is_left_alone_with_a_clear_sentence(tmp_path):
    write_version(tmp_path, StateVersion(version=CURRENT + 1))
    for act in (refuse_newer, refuse_unfit):
        with pytest.raises(Conflict, match=f"version {CURRENT + 1}") as caught:
            act(tmp_path)
        assert "newer" in caught.value.next_step


def test_a_needed_change_stops_the_worker_a_tidying_does_not(tmp_path, monkeypatch):
    chain = chain_of(1, [])
    monkeypatch.setattr("worker.keeping.migrations.CHAIN", chain)
    with pytest.raises(Conflict, match="older"):
        refuse_unfit(tmp_path)
    monkeypatch.setattr("worker.keeping.migrations.CHAIN", CHAIN)
    assert not CHAIN[0].needed
    refuse_unfit(tmp_path)


def test_a_new_folder_is_current_and_an_old_one_keeps_its_own(tmp_path):
    mark_new(tmp_path)
    assert read_version(tmp_path).version == CURRENT
    write_version(tmp_path, StateVersion(version=0))
    mark_new(tmp_path)
    assert read_version(tmp_path).version == 0


@pytest.mark.parametrize("text", ["", "{}", "1", '{"version": "one"}', '{"version": 1, "odd": 2}'])
def test_a_version_file_that_says_nothing_is_damage(tmp_path, text):
    (tmp_path / "version.json").write_text(text)
    with pytest.raises(Damaged):
        read_version(tmp_path)


async def test_nothing_is_changed_while_the_worker_runs(tmp_path, noon):
    queue = open_queue(tmp_path / "queue.sqlite", lambda: noon)
    try:
        with pytest.raises(Unavailable, match="running"), worker_stopped(tmp_path):
            pass
    finally:
        await queue.close()
    with worker_stopped(tmp_path), pytest.raises(Unavailable):
        open_queue(tmp_path / "queue.sqlite", lambda: noon)


def test_the_first_change_gives_an_old_box_doors_and_tight_rights(box):
    folder = box.folder("Harbor v. Crane")
    assert not (folder / "inbox").exists()
    (folder / "work.sqlite").chmod(0o644)
    (folder / "originals").chmod(0o755)
    (box.state / "version.json").unlink()
    list(upgrade(box.state))
    assert read_version(box.state).version == 1
    for name in ("inbox", "incoming", "out"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o700
    for path in folder.rglob("*"):
        if path.relative_to(folder).parts[0] not in ("inbox", "incoming", "out"):
            assert not path.stat().st_mode & 0o077, path
    before = [(path, path.stat().st_mode) for path in sorted(box.state.rglob("*"))]
    CHAIN[0].up(box.state)  # harmless to repeat
    assert [(path, path.stat().st_mode) for path in sorted(box.state.rglob("*"))] == before
    list(rollback(box.state, 0))
    assert read_version(box.state).version == 0
