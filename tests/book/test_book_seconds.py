"""`book run` says what each notebook took as it ends, and `book bench` sets the chapters against the floor."""

import json

import pytest
import typer
from typer.testing import CliRunner

from utils import bench
from utils.book import commands, seconds


@pytest.fixture
def run(built, monkeypatch):
    monkeypatch.setattr("utils.book.shelf.the_book", lambda: built)
    app = typer.Typer()
    app.command()(commands.run)
    return lambda *words: CliRunner().invoke(app, list(words))


def test_each_notebook_is_told_as_it_ends_and_all_together_at_last(run):
    result = run()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.rpartition(":")[0] for line in lines[:2]] == ["05_tiny solution", "05_tiny as shipped"]
    assert all(line.endswith(" s, passed") for line in lines[:2])
    assert "all" in lines[-2] and " 17 " in lines[-2]  # 9 cells and 8


def test_json_is_one_object_with_the_seconds_of_all(run):
    facts = json.loads(run("--json").stdout)
    (chapter,) = facts["chapters"]
    assert chapter["chapter"] == "05_tiny" and facts["problems"] == []
    assert [chapter[kind]["cells"] for kind in ("solution", "as_shipped")] == [9, 8]
    both = chapter["solution"]["seconds"] + chapter["as_shipped"]["seconds"]
    assert facts["seconds"] == pytest.approx(both, abs=0.02)


def test_the_figures_of_the_bench_add_up(built, monkeypatch, capsys):
    monkeypatch.setattr(seconds, "floor", lambda: 0.25)
    figures = seconds.by_chapter(built, ["05_tiny"], quiet=True)
    taken = figures["chapters"]["05_tiny"]
    assert figures["failed"] == []
    assert figures["floor"] == 0.2 and taken.keys() == {"solution", "as_shipped"}
    assert figures["total"] == pytest.approx(sum(taken.values()), abs=0.11)
    taken = {"solution": 4.0, "as_shipped": 3.5}
    bench.print_seconds({"floor": 1.0, "chapters": {"05_tiny": taken}, "total": 7.5, "failed": ["05_tiny solution"]})
    printed = capsys.readouterr().out
    assert [cell.strip() for cell in printed.splitlines()[4].split("│")[1:4]] == ["floor: import torch", "1.0", "1.0"]
    assert "Failed, so perhaps cut short: 05_tiny solution; `book run` says why." in printed
    assert printed.count("5.5") == 2  # both runs, above two floors: of the chapter and of all


def test_the_floor_is_the_middle_of_three_kernels_that_import_torch(monkeypatch):
    ran, clock = [], iter([0, 5, 10, 12, 20, 29])
    monkeypatch.setattr(seconds, "execute", lambda notebook, *_: ran.append([cell.source for cell in notebook.cells]))
    monkeypatch.setattr(seconds.time, "perf_counter", lambda: next(clock))
    assert seconds.floor() == 5
    assert ran == [["import torch"]] * 3
