"""Places of people: kept in the matter's own file, each person's own, over a restart."""

from __future__ import annotations

import msgspec
import pytest

from bench.house import CODE, YOU, open_house, read_matter
from protocol.errors import BadRequest
from protocol.ids import MatterId, UserName
from protocol.jobs import Done, KeepPlace, ListPlaces
from worker.handlers.place import Place

THEM = msgspec.structs.replace(YOU, person=UserName("them"))


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("On May 2, 2025 it rained.\n")
    read_matter(tmp_path / "state", folder)
    return tmp_path / "state"


async def test_a_place_is_kept_for_its_person_alone_and_over_a_restart(root):
    kept = KeepPlace(matter=CODE, draft="half a question 한글")
    async with open_house(root) as house:
        place = Place(house.office)
        assert (await place.all(ListPlaces(), YOU)).places == ()
        assert await place.keep(KeepPlace(matter=CODE, draft="old"), YOU) == Done()
        assert await place.keep(kept, YOU) == Done()
        assert (await place.all(ListPlaces(), YOU)).places == (kept,)
        assert (await place.all(ListPlaces(), THEM)).places == ()
        elsewhere = msgspec.structs.replace(YOU, matters=(MatterId("M-0000"),))
        assert (await place.all(ListPlaces(), elsewhere)).places == ()
        # The words lie in the matter's file and nowhere else.
        async with house.shelf.use(CODE) as held:
            assert held.work.place(UserName("you"))[1] == kept
        holders = [
            file.name
            for file in root.rglob("*")
            if file.is_file() and b"half a question" in file.read_bytes()
        ]
        assert holders
        assert all(name.startswith("work.sqlite") for name in holders)


async def test_too_much_is_refused(root):
    async with open_house(root) as house:
        with pytest.raises(BadRequest):
            await Place(house.office).keep(KeepPlace(matter=CODE, draft="x" * 100_001), YOU)
