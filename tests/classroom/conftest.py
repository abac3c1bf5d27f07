"""A class to be graded: notebooks made from the shipped chapters, with answers that a test writes."""

import copy
import io
import json
import zipfile

import pytest

from utils.paths import chapters_dir

SHIPPED = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(chapters_dir().glob("*.ipynb"))}
for _notebook in SHIPPED.values():
    for _cell in _notebook["cells"]:
        _cell["source"] = "".join(_cell["source"])
CHAPTER = "05_attention"


@pytest.fixture
def make_notebook():
    """`make_notebook({"05.1": "a line"}, chapter)` gives a notebook whose answers hold those lines for the stub's."""

    def make(answers=None, chapter=CHAPTER, all_others=None):
        notebook = copy.deepcopy(SHIPPED[chapter])
        for cell in notebook["cells"]:
            exercise = cell["metadata"].get("book", {}).get("exercise")
            line = (answers or {}).get(exercise, all_others) if exercise else None
            if line is not None:
                source = cell["source"]
                stub = next(row for row in source.split("\n") if "raise NotImplementedError" in row)
                indent = stub[: len(stub) - len(stub.lstrip())]
                cell["source"] = source.replace(stub, "\n".join(indent + row for row in line.split("\n")))
        return notebook

    return make


@pytest.fixture
def hand_in(tmp_path, make_notebook):
    """`hand_in(path, notebook or bytes)` puts a file into the folder of submissions and gives that folder."""
    folder = tmp_path / "submissions"
    folder.mkdir()

    def put(path, content=None):
        content = make_notebook() if content is None else content
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return folder

    put.folder = folder
    return put


@pytest.fixture
def zipped(tmp_path):
    """`zipped({path: bytes}, name)` makes a zip; paths may be ZipInfo objects."""

    def make(entries, name="class.zip"):
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
            for path, data in entries.items() if isinstance(entries, dict) else entries:
                made.writestr(path, data)
        target = tmp_path / name
        target.write_bytes(held.getvalue())
        return target

    return make


@pytest.fixture
def take_in():
    """`take_in(path)` gives (all that was received, the problems that belong to no student)."""
    from utils.classroom.intake import Intake

    def take(path, **options):
        with Intake(path, **options) as intake:
            return list(intake), intake.problems

    return take
