"""Questions to passages, with the hash embedder: no model, every rule."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.errors import Conflict
from protocol.record import DocumentClass
from rag import retrieve as subject
from rag.embedding import HashEmbedder
from rag.matters import Manifest
from rag.removal import quarantine
from rag.retrieve import Filters, retrieve
from rag.rewriting import NoRewriter, Search

FILES = {
    "Supply Agreement.txt": "SUPPLY AGREEMENT between Acme Widgets and Borealis\n\n"
    "1. Term. This agreement runs five years.\n\n2. Price. Widgets cost ten dollars each.\n\n"
    "3. Exit. Either side may terminate for convenience on notice.\n",
    "Lease.txt": "LEASE between Acme Widgets and Corvid Estates\n\n"
    "1. Term. The lease runs two years.\n\n2. Rent. Rent is due each month.\n",
    "mail/leak.txt": "From: Dana Reeves\n\nWater came through the ceiling. 누수를 발견했다.\n",
}


@pytest.fixture
def ask(fill, embedder):
    matter = fill(FILES)
    names = {info.id: info.name for info in matter.documents()}

    def asked(question: str, **more: object) -> list[tuple[str, str]]:
        hits = retrieve(matter, question, **({"embedder": embedder} | more))  # type: ignore[arg-type]
        return [(names[hit.passage.span.document], hit.passage.text) for hit in hits]

    return asked


def test_the_named_document_answers(ask) -> None:
    lease = ask("In the lease between Acme and Corvid Estates, what is the term?")
    assert lease[0] == ("Lease.txt", "1. Term. The lease runs two years.")
    assert {name for name, _ in lease} == {"Lease.txt"}


def test_every_hit_is_the_text_at_its_place_and_says_why(fill, embedder) -> None:
    matter = fill(FILES)
    for hit in retrieve(matter, "when is rent due?", embedder=embedder):
        span = hit.passage.span
        assert matter.text(span.document)[span.start : span.end] == hit.passage.text
        assert hit.why
    best = retrieve(matter, "when is rent due?", embedder=embedder)[0]
    assert "words: rent, due" in best.why


def test_words_alone_answer_without_an_embedder(ask) -> None:
    assert ask("who saw water?", embedder=None)[0][0] == "mail/leak.txt"


def test_a_korean_noun_is_found_with_its_particle(ask) -> None:
    assert ask("누수", embedder=None)[0][0] == "mail/leak.txt"


def test_filters_by_document_class_custodian_and_name(fill, embedder) -> None:
    matter = fill(FILES)
    manifest = matter.manifest
    with matter.store.writing():
        matter.store.run("UPDATE documents SET custodian = 'Osei' WHERE name = 'Lease.txt'")
        matter.store.run("UPDATE documents SET document_class = 'pleading' WHERE name LIKE 'mail%'")
    assert isinstance(manifest, Manifest)
    names = {info.id: info.name for info in matter.documents()}

    def found(filters: Filters) -> set[str]:
        hits = retrieve(matter, "term rent water price", embedder=embedder, filters=filters)
        return {names[hit.passage.span.document] for hit in hits}

    assert found(Filters(custodians=("Osei",))) == {"Lease.txt"}
    assert found(Filters(classes=(DocumentClass.PLEADING,))) == {"mail/leak.txt"}
    assert found(Filters(names=("MAIL/",))) == {"mail/leak.txt"}
    assert found(Filters(names=("nothing",))) == set()


def test_quarantined_documents_and_our_own_output_are_never_found(fill, embedder) -> None:
    matter = fill(FILES)
    mail = next(info.id for info in matter.documents() if info.name.startswith("mail"))
    quarantine(matter, mail)
    with matter.store.writing():
        matter.store.run(
            "UPDATE documents SET document_class = 'model_output' WHERE name = 'Lease.txt'"
        )
    names = {info.id: info.name for info in matter.documents()}
    hits = retrieve(matter, "water rent lease term ceiling", embedder=embedder)
    assert {names[hit.passage.span.document] for hit in hits} == {"Supply Agreement.txt"}


def test_another_model_is_refused(fill) -> None:
    matter = fill(FILES)
    with pytest.raises(Conflict):
        retrieve(matter, "rent", embedder=HashEmbedder(dimensions=32))


def test_the_same_words_come_once(fill, embedder) -> None:
    line = "The boiler was replaced on a Monday by the plumber from the next village.\n"
    matter = fill({"a.txt": line, "b.txt": "Re: boiler\n\n" + line, "c.txt": line + " "})
    hits = retrieve(matter, "boiler replaced plumber", embedder=embedder)
    texts = [" ".join(hit.passage.text.split()) for hit in hits]
    assert len(texts) == len(set(texts))


def test_one_long_document_does_not_crowd_out_the_others(fill, embedder) -> None:
    many = "\n\n".join(f"{n}. The leak number {n} was in room {n}." for n in range(1, 40))
    matter = fill({"long.txt": many, "other.txt": "A leak was seen in the hall."})
    hits = retrieve(matter, "leak", embedder=embedder, top_k=6)
    assert len({hit.passage.span.document for hit in hits}) == 2


class _Worded:
    def searches(self, question: str) -> tuple[Search, ...]:
        return (Search(texts=("terminate for convenience",), weight=1.0, why="worded like exit"),)


def test_a_rewriter_adds_searches(ask, fill, embedder) -> None:
    plain = ask("can they walk away?", rewriter=NoRewriter())
    worded = ask("can they walk away?", rewriter=_Worded())
    assert worded[0][1].startswith("3. Exit.")
    assert not plain or not plain[0][1].startswith("3. Exit.")


class _Likes:
    def __init__(self, word: str) -> None:
        self.word = word

    def scores(self, question: str, passages: list[str]) -> list[float]:
        return [10.0 * (self.word in passage) for passage in passages]


class _Away:
    def scores(self, question: str, passages: list[str]) -> list[float]:
        return []


def test_a_reranker_moves_the_first_and_may_be_away(ask) -> None:
    question = "term rent price lease agreement widgets"
    before = ask(question, rewriter=NoRewriter())
    liked = before[-1][1].split()[-1]
    after = ask(question, rewriter=NoRewriter(), reranker=_Likes(liked))
    assert liked in after[0][1] or before[0][1] == after[0][1]
    assert ask(question, rewriter=NoRewriter(), reranker=_Away()) == before


def test_a_large_matter_answers_from_candidates_as_a_small_one(
    fill, embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms = "\n\n".join(f"{n}. Room {n} had {n} chairs." for n in range(1, 300))
    matter = fill({"rooms.txt": rooms, "leak.txt": "Water came through the ceiling.\n"})
    small = retrieve(matter, "who saw water on the ceiling?", embedder=embedder, top_k=3)
    monkeypatch.setattr(subject, "_WHOLE", 10)
    large = retrieve(matter, "who saw water on the ceiling?", embedder=embedder, top_k=3)
    assert large[0].passage == small[0].passage
    only = Filters(names=("leak",))
    assert len(retrieve(matter, "room chairs", embedder=embedder, filters=only)) <= 1


def test_a_filter_in_a_large_matter_still_finds_what_the_index_did_not_rank(
    fill, embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms = "\n\n".join(f"{n}. Room {n} had {n} chairs." for n in range(1, 400))
    matter = fill({"rooms.txt": rooms, "halls.txt": rooms.replace("Room", "Hall")})
    monkeypatch.setattr(subject, "_WHOLE", 10)
    hits = retrieve(matter, "room 7", embedder=embedder, filters=Filters(names=("halls",)))
    names = {info.id: info.name for info in matter.documents()}
    assert hits
    assert {names[hit.passage.span.document] for hit in hits} == {"halls.txt"}


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(question=st.text(max_size=60))
def test_no_question_breaks_the_search(ask, question: str) -> None:
    assert len(ask(question)) <= 12
