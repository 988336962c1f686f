"""Tools within the matter, a second reader on another board, a summary over two boards at once."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from bench.house import CODE
from bench.house import open_house as house_of
from protocol.answers import GREEN
from protocol.errors import BadRequest
from protocol.jobs import Summarize
from worker.config import Settings
from worker.deliverables import tools
from worker.deliverables.looking import NOTE
from worker.engine import EngineSettings
from worker.engine.scripted import Line, Scripted
from worker.router import Router

WHEN = "When did Northgate first know of the leak?"


def calling(*calls, reply="It was so: [[1]]"):
    """A script that makes these calls one after another and then writes the reply."""
    left = [call if isinstance(call, str) else json.dumps(call) for call in calls]

    def line(request):
        if "one JSON object" not in request.prompt.system + request.prompt.question:
            return Line(text=reply)
        seen.append(request.prompt)
        return Line(text=left.pop(0) if left else '{"tool": "done"}')

    seen = []
    return line, seen


async def looked(sample_root, *calls, reply="It was so: [[1]]", **settings):
    """The reply, the calls kept with the job, and what the model was shown."""
    script, seen = calling(*calls, reply=reply)
    options = {"tools": ("draft",), "second_reading": False} | settings
    async with house_of(sample_root, script, **options) as house:
        answer = await house.answer(house.ask(WHEN))
        async with house.shelf.use(CODE) as held:
            kept = held.work.note(answer.job, NOTE)
            titles = [info.title for info in held.record.documents()]
    return answer, json.loads(kept or "[]"), seen, titles


async def test_every_tool_looks_into_the_matter_and_is_kept_with_the_job(sample_root):
    calls = (
        {"tool": "list_documents"},
        {"tool": "search", "text": "coupling"},
        {"tool": "open_page", "document": 1, "page": 1},
        {"tool": "find_date", "start": "2024-01-09"},
        {"tool": "date_span", "start": "2024-01-09", "end": "2024-01-23"},
    )
    answer, kept, seen, titles = await looked(sample_root, *calls)
    told = [one["outcome"]["told"] for one in kept]
    assert [one["call"]["tool"] for one in kept] == [one["tool"] for one in calls]
    assert all(one["outcome"]["ok"] for one in kept)
    assert all(title in told[0] for title in titles)
    assert "coupling" in told[1]
    assert "January 9, 2024" in told[3]
    assert "14 days" in told[4]
    assert told[4] in seen[-1].question  # the model reads what came of it
    assert any("looked further in this matter" in note for note in answer.notes)


async def test_what_a_tool_brings_up_may_be_quoted_and_is_checked(sample_root):
    rent = "Tenant shall pay base rent of $18,400.00"
    call = {"tool": "search", "text": "Tenant shall pay base rent on the first day of each month"}
    every = "It says: " + " ".join(f"[[{number}]]" for number in range(1, 40))

    async def quoted(*calls):
        answer, *_ = await looked(sample_root, *calls, reply=every, passages=1)
        return [
            item
            for item in answer.items
            if item.verdict in GREEN and rent in answer.text[item.start : item.end]
        ]

    assert not await quoted()
    assert await quoted(call)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"tool": "delete_document", "document": 1}, "one JSON object"),
        ({"tool": "search", "text": "rent", "matter": "M-ZZZZ"}, "one JSON object"),
        ({"tool": "open_page", "document": 99, "page": 1}, "no such document"),
        ({"tool": "open_page", "document": 0, "page": 1}, "no such document"),
        ({"tool": "open_page", "document": 1, "page": 9_999}, "no such page"),
        ({"tool": "find_date", "start": "yesterday"}, "2024-01-09"),
        ({"tool": "date_span", "start": "2024-01-09"}, "2024-01-09"),
        ({"tool": "search", "text": ""}, "search wants"),
        ("I would rather talk.", "one JSON object"),
    ],
)
async def test_a_wrong_call_is_an_error_that_the_model_reads(sample_root, call, said):
    answer, kept, seen, _ = await looked(sample_root, call)
    assert not kept[0]["outcome"]["ok"]
    assert said in kept[0]["outcome"]["told"]
    assert "M-ZZZZ" not in kept[0]["outcome"]["told"]
    assert said in " ".join(seen[1].question.split())
    assert answer.text


async def test_an_engine_that_checks_no_schema_reaches_no_other_tool():
    looked_at = await tools.use(None, tools.ToolCall(tool="delete_document"))
    assert not looked_at.outcome.ok
    assert "no such tool" in looked_at.outcome.told


async def test_calls_are_bounded(sample_root):
    many = [{"tool": "list_documents"}] * 50
    _, kept, seen, _ = await looked(sample_root, *many)
    assert len(kept) == len(seen) == 6
    wrong = [{"tool": "shell"}] * 50
    _, kept, _, _ = await looked(sample_root, *wrong)
    assert len(kept) == 2


async def test_tools_are_off_unless_the_settings_give_them(sample_root):
    answer, kept, seen, _ = await looked(sample_root, {"tool": "list_documents"}, tools=())
    assert (kept, seen) == ([], [])
    assert not any("looked further" in note for note in answer.notes)
    assert Settings().tools == ()


def test_the_schema_knows_the_tools_and_nothing_else():
    schema = tools.call_schema()
    assert schema["properties"]["tool"]["enum"] == [*tools.TOOLS, "done"]
    assert set(schema["properties"]) == set(tools.ToolCall.__struct_fields__)
    assert tools.parse('{"tool": "search", "job": "x"}') is None


# --- boards ---------------------------------------------------------------------------------------


def settings(tmp_path, *names, **more):
    return Settings(
        state=tmp_path,
        boards=tuple(EngineSettings(name=name, engine="scripted") for name in names),
        **more,
    )


def test_roles_go_to_boards_by_the_table_and_say_why(tmp_path):
    one = Router(settings(tmp_path, "A"))
    assert one.board_for("ask").why == "the only board"
    assert one.reader_for("A").name == "A"
    two = Router(settings(tmp_path, "A", "B"))
    assert (two.board_for("ask").name, two.reader_for("A").name) == ("A", "B")
    assert two.reader_for("B").name == "A"
    assert "no model is asked" in two.board_for("find").why
    given = Router(settings(tmp_path, "A", "B", roles={"draft": "B", "review": "B"}))
    assert given.board_for("ask").name == "B"
    assert "settings" in given.board_for("ask").why
    assert given.reader_for("B").name == "B"
    with pytest.raises(BadRequest, match="review"):
        Router(settings(tmp_path, "A", roles={"review": "Z"}))


READING = '{"unsupported": [1], "left_out": []}'


async def test_a_second_board_reads_what_the_first_wrote(sample_root):
    other = Scripted((Line(text=READING),), name="other")
    async with house_of(sample_root, (Line(text="It was: [[1]]"),), others={"B": other}) as house:
        answer = await house.answer(house.ask(WHEN))
    assert any(note.startswith("Second reading on board B (other)") for note in answer.notes)
    assert not any("same model" in note for note in answer.notes)


@pytest.mark.parametrize("stopped", [True, False])
async def test_a_second_board_that_fails_leaves_the_reading_to_the_first(sample_root, stopped):
    def first(request):
        numbered = "[1]" in request.prompt.question
        return Line(text=READING if numbered else "It was so: [[1]]")

    other = Scripted((Line(text="x", fails="away"),), name="other")
    async with house_of(sample_root, first, others={"B": other}) as house:
        if stopped:
            await other.stop()
        answer = await house.answer(house.ask(WHEN))
    assert any("by the same model" in note for note in answer.notes)


async def test_two_boards_word_a_folder_at_the_same_time(sample_root):
    both, met = asyncio.Barrier(2), []

    async def together(_):
        """Whoever waits here first goes on only once the other board waits here, too."""
        if not met:
            await both.wait()
            met.append(True)

    def script(name):
        return lambda _: Line(text=f"Board {name} says: [[1]]", token_s=0.001)

    own, other = (Scripted(script(name), sleep=together) for name in "AB")
    async with house_of(sample_root, engine=own, others={"B": other}) as house:
        async with asyncio.timeout(120):
            answer = await house.answer(Summarize(matter=CODE, key=house.key()))
        titles = [one.title for one in await house.documents()]
    assert met
    assert "Board A says" in answer.text
    assert "Board B says" in answer.text
    notes = " ".join(answer.notes)
    assert all(notes.count(title) >= 1 for title in titles)
    assert answer.provenance.composition == "model"


async def test_a_helper_that_fails_gives_its_documents_back(sample_root):
    other = Scripted((Line(text="x", fails="away"),), name="other")
    async with house_of(sample_root, (Line(text="Said: [[1]]"),), others={"B": other}) as house:
        answer = await house.answer(Summarize(matter=CODE, key=house.key()))
        titles = [one.title for one in await house.documents()]
    notes = " ".join(answer.notes)
    assert all(title in notes for title in titles)


def test_an_outcome_is_plain_words():
    assert msgspec.json.decode(msgspec.json.encode(tools.Outcome(told="x")))["ok"] is True
