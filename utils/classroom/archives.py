"""The files in a folder or an archive, one after another, without believing anything that they say of themselves.

No name from an archive is ever used as a path: what has to be put on disk lies in a private temporary folder under a
number. Zip files are read in place, tar files once from front to back. Links and devices are not followed, and a file
that turns out longer than allowed is given up, whatever its header said. All that is left out is told.
"""

import io
import os
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from utils.classroom.problems import ClassProblem
from utils.classroom.unpack import (
    DAMAGE,
    PIECE,
    Forward,
    archive_kind,
    decompressed,
    file_name,
    is_archive,
    open_zip,
    short,
    size,
    unimportant,
    utc,
    zip_name,
    zip_time,
)
from utils.grading.text import one_line


@dataclass(frozen=True)
class Limits:
    """What is read at most. Bytes are counted as they come out, not as an archive announces them."""

    notebook_bytes: int = 32 << 20
    nested_bytes: int = 256 << 20  # an archive inside another
    archive_bytes: int = 16 << 30  # all that comes out of the archive that was given
    files: int = 500_000
    nesting: int = 2  # archives in archives
    depth: int = 30  # folders in folders


@dataclass(frozen=True)
class File:
    """One file: its path as a person would write it, and `read`, which gives its bytes or raises Unreadable."""

    path: str
    modified: str | None
    read: Callable[[], bytes]

    @property
    def parts(self) -> tuple[str, ...]:
        return PurePosixPath(self.path).parts

    @property
    def name(self) -> str:
        return self.parts[-1]


class Unreadable(Exception):
    """A file that cannot be read; the message is a sentence that begins with its path."""


class Collection(AbstractContextManager):
    """All files below one path. `problems` holds (path, sentence) for each thing that was left out."""

    def __init__(self, path: Path, limits: Limits | None = None):
        self.path, self.limits = path, limits or Limits()
        self.problems: list[tuple[str, str]] = []
        self.is_archive = path.is_file() and is_archive(path.name)
        self._left, self._count, self._spooled = self.limits.archive_bytes, 0, 0
        self._open: zipfile.ZipFile | None = None
        self._private: tempfile.TemporaryDirectory | None = None

    def __exit__(self, *_) -> None:
        if self._open:
            self._open.close()
        if self._private:
            self._private.cleanup()

    def files(self) -> list[File]:
        """Every regular file, in the order of their paths.

        Raises:
            ClassProblem: there is nothing at the path, or it is neither a folder, an archive nor a notebook.
        """
        if self.path.is_dir():
            found = list(self._in_folder(self.path, ""))
        elif self.is_archive:
            found = list(self._in_archive(self.path, self.path.name, "", 1))
        elif self.path.is_file() and self.path.suffix == ".ipynb":
            found = [self._on_disk(self.path, self.path.name)]
        else:
            there = self.path.exists()
            kinds = "a folder, a zip or tar archive, or one notebook"
            raise ClassProblem(
                f"{self.path} is not {kinds}: give one of these."
                if there
                else f"There is nothing at {self.path}: give the path of {kinds}."
            )
        return sorted(found, key=lambda file: file.path)

    def _in_folder(self, folder: Path, prefix: str, depth: int = 0) -> Iterator[File]:
        if depth > self.limits.depth:
            self._left_out(prefix, "lies too deep, and is not opened")
            return
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as reason:
            self._left_out(prefix or str(folder), f"cannot be opened ({reason.strerror})")
            return
        for entry in entries:
            path = prefix + one_line(file_name(entry.name))
            if unimportant(entry.name):
                continue
            if entry.is_symlink():
                self._left_out(path, "is a link, and links are not followed")
            elif entry.is_dir():
                yield from self._in_folder(Path(entry.path), f"{path}/", depth + 1)
            elif not entry.is_file():
                self._left_out(path, "is not a regular file")
            elif is_archive(entry.name):
                yield from self._in_archive(Path(entry.path), path, f"{path}/", 1)
            elif self._counted(path):
                yield self._on_disk(Path(entry.path), path)

    def _on_disk(self, at: Path, path: str, given_time: str | None = None) -> File:
        def read() -> bytes:
            try:
                # A link or a pipe that was put here since then is not opened.
                handle = os.open(at, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                with open(handle, "rb") as file:
                    return self._whole(path, file, self.limits.notebook_bytes)
            except OSError as reason:
                raise Unreadable(f"{path} cannot be read ({reason.strerror}).") from reason

        return File(path, given_time or utc(at.stat().st_mtime), read)

    def _in_archive(self, archive: Path, path: str, prefix: str, depth: int) -> Iterator[File]:
        if depth > self.limits.nesting:
            self._left_out(path, "is an archive in an archive in an archive, and not opened")
            return
        try:
            yield from (self._in_zip if archive_kind(path) == ".zip" else self._in_tar)(archive, path, prefix, depth)
        except MemoryError:
            self._left_out(path, "needs too much memory to be opened")
        except DAMAGE as reason:
            self._left_out(path, f"is damaged ({short(reason)}), and what could be read of it is graded")

    def _in_zip(self, archive: Path, path: str, prefix: str, depth: int) -> Iterator[File]:
        with open_zip(archive) as opened:
            listed = opened.infolist()
        if archive == self.path:
            self._open = open_zip(archive)  # for all reads; of many small ones, each is opened when it is read
        for info in listed:
            inner = self._inner(prefix, zip_name(info), path)
            kind = stat.S_IFMT(info.external_attr >> 16)
            if inner is None or info.is_dir():
                continue
            if kind not in (0, stat.S_IFREG):
                self._left_out(inner, "is a link or a device, and not opened")
            elif info.flag_bits & 1:
                self._left_out(inner, "is encrypted, and cannot be read")
            elif is_archive(inner):
                spooled = self._spooled_from_zip(archive, info, inner)
                if spooled:
                    yield from self._in_archive(spooled, inner, f"{inner}/", depth + 1)
            elif self._counted(inner):
                yield File(inner, zip_time(info), self._from_zip(archive, info, inner))

    def _spooled_from_zip(self, archive: Path, info: zipfile.ZipInfo, path: str) -> Path | None:
        try:
            with self._zip(archive) as opened:
                return self._spool(path, lambda: opened.open(info))
        except DAMAGE as reason:
            self._left_out(path, f"is damaged in its archive ({short(reason)})")
            return None

    @contextmanager
    def _zip(self, archive: Path) -> Iterator[zipfile.ZipFile]:
        if archive == self.path and self._open:
            yield self._open
        else:
            with open_zip(archive) as opened:
                yield opened

    def _from_zip(self, archive: Path, info: zipfile.ZipInfo, path: str) -> Callable[[], bytes]:
        def read() -> bytes:
            try:
                with self._zip(archive) as opened, opened.open(info) as file:
                    return self._whole(path, file, self.limits.notebook_bytes)
            except DAMAGE as reason:
                raise Unreadable(f"{path} is damaged in its archive ({short(reason)}).") from reason

        return read

    def _in_tar(self, archive: Path, path: str, prefix: str, depth: int) -> Iterator[File]:
        with decompressed(archive, path) as raw:
            with tarfile.open(fileobj=Forward(raw, self._spend), mode="r:") as opened:
                while (member := opened.next()) is not None:
                    opened.members = []  # tarfile would keep every header
                    inner = self._inner(prefix, member.name, path)
                    if inner is None or member.isdir():
                        continue
                    if not member.isreg():
                        self._left_out(inner, "is a link or a device, and not opened")
                    elif is_archive(inner):
                        spooled = self._spool(inner, lambda member=member: opened.extractfile(member))
                        if spooled:
                            yield from self._in_archive(spooled, inner, f"{inner}/", depth + 1)
                    elif self._counted(inner):
                        yield self._kept(opened, member, inner)

    def _kept(self, opened: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> File:
        """A tar's file, put aside as it passes if it may be of use; any other is known by name alone."""
        modified = utc(member.mtime)
        if not path.endswith((".ipynb", ".txt")):
            return File(path, modified, lambda: b"")
        if member.size > self.limits.notebook_bytes:
            return File(path, modified, _raiser(_too_long(path, self.limits.notebook_bytes)))
        spooled = self._spool(path, lambda: opened.extractfile(member))
        return self._on_disk(spooled, path, modified)

    def _spool(self, path: str, opener: Callable[[], io.BufferedIOBase]) -> Path | None:
        """Copy a file out of an archive into the private folder, under a number."""
        if self._private is None:
            self._private = tempfile.TemporaryDirectory(prefix="book-grade-")  # only its owner may enter
        self._spooled += 1
        target = Path(self._private.name) / str(self._spooled)
        left = self.limits.nested_bytes
        with opener() as source, open(target, "xb") as copy:
            while piece := source.read(PIECE):
                left -= len(piece)
                self._spend(len(piece))
                if left < 0:
                    self._left_out(path, _too_long("", self.limits.nested_bytes).strip().rstrip("."))
                    return None
                copy.write(piece)
        return target

    def _whole(self, path: str, file: io.BufferedIOBase, most: int) -> bytes:
        pieces, length = [], 0
        while piece := file.read(PIECE):
            length += len(piece)
            if length > most:
                raise Unreadable(_too_long(path, most))
            pieces.append(piece)
        return b"".join(pieces)

    def _inner(self, prefix: str, name: str, archive: str) -> str | None:
        """The path of an archive's entry; None, and told, where its name would lead elsewhere."""
        name = file_name(name).replace("\\", "/")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        shown = prefix + "/".join(map(one_line, parts))
        if name.startswith("/") or ".." in parts or (parts and parts[0][1:2] == ":") or "\0" in name:
            self._left_out(f"{archive}: {name[:200]!r}", "has a name that leads out of the archive, and is not opened")
            return None
        return None if not parts or any(unimportant(part) for part in parts) else shown

    def _counted(self, path: str) -> bool:
        self._count += 1
        if self._count == self.limits.files + 1:
            self._left_out(path, f"and all after it are left out, since {self.limits.files:,} files are enough")
        return self._count <= self.limits.files

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ValueError(f"over {size(self.limits.archive_bytes)} come out of it")

    def _left_out(self, path: str, why: str) -> None:
        self.problems.append((path, f"{path} {why}."))


def _raiser(sentence: str) -> Callable[[], bytes]:
    def read() -> bytes:
        raise Unreadable(sentence)

    return read


def _too_long(path: str, most: int) -> str:
    return f"{path} is longer than {size(most)}, and not read."
