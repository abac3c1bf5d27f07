"""What every test can rely on: nothing of the person's own is touched, and nothing asks the network."""

import os
import shutil
import socket
import tempfile

import pytest


def pytest_configure(config):
    """Before any import of the book: its folders are ours, and the workers do not fight over two cores.

    The cache lasts from run to run, as it does for a learner; what a learner would miss is new each time.
    """
    os.environ["BOOK_CACHE"] = str(config.rootpath / ".pytest_cache" / "book")
    os.environ["BOOK_DATA"] = config.stash[_data] = tempfile.mkdtemp(prefix="book-data-")
    os.environ.pop("BOOK_DEVICE", None)
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_unconfigure(config):
    shutil.rmtree(config.stash.get(_data, ""), ignore_errors=True)


_data = pytest.StashKey[str]()


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Whatever looks up a host or connects to another machine fails the test that did it."""
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def only_here(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in _HERE:
            pytest.fail(f"a test connected to {address[0]}")
        return connect(self, address)

    def only_here_by_name(host, *rest, **options):
        if host not in _HERE:
            pytest.fail(f"a test looked up the host {host}")
        return look_up(host, *rest, **options)

    monkeypatch.setattr(socket.socket, "connect", only_here)
    monkeypatch.setattr(socket, "getaddrinfo", only_here_by_name)


_HERE = (None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0")


@pytest.fixture
def own_folders(tmp_path, monkeypatch):
    """A cache and a data folder that only this test sees."""
    monkeypatch.setenv("BOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BOOK_DATA", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture(scope="session")
def pocket():
    """The shipped model."""
    from utils.reference import reference

    return reference("pocket", "cpu")


@pytest.fixture
def one_sentence():
    """Check that a message is one sentence that a person can read at a glance."""

    def check(error) -> str:
        message = str(error)
        assert "\n" not in message, message
        assert message.endswith("."), message
        assert len(message) < 420, message
        return message

    return check
