"""What reading a hostile archive needs: a stream that only goes on, a first look at a zip, names and times.

The standard library reads archives well and trusts their headers. What is here bounds the memory that a header can
ask for, before the library believes it.
"""

import bz2
import gzip
import io
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
# What the standard library raises on an archive that is not sound.
DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError,
    NotImplementedError, RuntimeError, OverflowError, LookupError,
)  # fmt: skip
SKIPPED = {"__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}
PIECE = 1 << 16
LARGEST_DIRECTORY = 32 << 20  # bytes of a zip's table of contents, for half a million files


class Forward(io.RawIOBase):
    """A stream for tarfile that only goes on, remembers a little for its step back by one, and pays for each byte.

    No header may ask for more than a piece at once: tarfile would hold all of it in memory.
    """

    BACK = 1024

    def __init__(self, raw, spend: Callable[[int], None]):
        self._raw, self._spend, self._at, self._tail, self._again = raw, spend, 0, b"", b""

    def tell(self) -> int:
        return self._at

    def seek(self, to: int, whence: int = 0) -> int:
        back = self._at - to
        if back > 0:
            if back > len(self._tail):
                raise ValueError("it would have to be read twice")
            self._again = self._tail[-back:] + self._again
            self._tail = self._tail[:-back]
            self._at = to
        while self._at < to:
            if not self.read(min(PIECE, to - self._at)):
                break
        return self._at

    def read(self, count: int = -1) -> bytes:
        if not 0 <= count <= 16 * PIECE:
            raise ValueError("a header in it is far too long")
        data, self._again = self._again[:count], self._again[count:]
        if len(data) < count:
            new = self._raw.read(count - len(data))
            self._spend(len(new))
            data += new
        self._at += len(data)
        self._tail = (self._tail + data)[-self.BACK :]
        return data


def decompressed(path: Path, name: str):
    """The tar stream in a file, by the ending of its name."""
    ending = name.lower()
    opener = (
        gzip.open if ending.endswith("gz") else bz2.open if ending.endswith("bz2")
        else lzma.open if ending.endswith("xz") else open
    )  # fmt: skip
    return opener(path, "rb")


def open_zip(path: Path) -> zipfile.ZipFile:
    """A zip whose table of contents is of a size that can be held in memory.

    Raises:
        ValueError: it is not.
    """
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - (1 << 16) - 22))
        end = file.read()
    at = end.rfind(b"PK\x05\x06")
    size = struct.unpack("<I", end[at + 12 : at + 16])[0] if at >= 0 else 0
    record = end.rfind(b"PK\x06\x06", 0, max(at, 0))
    if size == 0xFFFFFFFF and record >= 0:
        size = struct.unpack("<Q", end[record + 40 : record + 48])[0]
    if size > LARGEST_DIRECTORY:
        raise ValueError("its table of contents is far too long")
    return zipfile.ZipFile(path)


def is_archive(name: str) -> bool:
    """By its name: a notebook is never one."""
    return archive_kind(name) is not None


def archive_kind(name: str) -> str | None:
    """ ".zip", or the ending of a tar file; None for all else."""
    return next((ending for ending in ENDINGS if name.lower().endswith(ending)), None)


def unimportant(name: str) -> bool:
    """Whether a file or folder is a program's own, as `.ipynb_checkpoints` is."""
    return name in SKIPPED or name.startswith(".")


def file_name(name: str) -> str:
    """A name whose bytes are not UTF-8 is read as Latin-1, so that two such names stay two."""
    try:
        data = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # halves of characters that no bytes stand behind
        return name
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def zip_name(info: zipfile.ZipInfo) -> str:
    """Many programs write UTF-8 without saying so; zipfile then reads it as cp437."""
    if info.flag_bits & 0x800:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def zip_time(info: zipfile.ZipInfo) -> str | None:
    try:
        return datetime(*info.date_time, tzinfo=UTC).isoformat()
    except ValueError:
        return None


def utc(seconds: float) -> str | None:
    try:
        return datetime.fromtimestamp(int(seconds), UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def size(count: int) -> str:
    return f"{count >> 30} GiB" if count >= 1 << 30 else f"{count >> 20} MiB" if count >= 1 << 20 else f"{count} bytes"


def short(reason: BaseException) -> str:
    text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return " ".join(text.split())[:120].rstrip(".")
