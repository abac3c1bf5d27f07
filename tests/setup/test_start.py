"""`book start` gives a learner the chapters, from a checkout or from a wheel, and never writes over their work."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest
from typer.testing import CliRunner

from utils import start
from utils.cli import make_app
from utils.paths import book_root, chapters_dir

BOOK = sorted(path.name for path in [*chapters_dir().glob("[0-9]*.ipynb"), *chapters_dir().glob("*.md")])


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A small book to copy from."""
    folder = tmp_path / "book"
    folder.mkdir()
    for name in ("00_start_here.ipynb", "05_attention.ipynb", "glossary.md"):
        (folder / name).write_text(f"the book's {name}")
    monkeypatch.setattr(start, "chapters_dir", lambda: folder)
    return folder


def begin(folder, *words):
    result = CliRunner().invoke(make_app("start"), ["start", str(folder), *words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_the_whole_book_is_copied(tmp_path):
    done = start.copy_chapters(tmp_path / "mine")
    assert sorted(done.new) == BOOK
    for name in BOOK:
        assert (tmp_path / "mine" / name).read_bytes() == (chapters_dir() / name).read_bytes()


def test_it_says_what_it_did_and_what_comes_next(shipped, tmp_path):
    mine = tmp_path / "my book"
    said = begin(mine)
    assert f"Copied 2 chapters to {mine}" in said
    assert f'cd "{mine}" && book lab' in said
    assert "All 2 chapters" in begin(mine)


def test_what_the_learner_changed_is_kept_and_named_and_the_rest_renewed(shipped, tmp_path):
    mine = tmp_path / "mine"
    begin(mine)
    (mine / "05_attention.ipynb").write_text("my answers")
    for path in shipped.iterdir():
        path.write_text(f"a newer {path.name}")
    said = begin(mine)
    assert (mine / "05_attention.ipynb").read_text() == "my answers"
    assert (mine / "00_start_here.ipynb").read_text() == "a newer 00_start_here.ipynb"
    assert "Kept as you have it, with your changes: 05_attention.ipynb." in said
    assert "Renewed, since you had not changed them: 00_start_here.ipynb, glossary.md." in said
    begin(mine)
    assert (mine / "05_attention.ipynb").read_text() == "my answers"


def test_files_that_were_there_before_count_as_the_learners(shipped, tmp_path):
    (tmp_path / "00_start_here.ipynb").write_text("something of mine")
    (tmp_path / start.REMEMBERED).write_text("not JSON")
    facts = json.loads(begin(tmp_path, "--json"))
    assert facts["kept"] == ["00_start_here.ipynb"]
    assert (tmp_path / "00_start_here.ipynb").read_text() == "something of mine"


@pytest.mark.parametrize("case", ["a file in the way", "the book's own folder", "no chapters"])
def test_a_folder_that_will_not_do_is_one_sentence(case, shipped, tmp_path, one_sentence):
    folder = {"the book's own folder": shipped}.get(case, tmp_path / "there")
    if case == "a file in the way":
        folder.write_text("in the way")
    if case == "no chapters":
        for path in shipped.iterdir():
            path.unlink()
    with pytest.raises(start.StartProblem) as problem:
        start.copy_chapters(folder)
    one_sentence(problem.value)


def test_lab_opens_what_start_has_made(tmp_path, monkeypatch):
    from utils import lab

    begin(tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    assert f"--ServerApp.root_dir={tmp_path / 'mine'}" in lab.lab_command([])


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The console script of a wheel of this book, in an environment that borrows all other packages from this one."""
    place = tmp_path_factory.mktemp("installed")
    source = place / "source"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "chapters", "utils", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md",
         "LICENSE", "LICENSE-CONTENT", "requirements.lock", "requirements-modern.lock"],
        cwd=book_root(), capture_output=True, text=True,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("this is no git checkout, so which files a wheel is made from is not known")
    for name in filter(None, listed.stdout.split("\0")):
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((book_root() / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(place), str(source)],
        check=True,
    )
    (wheel,) = place.glob("*.whl")
    home = place / "venv"
    venv.create(home, with_pip=False)
    folder = next(home.glob("lib/python*/site-packages"), home / "Lib" / "site-packages")
    (folder / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    python = next(path for path in (home / "bin" / "python", home / "Scripts" / "python.exe") if path.exists())
    return wheel, [str(python), "-c", "from utils.cli import main; main()"], folder


@pytest.mark.slow
def test_a_wheel_holds_the_chapters_and_starts_them(installed, tmp_path):
    wheel, book, folder = installed
    with zipfile.ZipFile(wheel) as archive:
        shipped = [name for name in archive.namelist() if name.startswith("utils/shipped/chapters/")]
        record = archive.read(next(name for name in archive.namelist() if name.endswith("RECORD"))).decode()
    assert sorted(name.rpartition("/")[2] for name in shipped) == BOOK
    assert all(name in record for name in shipped), "pip would leave them behind when it uninstalls the book"
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command):
        return subprocess.run(command, cwd=tmp_path, env=bare, capture_output=True, text=True)

    started = run(*book, "start", "mine")
    assert started.returncode == 0, started.stderr
    assert sorted(path.name for path in (tmp_path / "mine").iterdir() if path.name != start.REMEMBERED) == BOOK
    where = run(
        book[0], "-c", "import utils; from utils import reference; print(utils.__file__, reference().cfg.n_layers)"
    )
    assert where.stdout.split() == [str(folder / "utils" / "__init__.py"), "4"], where.stderr
    for command in ("lab", "build"):
        refused = run(*book, command)
        assert refused.returncode == 1 and refused.stderr.count("\n") == 1, refused.stderr
