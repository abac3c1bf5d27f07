"""A build writes two notebooks that depend on the source alone, or writes nothing and says why in a sentence."""

import json
import re
import stat
from pathlib import Path

import nbformat
import pytest

from utils.book.build import build_chapter
from utils.book.notebooks import cell_id, write_whole
from utils.book.outputs import normalize, output_problems
from utils.book.problems import BuildProblem, SourceProblem
from utils.book.shelf import Shelf

QUICK = '# %% key="a"\nprint("seen")\n'


def built_files(shelf):
    return {kind: getattr(shelf, kind)("05_tiny").read_bytes() for kind in ("chapter", "solution")}


def test_two_builds_are_the_same_bytes(built, book, tiny_text):
    again = book(tiny_text)
    build_chapter(again, "05_tiny")
    assert built_files(again) == built_files(built)


def test_a_second_build_changes_no_file(own_copy):
    before = built_files(own_copy)
    assert build_chapter(own_copy, "05_tiny").changed == ()
    assert built_files(own_copy) == before


MEASURED = """# %% [markdown] key="title"
# # Seconds

# %% key="setup"
import os

# %% key="seconds" tags=["measured", "nbval-ignore-output"]
print(f"{float(os.environ['SECONDS']):.2e} seconds{os.environ['MORE']}")

# %% key="more"
print(os.environ["SECONDS"])
"""


@pytest.mark.parametrize(
    "more, code, kept", [("", "", True), (", 20, 10²", "", True), (" each", "", False), ("", "# anew", False)]
)
def test_measured_figures_stay_while_the_code_does(book, monkeypatch, more, code, kept):
    monkeypatch.setenv("SECONDS", "0.125")
    monkeypatch.setenv("MORE", "")
    build_chapter(book(MEASURED), "05_tiny")
    monkeypatch.setenv("SECONDS", "1234")
    monkeypatch.setenv("MORE", more)
    shelf = book(MEASURED + code)
    build_chapter(shelf, "05_tiny")
    cells = nbformat.read(shelf.solution("05_tiny"), as_version=4).cells
    assert cells[2].outputs[0].text == ("1.25e-01 seconds\n" if kept else f"1.23e+03 seconds{more}\n")
    assert cells[3].outputs[0].text == "1234\n"  # this one is not tagged


def test_the_chapter_has_stubs_and_no_outputs(built):
    notebook = nbformat.read(built.chapter("05_tiny"), as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.outputs for cell in code] == [[]] * len(code)
    assert [cell.execution_count for cell in code] == [None] * len(code)
    source = "\n".join(cell.source for cell in code)
    assert re.findall(r'NotImplementedError\("Write (\S+) here', source) == ["halve", "Keeper.__init__", "Keeper.fill"]
    assert "halve-why" not in {cell.metadata.book.key for cell in notebook.cells}


def test_the_solution_has_answers_outputs_and_counts_from_one(built):
    notebook = nbformat.read(built.solution("05_tiny"), as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = {cell.metadata.book.key: cell.outputs for cell in code}
    assert outputs["halve-grade"][0].text == "passed\n"
    assert outputs["value"][0].data["text/plain"] == "[0.123, 2]"
    assert outputs["raises"][0].output_type == "error"
    text = "\n".join(cell.source for cell in code)
    assert (text.count("# SOLUTION"), text.count("# END")) == (1, 1)  # those in the docstring
    assert "return [number * 0.5 for number in x]" in text


def test_metadata_is_what_the_book_needs_and_no_more(built):
    chapter = json.loads(built.chapter("05_tiny").read_text())
    assert chapter["metadata"] == {
        "book": {"chapter": "05_tiny"},
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    solution = json.loads(built.solution("05_tiny").read_text())
    assert solution["metadata"].pop("book").keys() == {"chapter", "outputs_of"}
    assert solution["metadata"] == {name: chapter["metadata"][name] for name in ("kernelspec", "language_info")}
    cell = next(cell for cell in chapter["cells"] if cell["metadata"]["book"]["key"] == "halve-answer")
    assert cell["metadata"] == {"book": {"key": "halve-answer", "exercise": "05.1", "covers": ["N13", "M8"]}}


def test_a_cell_has_one_id_in_both_notebooks_whatever_its_text(built):
    ids = []
    for kind in ("chapter", "solution"):
        notebook = nbformat.read(getattr(built, kind)("05_tiny"), as_version=4)
        ids.append([cell.id for cell in notebook.cells])
        assert ids[-1] == [cell_id("05_tiny", cell.metadata.book.key) for cell in notebook.cells]
    assert set(ids[0]) < set(ids[1])
    assert cell_id("05_tiny", "setup") == "setup-030d855c3963"
    assert re.fullmatch("[a-zA-Z0-9-_]{1,64}", cell_id("05_tiny", "word-" * 40 + "word"))


REFUSED = {
    "raises": ("x = 1\n1 / 0", 'the cell "a" raised ZeroDivisionError: division by zero'),
    "exits": ("import os\nos._exit(3)", 'the cell "a" ended the kernel'),
    "never ends": ("while True:\n    pass", 'the cell "a" did not end within 2 seconds'),
    "warns": ("import warnings\nwarnings.warn('old')", "it writes to stderr"),
    "huge": ("print('x' * 4_000_000)", "its solution notebook has 4,00"),
}


@pytest.mark.parametrize("code, sentence", REFUSED.values(), ids=REFUSED)
def test_what_must_not_be_stored_is_refused_and_nothing_is_written(titled, code, sentence):
    shelf = titled(f'# %% key="a"\n{code}\n')
    with pytest.raises(SourceProblem) as raised:
        build_chapter(shelf, "05_tiny", timeout=2 if "while" in code else 60)
    assert all(problem.line in (0, 4) for problem in raised.value.problems)
    assert sentence in str(raised.value)
    assert not shelf.chapter("05_tiny").exists() and not shelf.solution("05_tiny").exists()


def test_an_interrupt_from_the_keyboard_is_one(titled):
    code = "import os, signal\nos.kill(os.getppid(), signal.SIGINT)  # the builder's process\nwhile True:\n    pass\n"
    shelf = titled(f'# %% key="a"\n{code}')
    with pytest.raises(KeyboardInterrupt):
        build_chapter(shelf, "05_tiny", timeout=60)
    assert not shelf.solution("05_tiny").exists()


KEPT_OUT = {
    "an address": ("<object object at 0x7f3a5c0b1d20>", "an address in memory ('0x7f3a5c0b1d20')"),
    "a date": ("trained on 2026-11-30", "a time or a date"),
    "a clock": ("at 03:12:59", "a time or a date"),
    "a duration": ("12.3 ms per loop", "a time or a date ('12.3 ms')"),
    "a rate": ("100%|███| 3/3 [00:01, 2.1it/s]", "a time or a date"),
    "seconds": ("trained in 1.5 seconds", "a time or a date ('1.5 seconds')"),
    "a path": ("saved to /home/ada/model", "a path of this machine ('/home/ada')"),
    "a path on Windows": (r"saved to C:\Users\ada", "a path of this machine"),
}
LET_THROUGH = [
    "d_head 64: 8.1",
    "0.5 s.d.",
    "2 secrets",
    "1/2 and a/b",
    "0x1f",
    "tensor([1.0000e+00])",
    "10 minutes of 60",
]


def output_of(text: str, form: str) -> nbformat.NotebookNode:
    kind = {"output_type": "stream", "name": "stdout", "text": text}
    if form != "stream":
        kind = {"output_type": "display_data", "metadata": {}, "data": {form: text}}
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "", "execution_count": 1, "outputs": [kind]}
    return nbformat.from_dict({"metadata": {}, "cells": [cell], "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.parametrize("form", ["stream", "text/plain", "text/html", "text/markdown"])
@pytest.mark.parametrize("text, sentence", KEPT_OUT.values(), ids=KEPT_OUT)
def test_outputs_that_differ_from_run_to_run_are_named(text, sentence, form):
    text = text.replace("<", "&lt;") if form == "text/html" else text
    assert [sentence in found for _, found in output_problems(output_of(text, form))] == [True]


@pytest.mark.parametrize("text", LET_THROUGH)
def test_outputs_that_are_the_same_each_time_are_let_through(text):
    assert list(output_problems(output_of(text, "stream"))) == []


def test_an_expected_error_is_kept_unless_its_traceback_shows_the_machine():
    notebook = output_of("", "stream")
    cell = notebook.cells[0]
    cell.metadata.tags = ["raises-exception"]
    error = {"output_type": "error", "ename": "ValueError", "evalue": "k < 1", "traceback": ["Cell In[1], line 1"]}
    cell.outputs = [nbformat.from_dict(error)]
    assert list(output_problems(notebook)) == []
    cell.outputs[0].traceback.append("File \x1b[32m/usr/lib/python3.11/json.py:3\x1b[39m, in load")
    assert ["a path of this machine" in found for _, found in output_problems(notebook)] == [True]


def test_code_inside_a_page_is_not_read_as_prose():
    page = "<style>a { transition: 200 ms }</style><script>wait('10 ms', 0xdeadbeef00)</script><p>fine</p>"
    assert list(output_problems(output_of(page, "text/html"))) == []


def test_the_folders_of_this_machine_are_found_anywhere():
    page = f"<script>load('{Path.home()}/x')</script>"
    assert any("the home folder" in found for _, found in output_problems(output_of(page, "text/html")))


def test_a_stream_is_one_piece_however_it_was_sent():
    notebook = output_of("10%\r", "stream")
    outputs = notebook.cells[0].outputs
    outputs += [nbformat.from_dict({**outputs[0], "text": text}) for text in ("100%\rdone", "\n", "x" * 2_000_000)]
    normalize(notebook)
    assert [output.text for output in notebook.cells[0].outputs] == ["done\n" + "x" * 2_000_000]


def test_of_a_live_widget_the_text_beside_it_is_stored():
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "f3a1"}, "text/plain": "the figure"}
    output = nbformat.v4.new_output("display_data", view)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=[output])])
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}
    normalize(notebook)
    assert notebook.cells[0].outputs[0].data == {"text/plain": "the figure"}
    assert "widgets" not in notebook.metadata


def test_a_build_neither_sees_nor_touches_what_a_person_has_stored(titled, tmp_path, monkeypatch):
    monkeypatch.setenv("BOOK_DATA", str(tmp_path / "mine"))
    monkeypatch.setenv("BOOK_DEVICE", "cuda")
    code = "import os\nprint(os.environ['BOOK_DEVICE'], os.environ['BOOK_DATA'].endswith('mine'))\n"
    shelf = titled(f'# %% key="a"\n{code}')
    build_chapter(shelf, "05_tiny")
    assert '"cpu False\\n"' in shelf.solution("05_tiny").read_text()
    assert not (tmp_path / "mine").exists()


def test_without_running_outputs_stay_while_the_code_is_the_same(own_copy, tiny_text):
    before = nbformat.read(own_copy.solution("05_tiny"), as_version=4)
    source = own_copy.source("05_tiny")
    source.write_text(tiny_text.replace("It doesn't teach anything.", "It teaches nothing."))
    assert build_chapter(own_copy, "05_tiny", run=False).changed == ("chapter", "solution")
    after = nbformat.read(own_copy.solution("05_tiny"), as_version=4)
    assert [cell.get("outputs") for cell in after.cells] == [cell.get("outputs") for cell in before.cells]

    source.write_text(tiny_text.replace("0.12345", "0.54321"))
    build_chapter(own_copy, "05_tiny", run=False)
    after = nbformat.read(own_copy.solution("05_tiny"), as_version=4)
    assert not any(cell.get("outputs") for cell in after.cells)
    assert "outputs_of" not in after.metadata.book


@pytest.mark.parametrize(
    "place", ["chapters", "chapters/05_tiny.ipynb"], ids=["a file for the folder", "a folder for the file"]
)
def test_what_cannot_be_written_is_one_sentence_and_leaves_no_crumbs(titled, tmp_path, place):
    shelf = titled(QUICK)
    blocked = tmp_path / place
    if blocked.suffix:
        (blocked / "inside").mkdir(parents=True)
    else:
        blocked.write_text("in the way")
    with pytest.raises(
        BuildProblem, match=r": it cannot be written \(.+\): make its folder writable and build again\.$"
    ):
        build_chapter(shelf, "05_tiny", run=False)
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_read_only_folder_is_one_sentence(tmp_path, monkeypatch):
    import tempfile

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)  # the tests may run as root, whom no folder refuses
    with pytest.raises(BuildProblem, match=r": it cannot be written \(Permission denied\)"):
        write_whole(tmp_path / "x.ipynb", "{}")


def test_a_written_file_can_be_read_by_all(tmp_path):
    assert write_whole(tmp_path / "new" / "x.txt", "é")
    assert stat.S_IMODE((tmp_path / "new" / "x.txt").stat().st_mode) == 0o644
    assert not write_whole(tmp_path / "new" / "x.txt", "é")


CHOICES = [(None, ["04_a", "05_tiny"]), (["5"], ["05_tiny"]), (["05", "04_a"], ["04_a", "05_tiny"])]


@pytest.mark.parametrize("wanted, names", [*CHOICES, (["solutions/05_tiny.py", "5"], ["05_tiny"])])
def test_a_chapter_is_meant_by_number_name_or_path(book, wanted, names):
    book("", "04_a")
    assert book("").choose(wanted) == names


def test_a_chapter_that_is_not_there_is_one_sentence(book, tmp_path):
    with pytest.raises(BuildProblem, match=r"^There is no chapter '7'; there is 05_tiny\.$"):
        book("").choose(["7"])
    with pytest.raises(BuildProblem, match="There is no chapter source in"):
        Shelf(tmp_path / "nowhere").chapters()
    with pytest.raises(BuildProblem, match="Two chapters have the number 05"):
        book("", "05_other").chapters()
    with pytest.raises(BuildProblem, match="a chapter's file is named NN_slug.py"):
        book("", "Notes").chapters()
