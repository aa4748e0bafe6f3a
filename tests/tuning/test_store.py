"""A file of results keeps every record whatever happens, says what it is about, and has one writer at a time."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from neuraltrees.errors import InputError
from neuraltrees.tuning.store import Results, Store, open_store
from tests.commands import started

SUBJECT = {"epochs": 3, "network": {"conv": "gcn"}, "grid": {"lr": (0.1, 0.2)}}


def test_records_are_found_again_by_name(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "x.json"
    with open_store(path, "x", SUBJECT) as store:
        assert not path.exists(), "made with the first record"
        assert store.get({"conv": "gcn", "k": None}) is None
        store.add({"conv": "gcn", "k": None}, {"test": [0.1, 1 / 3]}, {"epochs": 3})
        store.add({"conv": "gat", "k": 1}, {"test": [float("nan")]})
    with open_store(path, "x", SUBJECT) as store:
        found = store.get({"k": None, "conv": "gcn"}, {"epochs": 3})
        assert found == {"name": {"conv": "gcn", "k": None}, "settings": {"epochs": 3}, "test": [0.1, 1 / 3]}
    results = Results.read(path)
    assert results == store.results
    assert json.loads(path.read_text())["subject"] == {
        "epochs": 3,
        "network": {"conv": "gcn"},
        "grid": {"lr": [0.1, 0.2]},
    }
    assert results.one(conv="gat")["test"] == [None], "JSON has no NaN"
    assert [record["name"]["conv"] for record in results.find(k=None)] == ["gcn"], "no k is not the k None"
    with pytest.raises(InputError, match=r"Expected conv gin, k 1 in the results of x; got none\."):
        results.one(conv="gin", k=1)
    assert [each.name for each in path.parent.iterdir()] == ["x.json"], "no lock is left"


def test_a_record_of_the_same_name_is_replaced_in_its_place(tmp_path: Path) -> None:
    with open_store(tmp_path / "x.json", "x") as store:
        for name in ("a", "b", "a"):
            store.add({"n": name}, {"count": len(store.results.records)})
    assert [(each["name"]["n"], each["count"]) for each in Results.read(tmp_path / "x.json").records] == [
        ("a", 2),
        ("b", 1),
    ]


def test_a_note_written_by_hand_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"experiment": "x", "subject": {}, "note": "By hand.", "records": []}')
    with open_store(path, "x") as store:
        store.add({"n": 1}, {})
    assert Results.read(path).note == "By hand."


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        (
            SUBJECT | {"epochs": 4},
            "it has another epochs (3 there, 4 here). Choose another folder, or the same values.",
        ),
        (SUBJECT | {"network": {"conv": "gin"}}, 'another network.conv ("gcn" there, "gin" here).'),
        (SUBJECT | {"grid": {"lr": [0.1]}}, "another grid.lr ([0.1, 0.2] there, [0.1] here)."),
        (SUBJECT | {"grid": {"lr": [0.1, 0.2], "heads": [2]}}, "another grid.heads (none there, [2] here)."),
        ({"epochs": 3, "network": {"conv": "gcn"}}, "another grid.lr ([0.1, 0.2] there, none here)."),
        (SUBJECT | {"task": "0123456789abcdef" * 4}, "it has another task."),
    ],
)
def test_another_subject_is_refused(subject: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with open_store(path, "x", SUBJECT) as store:
        store.add({"n": 1}, {})
    before = path.read_bytes()
    with pytest.raises(InputError) as error, open_store(path, "x", subject):
        pass
    assert message in str(error.value)
    with pytest.raises(InputError, match=r"results of y; it holds those of x"), open_store(path, "y", SUBJECT):
        pass
    assert path.read_bytes() == before


def test_a_setting_younger_than_the_file_had_its_default(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with open_store(path, "x", {"network": {"conv": "gcn"}}) as store:
        store.add({"n": 1}, {}, {"hidden": 4})
    defaults = {"network": {"conv": "sage", "residual": False}, "heads": 6}
    younger = {"network": {"conv": "gcn", "residual": False}}
    with open_store(path, "x", younger, defaults) as store:
        assert store.get({"n": 1}, {"hidden": 4, "heads": 6}) is not None
        with pytest.raises(
            InputError, match=r"to hold n 1 with the same settings; it has another heads \(6 there, 8 h"
        ):
            store.get({"n": 1}, {"hidden": 4, "heads": 8})
    younger["network"]["residual"] = True
    with (
        pytest.raises(InputError, match=r"network.residual \(false there, true here\)"),
        open_store(path, "x", younger, defaults),
    ):
        pass


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"experiment": "x", "records": [', "it is not JSON: "),
        ("\x00\xff", "it is not JSON: "),
        ("[1, 2]", "got another JSON file"),
        ('{"cells": []}', "got another JSON file"),
        ('{"experiment": "x", "subject": [], "records": []}', "got another JSON file"),
        ('{"experiment": "x", "subject": {}, "records": [{"seconds": 1}]}', "got another JSON file"),
    ],
)
def test_a_broken_file_is_refused_and_kept(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError) as error, open_store(path, "x"):
        pass
    assert str(error.value).startswith(f"Expected {path} to be a file of results; {message}")
    assert str(error.value).endswith(" Restore it, or choose another folder.")
    assert path.read_bytes() == content.encode("latin-1")


def test_a_file_in_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with (
        open_store(path, "x"),
        open_store(tmp_path / "y.json", "y"),
        pytest.raises(InputError, match="another process is writing to it"),
        open_store(path, "x"),
    ):
        pass
    with open_store(path, "x"):
        pass


# Adds records for ever, and says when one of them is saved.
WRITER = """
import sys
from neuraltrees.tuning.store import open_store

with open_store(sys.argv[1], "x", {"size": 1000}) as store:
    for number in range(len(store.results.records), 10**9):
        store.add({"number": number}, {"values": [number] * 1000})
        print(number, flush=True)
"""


def test_a_killed_writer_loses_at_most_the_record_in_work(tmp_path: Path) -> None:
    path, saved = tmp_path / "x.json", 0
    for _ in range(2):
        with started([sys.executable, "-c", WRITER, path]) as writer:
            writer.lines(5)
            with pytest.raises(InputError, match="another process is writing to it"), open_store(path, "x"):
                pass
            os.kill(writer.pid, signal.SIGKILL)
            assert writer.wait() == -signal.SIGKILL
            saved = int(writer.out.splitlines()[-1]) + 1
        records = Results.read(path).records
        assert [record["values"] for record in records[:saved]] == [[n] * 1000 for n in range(saved)]
        assert len(records) - saved in (0, 1), "saved, and killed before it could say so"
        saved = len(records)
    with open_store(path, "x", {"size": 1000}) as store:
        assert isinstance(store, Store), "the lock has ended with the process"


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    with open_store(path, "x") as store:
        store.add({"n": 1}, {})
        before = path.read_bytes()

        def full(*_: object) -> None:
            raise OSError("No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            store.add({"n": 2}, {})
    assert path.read_bytes() == before
