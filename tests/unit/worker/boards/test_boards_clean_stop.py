"""A reset of the box is told from a crash of the worker."""

import pytest

from worker.boards.clean_stop import CleanStop


@pytest.fixture
def run(tmp_path):
    boot = tmp_path / "boot_id"

    def start(name):
        boot.write_text(name)
        mark = CleanStop(tmp_path / "boards.mark", boot_id=boot)
        return mark, mark.started()

    return start


def test_the_first_run_and_a_clean_stop_say_nothing(run):
    mark, unclean = run("one")
    assert not unclean
    mark.stopped()
    assert not run("two")[1]


def test_a_crash_of_the_worker_is_no_reset(run):
    run("one")
    assert not run("one")[1]


def test_a_reset_is_noticed_once(run):
    run("one")
    assert run("two")[1]
    mark, unclean = run("two")
    assert not unclean
    mark.stopped()
    assert not run("three")[1]


def test_a_spoiled_mark_stops_nobody(run, tmp_path):
    run("one")
    (tmp_path / "boards.mark").write_bytes(b"\x00")
    assert not run("two")[1]
