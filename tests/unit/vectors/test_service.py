"""The vectors of a channel in memory: what a live server knows is what a restarted one loads (law 2)."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from backscroll_scoring import hnsw, index
from backscroll_sidecar.domain import Embedding
from backscroll_sidecar.ports import (
    EraseChange,
    MessageVector,
    Similarities,
    StoredVector,
    VectorsChange,
)
from backscroll_sidecar.store.memory import InMemoryStore
from backscroll_sidecar.vectors import block, service
from backscroll_sidecar.vectors.files import IndexFiles, IndexRecord
from backscroll_sidecar.vectors.service import Vectors
from tests.contract.store.builders import NOON_MS, ROOM, append, edit, message, recall

DIMS = 8


def direction(n: int) -> np.ndarray:
    made = np.random.default_rng(n).standard_normal(DIMS).astype(np.float32)
    return made / np.linalg.norm(made)


def said(id: str, n: int, *, embedder: str = "e1"):
    values = tuple(float(one) for one in direction(n))
    return message(id, f"text {id}", embeddings=(Embedding(embedder, values),))


def erase(*ids: str) -> EraseChange:
    return EraseChange(ROOM, ids, "", NOON_MS)


async def similar(vectors: Vectors, seqs: np.ndarray, n: int) -> Similarities:
    return (await vectors.compare(ROOM, seqs, direction(n))).make()


class House:
    """A store, and the vectors over it, told of everything."""

    def __init__(self, **options) -> None:
        self.store = InMemoryStore()
        self.vectors = self.fresh(**options)

    def fresh(self, **options) -> Vectors:
        options.setdefault("submit", self.apply)
        return Vectors(self.store, "e1", **options)

    async def apply(self, change) -> None:
        (applied,) = await self.store.apply([change])
        assert applied.error is None, applied.error
        self.vectors.publish(change.key, applied)
        return applied

    async def nearest(self, n: int, limit: int = 3, vectors: Vectors | None = None) -> list[int]:
        seqs = np.arange(1, 1_000, dtype=np.int64)
        found = await (vectors or self.vectors).nearest(ROOM, seqs, direction(n), limit)
        return seqs[found.positions].tolist()

    async def same_after_restart(self) -> bool:
        seqs, other = np.arange(1, 500, dtype=np.int64), self.fresh(index="exact")
        answers = []
        for vectors in (self.vectors, other):
            found = [await similar(vectors, seqs, n) for n in range(5)]
            answers.append([(one.values.tobytes(), one.known) for one in found])
        await other.close()
        return answers[0] == answers[1]


@pytest.fixture
async def house():
    made = House()
    yield made
    await made.vectors.close()


async def test_loaded_once_then_appended_to(house: House) -> None:
    await house.apply(append(said("m1", 1), message("m2"), said("m3", 3)))
    assert await house.nearest(3) == [3, 1]
    await house.apply(append(said("m4", 4), said("m5", 5, embedder="e2")))
    assert (await house.nearest(4))[0] == 4
    assert sorted(await house.nearest(4, 9)) == [1, 3, 4]
    made = MessageVector("m2", 0, direction(2).tobytes())
    await house.apply(VectorsChange(ROOM, "e1", (made,)))
    assert (await house.nearest(2))[0] == 2
    assert await house.same_after_restart()


async def test_a_message_without_a_vector_is_like_nothing(house: House) -> None:
    """`compare`: NaN where there is none, and how many have one; rows in any order."""
    await house.apply(append(said("m1", 1), message("m2"), said("m3", 3)))
    seqs = np.array([3, 2, 1, 77], np.int64)
    found = await similar(house.vectors, seqs, 1)
    assert found.known == 2
    assert np.isnan(found.values).tolist() == [False, True, False, True]
    assert found.values[2] == pytest.approx(1, abs=0.01)
    assert found.exhaustive
    empty = await similar(house.vectors, seqs[:0], 1)
    assert len(empty.values) == 0


async def test_edits_recalls_and_erasures_take_vectors_away(house: House) -> None:
    """An edit's old vector does not count; of what was recalled or erased nothing stays, in memory neither."""
    await house.apply(append(*(said(f"m{n}", n) for n in range(1, 7))))
    assert await house.nearest(1, 1) == [1]
    await house.apply(edit("m1", "new"))
    assert 1 not in await house.nearest(1, 9)
    stale = MessageVector("m1", 0, direction(1).tobytes())
    await house.apply(VectorsChange(ROOM, "e1", (stale,)))
    assert 1 not in await house.nearest(1, 9)
    fresh = MessageVector("m1", 1, direction(50).tobytes())
    await house.apply(VectorsChange(ROOM, "e1", (fresh,)))
    assert await house.nearest(50, 1) == [1]
    await house.apply(recall("m2"))
    await house.apply(erase("m3"))
    assert sorted(await house.nearest(2, 9)) == [1, 4, 5, 6]
    assert await house.same_after_restart()


async def test_vectors_that_cannot_be_used_are_passed_over(house: House) -> None:
    """Whatever is in the table: another size, NaN, zero."""
    bad = [
        np.full(DIMS, np.nan, np.float32),
        np.zeros(DIMS, np.float32),
        np.ones(DIMS + 1, np.float32),
        np.full(DIMS, np.inf, np.float32),
    ]
    await house.apply(append(*(message(f"m{n}") for n in range(5))))
    made = tuple(MessageVector(f"m{n}", 0, one.tobytes()) for n, one in enumerate(bad))
    good = MessageVector("m4", 0, direction(4).tobytes())
    await house.apply(VectorsChange(ROOM, "e1", (*made, good)))
    assert await house.nearest(1, 9) == [5]


async def test_a_commit_while_it_loads_is_not_lost(house: House) -> None:
    await house.apply(append(said("m1", 1)))
    loading = asyncio.create_task(house.nearest(2, 9))
    await asyncio.sleep(0)
    await house.apply(append(said("m2", 2)))
    await house.apply(erase("m1"))
    await loading
    assert await house.nearest(2, 9) == [2]


async def test_a_vector_of_another_size_harms_nobody(house: House) -> None:
    await house.apply(append(said("m1", 1)))
    assert await house.nearest(1, 9) == [1]
    found = await house.vectors.nearest(ROOM, np.array([1]), np.ones(3, np.float32), 5)
    assert len(found.positions) == 0
    assert await house.nearest(1, 9) == [1]


async def test_many_rows_go_by_signs(house: House) -> None:
    """From 4,000 rows on: made in a thread, and those added later have theirs; nearly all is found."""
    await house.apply(append(said("m0", 0)))
    await house.nearest(0)
    for start in range(1, 4_600, 900):
        await house.apply(append(*(said(f"m{n}", n) for n in range(start, start + 900))))
    await house.vectors.settled()
    seqs = np.arange(1, 4_502, dtype=np.int64)
    found = await house.vectors.nearest(ROOM, seqs, direction(4_499), 1)
    assert seqs[found.positions].tolist() == [4_500]
    assert not found.exhaustive
    held = house.vectors._kept[ROOM].block
    assert held.has_signs
    assert not held.has_graph


@pytest.mark.parametrize("seed", range(6))
async def test_signs_are_the_same_after_a_restart(house: House, monkeypatch, seed: int) -> None:
    """Law 2: whatever came, went, was edited and came late: what is found by signs, and how similar, stays the same."""
    monkeypatch.setattr(service, "SIGN_ROWS", 40)
    monkeypatch.setattr(block, "CENTRE_ROWS", 12)
    monkeypatch.setattr(index, "SIGN_RERANK_LEAST", 6)
    rng, revisions, made = np.random.default_rng(seed), {}, 0

    async def embed(name: str) -> None:
        vector = MessageVector(name, revisions[name], direction(int(rng.integers(30))).tobytes())
        await house.apply(VectorsChange(ROOM, "e1", (vector,)))

    for step in range(160):
        kind = rng.choice(["append", "append", "append", "late", "edit", "embed", "recall"])
        if kind in ("append", "late") or len(revisions) < 45:
            made += 1
            revisions[f"m{made}"] = 0
            text = (
                said(f"m{made}", int(rng.integers(30))) if kind != "late" else message(f"m{made}")
            )
            await house.apply(append(text))
        else:
            name = str(rng.choice(list(revisions)))
            if kind == "edit":
                revisions[name] += 1
                await house.apply(edit(name, f"text {step}"))
            elif kind == "recall":
                del revisions[name]
                await house.apply(recall(name))
            else:
                await embed(name)
        if step % 8 == 0:
            other = house.fresh()
            assert await everything(house.vectors) == await everything(other)
            await other.close()


async def everything(vectors: Vectors) -> list[tuple]:
    """Answers to a few questions, to the last bit."""
    seqs = np.arange(1, 200, dtype=np.int64)
    answers: list[tuple] = []
    for n in range(40, 44):
        near = await vectors.nearest(ROOM, seqs, direction(n), 7)
        like = await similar(vectors, seqs[::-1], n)
        answers.append((near.positions.tolist(), near.values.tobytes(), near.exhaustive))
        answers.append((like.values.tobytes(), like.known, like.exhaustive))
    return answers


async def test_signs_are_of_no_use_once_their_centre_moved(monkeypatch) -> None:
    """Made in a thread from a snapshot: an early row that goes meanwhile has them made again, a late one does not."""
    monkeypatch.setattr(block, "CENTRE_ROWS", 12)
    stored = [StoredVector(seq, "", direction(seq).tobytes()) for seq in range(1, 61)]
    for dropped, taken in ((5, False), (50, True)):
        one = block.VectorBlock(DIMS)
        one.add(stored)
        signs = one.signs_work()()
        one.drop(dropped)
        one.add([StoredVector(70, "", direction(70).tobytes())])
        assert one.take_signs(signs) is taken
        assert one.has_signs is taken


# --- files ---------------------------------------------------------------------------------------


@pytest.fixture
async def filed(tmp_path: Path):
    """A house with 400 vectors, whose graph lies in a file the store knows."""
    made = House(index="hnsw", files=IndexFiles(tmp_path))
    await made.apply(append(*(said(f"m{n}", n) for n in range(1, 401))))
    await made.nearest(1)
    await made.vectors.settled()
    yield made
    await made.vectors.close()


def file_of(tmp_path: Path) -> Path:
    (path,) = tmp_path.glob("*.hnsw")
    return path


async def right_answers(house: House, vectors: Vectors) -> bool:
    exact = house.fresh(index="exact")
    same = [
        await house.nearest(n, 5, vectors) == await house.nearest(n, 5, exact) for n in range(9)
    ]
    await exact.close()
    return all(same)


async def test_a_graph_is_loaded_from_its_file(filed: House, tmp_path: Path) -> None:
    record = await IndexRecord.read(filed.store, ROOM, "e1")
    assert record is not None
    assert (record.dims, record.row_count) == (DIMS, 400)
    assert filed.vectors._kept[ROOM].block.has_graph
    written = file_of(tmp_path).stat().st_mtime_ns
    await filed.apply(edit("m9", "new"))
    fresh = MessageVector("m9", 1, direction(900).tobytes())
    await filed.apply(VectorsChange(ROOM, "e1", (fresh,)))
    again = filed.fresh(index="hnsw", files=IndexFiles(tmp_path))
    assert await right_answers(filed, again)
    assert again._kept[ROOM].block.has_graph
    await again.settled()
    assert again._kept[ROOM].block.tail_rows == 0
    assert 9 not in await filed.nearest(9, 5, again)
    assert await filed.nearest(900, 1, again) == [9]
    assert file_of(tmp_path).stat().st_mtime_ns == written
    await again.close()


async def test_an_edited_message_stands_in_the_graph_once(filed: House) -> None:
    await filed.apply(edit("m7", "new"))
    fresh = MessageVector("m7", 1, direction(7).tobytes())
    await filed.apply(VectorsChange(ROOM, "e1", (fresh,)))
    await filed.apply(append(*(said(f"x{n}", 5_000 + n) for n in range(300))))
    await filed.vectors.settled()
    assert await right_answers(filed, filed.vectors)
    graph = filed.vectors._kept[ROOM].block.graph
    assert graph is not None
    assert np.count_nonzero(graph.labels() == 7) == 1
    found = await filed.nearest(7, 5)
    assert found[0] == 7
    assert len(set(found)) == 5


def damaged(kind: str, whole: bytes) -> bytes | None:
    match kind:
        case "missing":
            return None
        case "empty":
            return b""
        case "cut":
            return whole[: len(whole) // 2]
        case "longer":
            return whole + b"x"
        case _:
            return b"not a graph at all"


@pytest.mark.parametrize("kind", ["missing", "empty", "cut", "longer", "foreign"])
async def test_a_bad_file_is_made_again(filed: House, tmp_path: Path, kind: str) -> None:
    """Exact search answers until then, and afterwards the file is as it was: same vectors, same graph."""
    path = file_of(tmp_path)
    whole = path.read_bytes()
    content = damaged(kind, whole)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    again = filed.fresh(index="hnsw", files=IndexFiles(tmp_path))
    seqs = np.arange(1, 401, dtype=np.int64)
    first = await again.nearest(ROOM, seqs, direction(7), 5)
    assert first.exhaustive
    assert seqs[first.positions][0] == 7
    await again.settled()
    assert await right_answers(filed, again)
    assert path.read_bytes() == whole
    await again.close()


async def test_two_hundred_flipped_bytes(filed: House, tmp_path: Path) -> None:
    """A byte-flipped file is never taken."""
    path, record = file_of(tmp_path), await IndexRecord.read(filed.store, ROOM, "e1")
    whole, rng = path.read_bytes(), np.random.default_rng(20_261_122)
    files = IndexFiles(tmp_path)
    for _ in range(200):
        content = bytearray(whole)
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        assert files.load(ROOM, "e1", record, DIMS) is None
        assert not path.exists()
    path.write_bytes(whole)
    assert files.load(ROOM, "e1", record, DIMS) is not None


async def test_a_file_of_other_vectors_is_not_taken(filed: House, tmp_path: Path) -> None:
    """Other dimensions; and a file newer than the database, as after a restore: its hash is not the one known."""
    files, record = IndexFiles(tmp_path), await IndexRecord.read(filed.store, ROOM, "e1")
    whole = file_of(tmp_path).read_bytes()
    assert files.load(ROOM, "e1", record, DIMS + 1) is None
    newer = hnsw.Graph.build(np.stack([direction(n) for n in range(9)]), np.arange(9))
    files.save(ROOM, "e1", newer)
    assert files.load(ROOM, "e1", record, DIMS) is None
    file = files.path(ROOM, "e1")
    file.write_bytes(whole)
    assert files.load(ROOM, "e1", None, DIMS) is None
    assert not file.exists()


async def filed_labels(house: House, tmp_path: Path) -> list[int] | None:
    """What the file holds that the store knows; None without one."""
    record = await IndexRecord.read(house.store, ROOM, "e1")
    if record is None:
        return None
    with ThreadPoolExecutor(1) as thread:
        load = IndexFiles(tmp_path).load
        kept = await asyncio.get_running_loop().run_in_executor(
            thread, load, ROOM, "e1", record, DIMS
        )
    assert kept is not None
    assert len(kept) == record.row_count
    return kept.labels().tolist()


async def test_what_is_erased_leaves_the_files_too(filed: House, tmp_path: Path) -> None:
    """The graph is made and written again without it when it is next needed."""
    await filed.apply(erase("m7"))
    await asyncio.get_running_loop().run_in_executor(filed.vectors._builder, int)
    assert left_in(tmp_path) == []
    assert 7 not in await filed.nearest(7, 400)
    await filed.vectors.settled()
    kept = await filed_labels(filed, tmp_path)
    assert kept == [n for n in range(1, 401) if n != 7]


def left_in(directory: Path) -> list[Path]:
    return list(directory.iterdir())


def count_saves(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each graph that is saved from now on."""
    saves: list[int] = []
    save = hnsw.Graph.save

    def counted(graph: hnsw.Graph, path: str) -> None:
        saves.append(len(graph))
        save(graph, path)

    monkeypatch.setattr(hnsw.Graph, "save", counted)
    return saves


async def test_what_is_recalled_leaves_the_file_at_once_and_many_are_saved_together(
    filed: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file goes with the first one, the vectors leave the graph; a stop writes one file without any of them."""
    saves = count_saves(monkeypatch)
    for n in range(7, 12):
        await filed.apply(recall(f"m{n}"))
        assert n not in await filed.nearest(n, 400)
        await filed.vectors.settled()
        assert left_in(tmp_path) == []
        assert await filed_labels(filed, tmp_path) is None
    graph = filed.vectors._kept[ROOM].block.graph
    assert graph is not None
    assert graph.labels().tolist() == [n for n in range(1, 401) if not 7 <= n < 12]
    assert saves == []
    await filed.apply(recall("m12"))  # the graph still has it
    await filed.vectors.close()
    assert await filed_labels(filed, tmp_path) == [n for n in range(1, 401) if not 7 <= n < 13]
    assert saves == [394]


async def test_what_was_recalled_from_is_saved_after_a_while(
    filed: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "SAVED_AFTER_S", 0.01)
    await filed.apply(recall("m7"))
    await filed.vectors.settled()
    await asyncio.sleep(0.1)
    await filed.vectors.settled()
    assert await filed_labels(filed, tmp_path) == [n for n in range(1, 401) if n != 7]


@pytest.mark.parametrize("change", [None, recall("m8"), erase("m8")])
async def test_a_channel_that_leaves_memory_is_saved_first(
    filed: House, tmp_path: Path, change
) -> None:
    """Unless something is taken back meanwhile."""
    await filed.apply(recall("m7"))
    await filed.vectors.settled()
    filed.vectors.drop(ROOM)
    if change is not None:
        await filed.apply(change)
    await filed.vectors.settled()
    await asyncio.get_running_loop().run_in_executor(filed.vectors._builder, int)
    if change is None:
        assert await filed_labels(filed, tmp_path) == [n for n in range(1, 401) if n != 7]
    else:
        assert await filed_labels(filed, tmp_path) is None
        assert left_in(tmp_path) == []
    assert 7 not in await filed.nearest(7, 400)


async def test_what_is_taken_back_is_not_forgotten_where_the_work_fails(
    filed: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next commit takes it out of the graph."""
    work = block.VectorBlock.graph_work

    def failing(self, gone):
        work(self, gone)

        def fail():
            raise MemoryError

        return fail

    with monkeypatch.context() as patched:
        patched.setattr(block.VectorBlock, "graph_work", failing)
        await filed.apply(recall("m7"))
        await filed.vectors.settled()
    graph = filed.vectors._kept[ROOM].block.graph
    assert graph is not None
    assert 7 in graph.labels()
    await filed.apply(append(message("without a vector")))
    await filed.vectors.settled()
    assert 7 not in graph.labels()
    await filed.vectors.close()
    kept = await filed_labels(filed, tmp_path)
    assert kept is not None
    assert 7 not in kept


async def test_signs_and_graphs_count_as_soon_as_they_are_there(monkeypatch) -> None:
    """Not at the channel's next commit: what is loaded has a graph soon after."""
    monkeypatch.setattr(service, "SIGN_ROWS", 40)
    house = House()
    await house.apply(append(*(said(f"m{n}", n) for n in range(1, 401))))
    for options in ({}, {"index": "hnsw"}):
        vectors = house.fresh(**options)
        await house.nearest(1, vectors=vectors)
        await vectors.settled()
        held = vectors._kept[ROOM].block
        assert held.has_graph is bool(options)
        assert vectors.nbytes == held.nbytes
        await vectors.close()
    await house.vectors.close()


async def test_signs_that_are_made_again_count(monkeypatch) -> None:
    monkeypatch.setattr(service, "SIGN_ROWS", 40)
    house = House()
    await house.apply(append(*(said(f"m{n}", n) for n in range(1, 401))))
    await house.nearest(1)
    await house.apply(recall("m1"))
    await house.vectors.settled()
    held = house.vectors._kept[ROOM].block
    assert held.has_signs
    assert house.vectors.nbytes == held.nbytes
    await house.vectors.close()


async def test_until_a_large_channel_has_its_graph_signs_answer_and_say_so(monkeypatch) -> None:
    """What is found after a start may be other rows than before it: neither answer says that it looked everywhere."""
    monkeypatch.setattr(service, "SIGN_ROWS", 40)
    monkeypatch.setattr(service, "GRAPH_ROWS", 300)
    monkeypatch.setattr(index, "SIGN_RERANK_LEAST", 6)
    house = House()
    await house.apply(append(*(said(f"m{n}", n) for n in range(1, 401))))
    seqs = np.arange(1, 401, dtype=np.int64)
    for is_settled in (False, True):
        found = await house.vectors.nearest(ROOM, seqs, direction(3), 5)
        assert house.vectors._kept[ROOM].block.has_graph is is_settled
        assert not found.exhaustive
        assert not (await similar(house.vectors, seqs, 3)).exhaustive
        await house.vectors.settled()
    await house.vectors.close()


async def test_a_directory_that_cannot_be_written_costs_the_file_only(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, no directory")
    house = House(index="hnsw", files=IndexFiles(tmp_path / "taken"))
    await house.apply(append(*(said(f"m{n}", n) for n in range(1, 401))))
    assert await house.nearest(3, 1) == [3]
    await house.vectors.settled()
    assert house.vectors._kept[ROOM].block.has_graph
    assert await IndexRecord.read(house.store, ROOM, "e1") is None
    await house.vectors.close()
