"""Discord beyond asking: tables, papers, checks, the message menu, pages, forgetting, files."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import shutil

import pytest

from bench.guild_house import CHANNEL, OTHER, Mode, open_guild
from bench.house import CODE, SAMPLE, read_matter
from bot.guild.deliveries import Bound, Deliveries
from bot.guild.desk import Desk
from bot.guild.menu import CHECK
from protocol.answers import ReviewState
from protocol.jobs import Documents, Edit, GetAnswer, ListDocuments
from worker.engine.scripted import Line

QUESTION = "When did Northgate first know of the leak?"
EVERYWHERE = {
    "ask", "find", "draft", "summarize", "extract", "chronology", "citecheck", "sources", "open",
    "jobs", "cancel", "retry", "export", "forget", "matter", "mode", "help", "health", CHECK,
    "history", "audit",
}  # fmt: skip


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """The sample matter, read once for this file."""
    root = tmp_path_factory.mktemp("guild")
    read_matter(root, SAMPLE)
    return root


@pytest.fixture
def root(sample, tmp_path):
    """A copy of it for each test: files are put into it."""
    return shutil.copytree(sample, tmp_path / "state")


@contextlib.asynccontextmanager
async def opened(root, mode, *script):
    async with open_guild(root, mode, script) as guild:
        yield guild
        assert guild.double.invalid == []
        assert guild.double.wrong == []


async def documents_of(guild):
    result = await guild.link.call(ListDocuments(matter=CODE), acting_for=guild.you.account)
    assert isinstance(result, Documents)
    return result.documents


async def more_documents_than(before, guild):
    async with asyncio.timeout(180):
        while len(await documents_of(guild)) <= before:  # noqa: ASYNC110 - the box says no event
            await asyncio.sleep(0.05)


def journal(root):
    file = root / "audit" / f"{CODE}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


async def test_tables_papers_and_checks_become_replies_in_a_full_channel(root):
    async with opened(root, Mode.FULL) as guild:
        assert {each["name"] for each in guild.double.world.commands} == EVERYWHERE | {"edit"}
        you = guild.you
        (complaint,) = await you.complete(CHANNEL, "citecheck", "document", "complaint")
        for name, options in (
            ("chronology", {}),
            ("draft", {"form": "facts", "about": "the leak"}),
            ("draft", {"form": "declaration", "about": "Reeves"}),
            ("citecheck", {"document": complaint["value"]}),
        ):
            assert "taken" in await (await you.slash(CHANNEL, name, **options)).said()
        finals = await guild.finals(4)
        assert all("failing" in final["content"] for final in finals if final["attachments"])
        page = await (await you.slash(CHANNEL, "open", document=complaint["value"])).said()
        assert "Northgate" in page
        beyond = await you.slash(CHANNEL, "open", document=complaint["value"], page=9999)
        assert (await beyond.said()).startswith("not_found")
        absent = await you.slash(CHANNEL, "open", document="nothing")
        assert (await absent.said()).startswith("not_found")
        odd = await (await you.slash(CHANNEL, "citecheck", document="nothing")).said()
        assert "taken" in odd or odd.startswith(("not_found", "bad_request")), odd
        await guild.idle()
        assert guild.trouble == []


async def test_the_message_menu_checks_what_somebody_wrote_or_shows_a_replys_findings(root):
    async with opened(root, Mode.FULL) as guild:
        await guild.you.slash(CHANNEL, "ask", question=QUESTION)
        (final,) = await guild.finals()
        shown = await guild.you.menu(final, CHECK)
        assert "VERIFIED" in await shown.said()
        said = "The lease says “Landlord shall be liable for interruption of services.”"
        written = guild.double.world.message(CHANNEL, guild.you.account, {"content": said})
        assert "taken" in await (await guild.you.menu(written, CHECK)).said()
        finals = await guild.finals(2)
        assert "0 verified" in finals[1]["content"]
        empty = guild.double.world.message(CHANNEL, guild.you.account, {"content": ""})
        assert "nothing to check" in await (await guild.you.menu(empty, CHECK)).said()
        refused = await guild.stranger.menu(written, CHECK)
        assert (await refused.said()).startswith("not_found")


async def test_a_question_is_made_again_by_its_code_and_forgotten_on_asking(root):
    async with opened(root, Mode.FULL) as guild:
        await guild.you.slash(CHANNEL, "ask", question=QUESTION)
        (final,) = await guild.finals()
        job = final["components"][0]["components"][0]["custom_id"].split(":")[1]
        assert "taken" in await (await guild.you.slash(CHANNEL, "retry", job=job)).said()
        await guild.finals(2)
        offered = await (await guild.you.slash(CHANNEL, "retry")).message()
        await guild.you.click(offered, f"Retry {job}")
        await guild.finals(3)
        absent = await guild.you.slash(CHANNEL, "retry", job="J-000000000-0000")
        assert (await absent.said()).startswith("not_found")
        conversation = f"discord-{CHANNEL}"
        async with guild.house.shelf.use(CODE) as held:
            assert held.work.turns(conversation, 10)
        assert "forgotten" in await (await guild.you.slash(CHANNEL, "forget")).said()
        async with guild.house.shelf.use(CODE) as held:
            assert not held.work.turns(conversation, 10)
        counted = await (await guild.you.slash(CHANNEL, "matter")).said()
        assert "3 drafts to review" in counted
        assert "full" in await (await guild.you.slash(CHANNEL, "mode")).said()


async def test_attached_files_go_into_the_case_folder_in_the_name_of_who_attached_them(root):
    note = b"On June 2, 2025, the roof over suite 400 was inspected by Halvorsen Roofing.\n"
    async with opened(root, Mode.FULL) as guild:
        before = len(await documents_of(guild))
        await guild.you.types(CHANNEL, "", files=(("roof note.txt", note), ("roof note.txt", b"2")))
        await guild.until(
            lambda: any("1 of 2 files" in m["content"] for m in guild.double.messages(CHANNEL))
        )
        assert (root / "matters" / CODE / "inbox" / "roof note.txt").read_bytes() == note
        (put,) = [entry for entry in journal(root) if entry["what"] == "file.put"]
        assert (put["by"], put["through"]) == ("you", "helper")
        await more_documents_than(before, guild)
        # Somebody who has nothing here puts nothing there and is told nothing.
        for person in (guild.stranger, guild.nobody):
            await person.types(CHANNEL, "", files=(("theirs.txt", b"x"),))
        # A channel without consent takes none.
        with contextlib.closing(Deliveries(guild.settings.state)) as store:
            store.bind(Bound(channel=OTHER, matter=CODE))
        await guild.you.types(OTHER, "", files=(("other.txt", b"x"),))
        await guild.until(lambda: guild.double.messages(OTHER))
        assert "not taken" in guild.double.messages(OTHER)[0]["content"]
        await guild.idle()
        inbox = root / "matters" / CODE / "inbox"
        assert [file.name for file in inbox.iterdir()] == ["roof note.txt"]
        said = [m for m in guild.double.messages(CHANNEL) if "files" in m["content"]]
        assert len(said) == 1


async def test_names_the_box_does_not_take_are_refused_and_counted(root):
    names = ("../up.txt", "..\\up.txt", "CON", "a\u202eb.txt", "x" * 300)
    async with opened(root, Mode.FULL) as guild:
        await guild.you.types(CHANNEL, "", files=tuple((name, b"x") for name in names))
        await guild.until(
            lambda: any("0 of 5 files" in m["content"] for m in guild.double.messages(CHANNEL))
        )
        inbox = root / "matters" / CODE / "inbox"
        assert not inbox.exists() or list(inbox.iterdir()) == []


async def test_an_edit_opens_with_the_words_and_puts_others_in_their_place(root):
    async with opened(root, Mode.FULL, Line(text="[[1]]")) as guild:
        you = guild.you
        await you.slash(CHANNEL, "ask", question=QUESTION)
        (final,) = await guild.finals()
        await guild.idle()
        job = final["content"].split()[3] if "J-" in final["content"] else ""
        nothing = await (await guild.stranger.slash(CHANNEL, "edit")).said()
        assert nothing.startswith("not_found")
        form = await you.slash(CHANNEL, "edit", job=job)
        begun = form.form["components"][0]["component"]["value"]
        result = await guild.link.call(
            GetAnswer(job=form.form["custom_id"].split(":")[2]), acting_for=you.account
        )
        assert begun == result.answer.text
        late = await you.slash(CHANNEL, "edit", job=job)
        # The bot restarts between opening the form and sending it.
        await guild.kill_bot()
        await guild.start_bot()
        done = await you.submit(form, text="Northgate knew on March 31, 2031.")
        said = await done.said()
        assert "0 verified" in said
        assert "void" in said
        shown = str(guild.double.messages(CHANNEL))
        assert "Northgate knew on March 31, 2031." in shown
        # A form that was opened on the text of before is stale; nothing of it is taken.
        assert (await (await you.submit(late, text="Another.")).said()).startswith("conflict")
        now = await guild.link.call(GetAnswer(job=result.answer.job), acting_for=you.account)
        assert now.answer.text == "Northgate knew on March 31, 2031."
        assert now.answer.review is ReviewState.AWAITING
        # The button beside the answer decides on the new text.
        private = await done.message()
        returned = await you.click(private, "Return")
        assert "now" in await (await you.submit(returned, note="no such day")).said()
        # Longer than a form takes: it is said so, and nothing opens.
        await guild.link.call(
            Edit(
                job=now.answer.job,
                answer_sha256=now.answer.text_sha256,
                text="It leaked. " * 500,
                key="long",
            ),
            acting_for=you.account,
        )
        told = await (await you.slash(CHANNEL, "edit", job=now.answer.job)).said()
        assert "edit it in the terminal" in told


async def test_strict_orders_by_choices_and_buttons_and_looks_at_no_message(root):
    async with opened(root, Mode.STRICT, Line(text="[[1]]")) as guild:
        assert {each["name"] for each in guild.double.world.commands} == EVERYWHERE
        you = guild.you
        for name, options in (("chronology", {}), ("draft", {"form": "facts"})):
            assert "taken" in await (await you.slash(CHANNEL, name, **options)).said()
        finals = await guild.finals(2)
        assert all(final["content"].count("·") == 6 for final in finals)
        offered = await (await you.slash(CHANNEL, "retry")).message()
        button = offered["components"][0]["components"][0]["label"]
        assert "taken" in await (await you.click(offered, button)).said()
        await guild.finals(3)
        shown = await (await you.menu(finals[0], CHECK)).said()
        assert "look in the terminal" in shown
        written = guild.double.world.message(CHANNEL, you.account, {"content": QUESTION})
        assert "announced here" in await (await you.menu(written, CHECK)).said()
        await you.types(CHANNEL, QUESTION, files=(("note.txt", b"x"),))
        assert "strict" in await (await you.slash(CHANNEL, "mode")).said()
        inbox = root / "matters" / CODE / "inbox"
        assert not inbox.exists() or list(inbox.iterdir()) == []
        assert guild.trouble == []


async def test_what_is_stopped_before_it_began_leaves_nothing_unawaited():
    parts = dict.fromkeys(("line", "post", "store"), None)
    rest = dict.fromkeys(("words", "look", "pace"), None)
    desk = Desk(**parts, mode=Mode.FULL, **rest, trouble=[].append)
    began = []

    async def doing():
        began.append(1)

    made = doing()
    desk.run(made)
    await desk.stop()
    assert inspect.getcoroutinestate(made) == inspect.CORO_CLOSED
    assert began == []
    assert not desk.busy
