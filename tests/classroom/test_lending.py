"""One container for several workers: each has processes of its own there, and whatever ends, the others go on."""

import time

import pytest

from utils.classroom.bench import processes_below
from utils.classroom.lending import Lending
from utils.classroom.outside import Outside
from utils.classroom.problems import ClassProblem
from utils.classroom.sandbox import LENDER, Limits, Sandbox, available
from utils.classroom.wire import Channel

REFUSED = available()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(REFUSED is not None, reason=REFUSED or "")]
OPEN_FILES = """
import os
def is_open(n):
    try:
        os.fstat(n)
    except OSError:
        return False
    return True
found = [n for n in range(3, 1024) if is_open(n)]
"""


@pytest.fixture(scope="module")
def lent():
    with Lending(Sandbox(Limits())) as lending:
        yield lending


@pytest.fixture
def borrowed(lent, monkeypatch):
    """Two workers' sandboxes."""
    monkeypatch.setenv(LENDER, lent.address)
    with Sandbox(Limits()) as one, Sandbox(Limits()) as other:
        assert one.process is None and other.process is None, "they have a container of their own"
        yield one, other


def talk(sandbox):
    """A submission's process of this sandbox: its number, its socket and the outer end of the wall."""
    number, sock = sandbox.spawn()
    return number, sock, Outside(Channel(sock), 10.0, time.monotonic() + 60, None)


def value_of(outside, cell, name):
    assert outside.ask("run", {"cells": (("cell", cell, 10.0),)}, {"seconds": 10.0}) == [None]
    return outside.ask("look", {}, {"name": name})["is"]


def test_two_workers_processes_are_told_apart(borrowed):
    one, other = borrowed
    number, sock, mine = talk(one)
    same_number, theirs_sock, theirs = talk(other)
    assert number == same_number
    assert value_of(mine, "x = 1", "x") == 1 and value_of(theirs, "x = 2", "x") == 2
    one.end(number, sock)
    one.settle()
    assert value_of(theirs, "y = x + 1", "y") == 3
    other.end(same_number, theirs_sock)


def test_a_submission_holds_its_own_socket_and_nothing_else(borrowed):
    others = [talk(sandbox) for sandbox in borrowed]
    number, sock, outside = talk(borrowed[0])
    assert len(value_of(outside, OPEN_FILES, "found")) == 1
    borrowed[0].end(number, sock)
    for sandbox, (number, sock, _) in zip(borrowed, others, strict=True):
        sandbox.end(number, sock)


def test_what_one_submission_uses_up_is_not_taken_from_the_other(borrowed):
    one, other = borrowed
    number, sock, mine = talk(one)
    same_number, theirs_sock, theirs = talk(other)
    bomb = "import threading\nwhile True:\n    threading.Thread(target=threading.Event().wait, daemon=True).start()"
    assert mine.ask("run", {"cells": (("cell", bomb, 5.0),)}, {"seconds": 5.0})[0].startswith("RuntimeError")
    starts = "import threading\none = threading.Thread(target=list)\none.start()\none.join()\nfound = one.is_alive()"
    assert value_of(theirs, starts, "found") is False
    one.end(number, sock)
    other.end(same_number, theirs_sock)


def test_the_end_of_a_worker_ends_its_processes_and_no_others(borrowed, lent):
    one, other = borrowed
    number, sock, theirs = talk(other)
    assert value_of(theirs, "x = 1", "x") == 1
    before = processes_below(lent.sandbox.process.pid)
    assert value_of(talk(one)[2], "x = 1", "x") == 1
    one.control.close()
    one.control = None
    other.settle()
    assert processes_below(lent.sandbox.process.pid) == before
    assert value_of(theirs, "y = x + 1", "y") == 2
    other.end(number, sock)


def test_a_container_that_died_is_made_again(borrowed, lent):
    talk(borrowed[0])
    lent.sandbox.process.kill()
    for sandbox in borrowed:
        assert sandbox.control.recv(1) == b"", "its end is seen when all of it has ended"
        assert not sandbox.alive()
        number, sock, outside = talk(sandbox)
        assert value_of(outside, "x = 1", "x") == 1
        sandbox.end(number, sock)
        assert sandbox.process is None, "the lender made it again, for all"


def test_a_lender_that_has_no_container_ends_without_a_word():
    class Without(Sandbox):
        def start(self):
            raise ClassProblem("no container")

    with Lending(Without(Limits())) as lending:
        lending._thread.join()


def test_a_worker_whose_lender_is_gone_makes_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv(LENDER, str(tmp_path / "nobody"))
    with Sandbox(Limits()) as sandbox:
        assert sandbox.process is not None
        number, sock, outside = talk(sandbox)
        assert value_of(outside, "x = 1", "x") == 1
        sandbox.end(number, sock)
