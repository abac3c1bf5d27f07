"""Hostile archives: nothing leaves the private folder, nothing is followed, and what is sound is still graded."""

import gzip
import io
import json
import os
import stat
import struct
import tarfile
import tracemalloc
import zipfile

import pytest

from utils.classroom.archives import Limits
from utils.classroom.problems import ClassProblem

NAME = "05_attention.ipynb"


@pytest.fixture
def data(make_notebook):
    return json.dumps(make_notebook()).encode()


@pytest.fixture
def tarred(tmp_path):
    """`tarred([(TarInfo or path, bytes)])` makes a tar."""

    def make(entries, name="class.tar", format=tarfile.PAX_FORMAT):
        target = tmp_path / name
        with tarfile.open(target, "w:gz" if name.endswith("gz") else "w", format=format) as made:
            for info, content in entries:
                info = tarfile.TarInfo(info) if isinstance(info, str) else info
                info.size = len(content)
                made.addfile(info, io.BytesIO(content))
        return target

    return make


def students(found):
    return [r.submission.student for r in found if r.counts]


def everything_said(found, problems):
    return " ".join([*problems, *(sentence for r in found for sentence in r.submission.problems)])


ESCAPES = ["../../evil.ipynb", "/etc/evil.ipynb", "ann/../../../evil.ipynb", "C:\\evil.ipynb", "..\\..\\evil.ipynb"]


@pytest.mark.parametrize("path", ESCAPES)
def test_a_name_that_leads_out_of_a_zip(path, zipped, take_in, data, tmp_path):
    found, problems = take_in(zipped({path: data, f"ann/{NAME}": data, f"ben/{NAME}": data}))
    assert students(found) == ["ann", "ben"]
    assert "leads out of the archive" in everything_said(found, problems)
    assert not list(tmp_path.rglob("evil*")) and not os.path.exists("/etc/evil.ipynb")


@pytest.mark.parametrize("path", ESCAPES)
def test_a_name_that_leads_out_of_a_tar(path, tarred, take_in, data, tmp_path):
    found, problems = take_in(tarred([(path, data), (f"ann/{NAME}", data), (f"ben/{NAME}", data)]))
    assert students(found) == ["ann", "ben"]
    assert "leads out of the archive" in everything_said(found, problems)
    assert not list(tmp_path.rglob("evil*")) and not os.path.exists("/etc/evil.ipynb")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar(kind, tarred, take_in, data):
    link = tarfile.TarInfo(f"eve/{NAME}")
    link.type, link.linkname = kind, "/etc/passwd"
    found, problems = take_in(tarred([(link, b""), (f"ann/{NAME}", data)]))
    assert students(found) == ["ann"]
    assert f"eve/{NAME} is a link or a device, and not opened." in problems


def test_a_link_in_a_zip(zipped, take_in, data):
    link = zipfile.ZipInfo(f"eve/{NAME}")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    found, problems = take_in(zipped([(link, b"/etc/passwd"), (f"ann/{NAME}", data)]))
    assert students(found) == ["ann"]
    assert f"eve/{NAME} is a link or a device, and not opened." in problems


@pytest.mark.parametrize("of", ["a file", "a folder", "itself"])
def test_links_in_a_folder(of, hand_in, take_in, tmp_path, data):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / NAME).write_bytes(data)
    folder = hand_in(f"ann/{NAME}", data)
    (folder / "eve").mkdir()
    target = {"a file": tmp_path / "secret" / NAME, "a folder": tmp_path / "secret", "itself": folder / "eve" / "x"}
    (folder / "eve" / "x.ipynb").symlink_to(target[of])
    found, problems = take_in(folder)
    assert students(found) == ["ann"]
    assert "eve/x.ipynb is a link, and links are not followed." in everything_said(found, problems)


def test_a_pipe_in_a_folder_does_not_block(hand_in, take_in):
    folder = hand_in(f"ann/{NAME}")
    (folder / "eve").mkdir()
    os.mkfifo(folder / "eve" / NAME)
    found, problems = take_in(folder)
    assert students(found) == ["ann"]
    assert f"eve/{NAME} is not a regular file." in everything_said(found, problems)


def test_a_file_that_turns_into_a_link_after_it_was_listed(hand_in, tmp_path):
    from utils.classroom.intake import Intake

    folder = hand_in(f"ann/{NAME}")
    with Intake(folder) as intake:
        (folder / "ann" / NAME).unlink()
        (folder / "ann" / NAME).symlink_to("/etc/hostname")
        found = list(intake)
    assert students(found) == []
    assert "cannot be read" in everything_said(found, [])


def test_a_zip_bomb_is_read_no_further_than_allowed(zipped, take_in, data):
    bomb = zipped({f"eve/{NAME}": b"{" + b" " * (64 << 20), f"ann/{NAME}": data})
    assert bomb.stat().st_size < 1 << 20
    tracemalloc.start()
    found, problems = take_in(bomb, limits=Limits(notebook_bytes=1 << 20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert students(found) == ["ann"]
    assert f"eve/{NAME} is longer than 1 MiB, and not read." in everything_said(found, problems)
    assert peak < 24 << 20


def test_a_zip_that_lies_about_a_size(zipped, take_in, data, tmp_path):
    path = zipped({f"eve/{NAME}": b" " * 5000, f"ann/{NAME}": data})
    content = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = content.index(mark) + at
        content[start : start + 4] = struct.pack("<I", 10)
    path.write_bytes(content)
    found, problems = take_in(path)
    assert students(found) == ["ann"]
    assert f"eve/{NAME}" in everything_said(found, problems)


def test_all_that_comes_out_of_a_tar_is_counted(tarred, take_in, data):
    path = tarred([(f"ann/{NAME}", data), ("eve/big.bin", b"\0" * (8 << 20)), (f"ben/{NAME}", data)], "class.tar.gz")
    found, problems = take_in(path, limits=Limits(archive_bytes=1 << 20))
    assert students(found) == ["ann"]
    assert "class.tar.gz is damaged (over 1 MiB come out of it), and what could be read of it is graded." in problems


def test_a_header_that_asks_for_gigabytes(tmp_path, take_in, data):
    """tarfile reads an extended header whole, as long as it says it is."""
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 8 << 30
    sound = tarfile.TarInfo(f"ann/{NAME}")
    sound.size = len(data)
    padding = b"\0" * (-len(data) % 512)
    path = tmp_path / "class.tar.gz"
    with gzip.open(path, "wb") as made:
        made.write(sound.tobuf() + data + padding + header.tobuf(tarfile.GNU_FORMAT) + b"\0" * (4 << 20))
    tracemalloc.start()
    found, problems = take_in(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert students(found) == ["ann"]
    assert "a header in it is far too long" in problems[0]
    assert peak < 24 << 20


def test_too_many_files(zipped, take_in, data):
    found, problems = take_in(
        zipped({f"s{i}/{NAME}": data for i in range(5)} | {"t/x.txt": b""}), limits=Limits(files=3)
    )
    assert students(found) == ["s0", "s1", "s2"]
    assert "all after it are left out, since 3 files are enough" in everything_said(found, problems)


def test_a_table_of_contents_that_would_fill_memory(zipped, take_in, data, monkeypatch):
    monkeypatch.setattr("utils.classroom.unpack.LARGEST_DIRECTORY", 100)
    found, problems = take_in(zipped({f"s{i}/{NAME}": data for i in range(5)}))
    assert students(found) == []
    assert "its table of contents is far too long" in problems[0]


def test_an_archive_in_an_archive_in_an_archive(hand_in, zipped, take_in, data):
    inner = zipped({NAME: data}, "1.zip").read_bytes()
    for n in (2, 3):
        inner = zipped({"deeper.zip": inner}, f"{n}.zip").read_bytes()
    hand_in("eve/work.zip", inner)
    found, problems = take_in(hand_in(f"ann/{NAME}"))
    assert students(found) == ["ann"]
    assert "is an archive in an archive in an archive, and not opened." in everything_said(found, problems)


def test_an_archive_that_holds_itself_many_times(zipped, take_in, data):
    inner = zipped({f"x{i}.bin": b"\0" * (4 << 20) for i in range(4)}, "inner.zip").read_bytes()
    path = zipped({f"eve/{i}.zip": inner for i in range(50)} | {f"ann/{NAME}": data, f"ben/{NAME}": data})
    found, _ = take_in(path, limits=Limits(archive_bytes=64 << 20))
    assert students(found) == ["ann", "ben"]


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.95])
@pytest.mark.parametrize("ending", [".zip", ".tar.gz", ".tar"])
def test_an_archive_that_breaks_off(cut, ending, zipped, tarred, take_in, data):
    entries = [(f"s{i}/{NAME}", data + b" " * i) for i in range(4)]
    path = zipped(entries) if ending == ".zip" else tarred(entries, f"class{ending}")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * cut)])
    found, problems = take_in(path)
    assert len(students(found)) < 4
    assert "what could be read of it is graded" in problems[0]


@pytest.mark.parametrize("content", [b"", b"PK", b"not an archive at all", b"\x1f\x8b" + b"\0" * 50])
@pytest.mark.parametrize("ending", [".zip", ".tar.gz", ".tar", ".tar.xz", ".tar.bz2"])
def test_what_is_no_archive(content, ending, hand_in, take_in):
    hand_in(f"eve{ending}", content)
    found, problems = take_in(hand_in(f"ann/{NAME}"))
    assert students(found) == ["ann"]
    assert f"eve{ending} is damaged" in everything_said(found, problems)


def test_an_encrypted_file_in_a_zip(zipped, take_in, data):
    path = zipped({f"eve/{NAME}": data, f"ann/{NAME}": data})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x03\x04") + 6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    found, problems = take_in(path)
    assert students(found) == ["ann"]
    assert f"eve/{NAME} is encrypted, and cannot be read." in problems


def test_one_broken_file_in_a_zip(zipped, take_in, data):
    path = zipped({f"eve/{NAME}": data, f"ann/{NAME}": data})
    content = bytearray(path.read_bytes())
    content[200:260] = b"\xff" * 60
    path.write_bytes(content)
    found, problems = take_in(path)
    assert students(found) == ["ann"]
    assert f"eve/{NAME} is damaged in its archive" in everything_said(found, problems)


def test_the_same_name_twice_in_a_zip(zipped, take_in, make_notebook):
    entries = [(f"ann/{NAME}", json.dumps(make_notebook({"05.1": f"return {n}"})).encode()) for n in (1, 2)]
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zipped(entries)
    found, _ = take_in(path)
    (counts,) = [r for r in found if r.counts]
    assert len(found) == 2
    assert any("return 2" in cell.source for cell in counts.notebook.cells)


def test_names_in_utf8_that_do_not_say_so(zipped, take_in, data):
    path = zipped({f"Zoxx/{NAME}": data})
    path.write_bytes(path.read_bytes().replace(b"Zoxx/", "Zo\u00eb/".encode()))
    assert students(take_in(path)[0]) == ["Zo\u00eb"]


def test_names_in_latin_1_stay_two(tarred, take_in, data, tmp_path):
    both = [os.fsdecode(name) for name in (b"J\xf6rg", b"J\xe4rg")]
    assert students(take_in(tarred([(f"{name}/{NAME}", data) for name in both]))[0]) == ["J\u00e4rg", "J\u00f6rg"]
    for name in both:
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / NAME).write_bytes(data)
    assert students(take_in(tmp_path / "class")[0]) == ["J\u00e4rg", "J\u00f6rg"]


def test_the_private_folder_is_gone_afterwards(tarred, data, tmp_path, monkeypatch):
    from utils.classroom.intake import Intake

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "private"))
    (tmp_path / "private").mkdir()
    with Intake(tarred([(f"ann/{NAME}", data)])) as intake:
        (folder,) = (tmp_path / "private").iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [p.name for p in folder.iterdir()] == ["1"]
        assert len(list(intake)) == 1
    assert list((tmp_path / "private").iterdir()) == []


@pytest.mark.parametrize(
    "name, sentence",
    [("none", "There is nothing at .*none: give the path of"), ("a.txt", ".*a.txt is not a folder, a zip or tar")],
)
def test_what_cannot_be_graded_at_all(name, sentence, tmp_path, take_in, one_sentence):
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(ClassProblem, match=sentence) as problem:
        take_in(tmp_path / name)
    one_sentence(problem.value)


def test_an_empty_folder(tmp_path, take_in):
    (tmp_path / "empty").mkdir()
    found, problems = take_in(tmp_path / "empty")
    assert found == []
    assert problems == [f"There is no file of a student in {tmp_path / 'empty'}."]
