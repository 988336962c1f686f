"""A folder of the office that a matter follows, with the worker's own parts and a real folder."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import time

import pytest
from click.testing import CliRunner

from bench.house import CODE, open_house
from protocol.errors import BadRequest, Damaged, NotFound
from protocol.events import Completed
from protocol.ids import UserName
from protocol.jobs import JobState
from protocol.record import LedgerState
from rag.intake import news, take_in
from rag.matters import OpenMatter
from worker import registry
from worker.app import App
from worker.audit import read
from worker.cli import cli
from worker.config import Settings
from worker.engine import EngineSettings
from worker.followed import folders_of, follow, followed_by
from worker.following import Following
from worker.registry import Registry, RegistryFile, Role, User

SOON_S = 60.0


@pytest.fixture
def state(sample_root, tmp_path):
    """A copy of the sample matter with a lawyer, a reviewer and somebody of another matter."""
    root = tmp_path / "state"
    shutil.copytree(sample_root / "matters", root / "matters")
    people = (("kim", Role.REVIEWER, (CODE,)), ("lee", Role.LAWYER, (CODE,)))
    users = [User(name=UserName(name), role=role, matters=m) for name, role, m in people]
    users.append(User(name=UserName("other"), role=Role.LAWYER))
    (root / "registry").mkdir()
    registry.write(root / "registry" / "users.toml", Registry(users=tuple(users)))
    return root


@pytest.fixture
def folder(tmp_path):
    """A folder of the office."""
    made = tmp_path / "office" / "kim-v-lee"
    made.mkdir(parents=True)
    return made


def typed(state, *words):
    return CliRunner().invoke(cli, ["--state", str(state), "matters", *words])


@contextlib.asynccontextmanager
async def following(state, **options):
    """A worker of parts that follows what its matters name."""
    async with open_house(state) as house:
        people = RegistryFile(state / "registry" / "users.toml")
        given = {"look_s": 0.05, "again_s": 0.2, "rest_ms": 100} | options
        made = Following(
            state / "matters", house.shelf, house.queue, people, house.work.submit, **given
        )
        task = asyncio.create_task(made.run())
        try:
            yield house, made
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def until(condition):
    """Waits for what must come; a generous deadline ends a wait for what never does."""
    deadline = time.monotonic() + SOON_S
    while not (found := await condition()):
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.02)
    return found


async def names_of(house):
    return {info.name for info in await house.documents()}


async def ended(house):
    """The replies of all readings, when none is at work."""
    jobs = [job for job in await house.queue.jobs(CODE) if job.kind == "ingest"]
    if not jobs or any(job.state in (JobState.WAITING, JobState.RUNNING) for job in jobs):
        return None
    async with house.shelf.use(CODE) as held:
        return [held.work.answer(job.id) for job in jobs]


async def test_what_is_put_into_the_folder_is_read_and_told(state, folder):
    (folder / "before.txt").write_text("The pump was there before anybody followed.", "utf-8")
    assert typed(state, "watch", CODE, "--folder", str(folder), "--by", "lee").exit_code == 0
    async with following(state) as (house, made):
        await until(lambda: _has(house, "kim-v-lee/before.txt"))
        (folder / "sub").mkdir()
        (folder / "sub" / "later.txt").write_text("The pump was replaced later.", "utf-8")
        await until(lambda: _has(house, "kim-v-lee/sub/later.txt"))
        answers = await until(lambda: ended(house))
        assert any("kim-v-lee/sub/later.txt: new, 1 page" in one.text for one in answers)
        assert any("kim-v-lee/before.txt: new, 1 page" in one.text for one in answers)
        assert {job.user for job in await house.queue.jobs(CODE)} == {"lee"}
        assert made.health() == ("ok", "1 followed")
        (folder / "before.txt").unlink()  # what goes from the folder stays in the matter
        (folder / "third.txt").write_text("A third paper.", "utf-8")
        await until(lambda: _has(house, "kim-v-lee/third.txt"))
        assert "kim-v-lee/before.txt" in await names_of(house)


async def _has(house, name):
    return name in await names_of(house)


async def test_the_joined_worker_follows(state, folder, tmp_path):
    typed(state, "watch", CODE, "--folder", str(folder), "--by", "lee")
    board = EngineSettings(name="a", engine="scripted")
    settings = Settings(state=state, run_folder=tmp_path / "run", boards=(board,))
    async with App(settings).open() as app:

        async def told():
            return (await app.health()).get("folders")

        assert await until(told) == ("ok", "1 followed")


async def test_a_start_with_nothing_new_asks_for_nothing(state, folder):
    (folder / "paper.txt").write_text("One paper.", "utf-8")
    typed(state, "watch", CODE, "--folder", str(folder), "--by", "lee")
    async with following(state) as (house, _):
        await until(lambda: ended(house))
    async with following(state) as (house, made):
        await until(_true(lambda: made.health() == ("ok", "1 followed")))
        (folder / "next.txt").write_text("The next paper.", "utf-8")
        await until(lambda: _has(house, "kim-v-lee/next.txt"))
        assert len([job for job in await house.queue.jobs(CODE) if job.kind == "ingest"]) == 1


def _true(condition):
    async def asked():
        return condition()

    return asked


async def test_a_file_that_cannot_be_opened_is_asked_for_once(state, folder, monkeypatch):
    from rag import intake

    (folder / "paper.txt").write_text("One paper.", "utf-8")
    typed(state, "watch", CODE, "--folder", str(folder), "--by", "lee")
    copies, copy = [], intake._copy

    def refused(path, originals):
        if path.name == "paper.txt":
            copies.append(path)
            raise PermissionError(13, "Permission denied")
        return copy(path, originals)

    monkeypatch.setattr(intake, "_copy", refused)
    async with following(state, again_s=0.05) as (house, _):
        answers = await until(lambda: ended(house))
        (folder / "other.txt").write_text("Another paper.", "utf-8")
        await until(lambda: _has(house, "kim-v-lee/other.txt"))
        assert len(await until(lambda: ended(house))) == len(answers) + 1 == 2
    assert len(copies) == 2
    assert "kim-v-lee/paper.txt: failed" in answers[0].text


async def test_an_order_taken_back_ends_the_following_and_keeps_the_papers(state, folder):
    (folder / "paper.txt").write_text("One paper.", "utf-8")
    typed(state, "watch", CODE, "--folder", str(folder), "--by", "lee")
    async with following(state) as (house, made):
        await until(lambda: _has(house, "kim-v-lee/paper.txt"))
        done = typed(state, "unwatch", CODE, "--by", "kim")
        assert done.stdout == "1 folder is not followed any more\n"
        await until(_true(lambda: made.health() is None))
        assert "kim-v-lee/paper.txt" in await names_of(house)
    whats = [entry.what for entry in read(state / "audit" / f"{CODE}.jsonl")]
    assert "folder.followed" in whats
    assert "folder.left" in whats
    assert "office" not in (state / "audit" / f"{CODE}.jsonl").read_text("utf-8")


async def test_a_folder_that_goes_away_is_said_and_tried_again(state, folder):
    typed(state, "watch", CODE, "--folder", str(folder), "--by", "lee")
    folder.rmdir()
    async with following(state) as (house, made):
        health = await until(_true(lambda: (made.health() or ("", ""))[0] == "degraded"))
        assert health
        assert "no such folder" in made.health()[1]
        assert "office" not in made.health()[1]
        folder.mkdir()
        (folder / "paper.txt").write_text("One paper.", "utf-8")
        await until(lambda: _has(house, "kim-v-lee/paper.txt"))
        await until(_true(lambda: made.health() == ("ok", "1 followed")))


async def test_who_lost_the_matter_brings_nothing_in(state, folder):
    (folder / "paper.txt").write_text("One paper.", "utf-8")
    typed(state, "watch", CODE, "--folder", str(folder), "--by", "lee")
    registry.write(state / "registry" / "users.toml", Registry(users=()))
    async with following(state) as (house, made):
        await until(_true(lambda: (made.health() or ("", ""))[0] == "degraded"))
        assert "may not add files" in made.health()[1]
        assert await house.queue.jobs(CODE) == ()


async def test_a_folder_that_is_gone_when_a_reading_comes_is_said_in_its_reply(state, folder):
    from protocol.jobs import Ingest

    typed(state, "watch", CODE, "--folder", str(folder), "--by", "lee")
    folder.rmdir()
    async with open_house(state) as house:
        last = await house.last(Ingest(matter=CODE, key="k"))
        assert isinstance(last.body, Completed)
        said = "The followed folder “kim-v-lee” cannot be read now."
        assert said in last.body.answer.notes


def test_the_list_says_what_is_followed(state, folder):
    typed(state, "watch", CODE, "--folder", str(folder), "--by", "lee")
    typed(state, "watch", CODE, "--folder", str(folder), "--by", "lee")  # once more: nothing
    rows = json.loads(typed(state, "watch", CODE, "--list", "--json").stdout)
    assert [(row["folder"], row["by"]) for row in rows] == [(str(folder), "lee")]
    assert f"follows {folder}" in typed(state, "show", CODE).stdout


def test_open_may_follow_from_the_start(state, folder, monkeypatch):
    from rag.embedding import HashEmbedder

    monkeypatch.setattr("worker.cli.matters.open_embedder", lambda _: HashEmbedder())
    (folder / "paper.txt").write_text("One paper.", "utf-8")
    assert typed(state, "open", "A v. B", "--folder", str(folder), "--watch").exit_code != 0
    given = ("open", "A v. B", "--folder", str(folder), "--user", "kim", "--watch")
    code = typed(state, *given).stdout.strip()
    assert followed_by(state / "matters" / code)[0].by == "kim"
    with OpenMatter(state / "matters" / code) as held:
        assert {info.name for info in held.documents()} == {"kim-v-lee/paper.txt"}
        assert news(held, folder, under="kim-v-lee") == frozenset()


@pytest.mark.parametrize(
    ("who", "where"),
    [
        ("other", "."),
        ("nobody", "."),
        ("lee", "../nowhere"),
        ("lee", "../../state/matters"),
        ("lee", "../.."),
    ],
)
def test_what_may_not_be_followed(state, folder, who, where):
    done = typed(state, "watch", CODE, "--folder", str(folder / where), "--by", who)
    assert done.exit_code != 0
    assert followed_by(state / "matters" / CODE) == ()


def test_two_folders_of_one_name_are_refused(state, folder, tmp_path):
    typed(state, "watch", CODE, "--folder", str(folder), "--by", "lee")
    (tmp_path / "kim-v-lee").mkdir()
    done = typed(state, "watch", CODE, "--folder", str(tmp_path / "kim-v-lee"), "--by", "lee")
    assert isinstance(done.exception, BadRequest | SystemExit)
    assert len(followed_by(state / "matters" / CODE)) == 1


def test_a_list_that_cannot_be_read_is_damage_and_follows_nothing(tmp_path):
    (tmp_path / "followed.json").write_bytes(b"[{]")
    with pytest.raises(Damaged):
        followed_by(tmp_path)
    assert folders_of(tmp_path) == {}
    with pytest.raises(NotFound):
        follow(tmp_path, None, tmp_path / "nowhere", by=UserName("lee"), now=None)


def test_two_folders_with_one_file_name_keep_both_files(state, folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (folder / "notice.txt").write_text("The first notice.", "utf-8")
    (other / "notice.txt").write_text("The second notice.", "utf-8")
    with OpenMatter(state / "matters" / CODE) as held:
        for _ in range(2):  # the second time nothing is new
            new = [take_in(held, folder), take_in(held, other)]
        assert new == [0, 0]
        rows = held.store.rows(
            "SELECT name, original_sha256, state FROM files WHERE name LIKE 'notice%'"
        )
        assert [row["name"] for row in rows] == ["notice (2).txt", "notice.txt"]
        assert len({row["original_sha256"] for row in rows}) == 2
        (folder / "notice.txt").write_text("The first notice, changed.", "utf-8")
        assert (take_in(held, folder), take_in(held, other)) == (1, 0)
        assert held.store.one("SELECT count(*) FROM files WHERE name LIKE 'notice%'") == 2


def test_one_file_from_two_folders_that_change_apart(state, folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for each in (folder, other):
        (each / "notice.txt").write_text("The notice.", "utf-8")
    with OpenMatter(state / "matters" / CODE) as held:
        assert (take_in(held, folder), take_in(held, other)) == (1, 0)
        (other / "notice.txt").write_text("Another notice.", "utf-8")
        assert (take_in(held, folder), take_in(held, other)) == (0, 1)
        names = held.store.rows("SELECT name FROM files WHERE name LIKE 'notice%' ORDER BY name")
        assert [row["name"] for row in names] == ["notice (2).txt", "notice.txt"]


def test_a_file_that_cannot_be_opened_for_a_while_stays_in_the_record(state, folder, monkeypatch):
    from rag import intake
    from rag.embedding import HashEmbedder
    from rag.ingest import ingest
    from rag.reading import DirectReader

    (folder / "paper.txt").write_text("The pump failed.", "utf-8")
    with OpenMatter(state / "matters" / CODE) as held:
        options = {"embedder": HashEmbedder(), "reader": DirectReader(), "folder": folder}
        ingest(held, **options)
        (folder / "paper.txt").write_text("The pump failed twice.", "utf-8")

        def refused(*_):
            raise PermissionError(13, "Permission denied")

        with monkeypatch.context() as patched:
            patched.setattr(intake, "_copy", refused)
            row = next(r for r in ingest(held, **options).rows if r.name == "paper.txt")
        assert row.state is LedgerState.INDEXED
        assert "paper.txt" in {info.name for info in held.documents()}
        assert len(news(held, folder)) == 1
        ingest(held, **options)
        (paper,) = (info for info in held.documents() if info.name == "paper.txt")
        assert "twice" in held.text(paper.id)
