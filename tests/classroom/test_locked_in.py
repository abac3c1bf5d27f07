"""A submission's process is locked before it runs a line, draws the same numbers each time, and keeps to itself."""

import io
import socket
import time
from contextlib import redirect_stdout
from dataclasses import replace

import pytest
import torch

from utils.classroom import sandbox as sandboxes
from utils.classroom.inside import nursery
from utils.classroom.outside import Outside
from utils.classroom.problems import ClassProblem
from utils.classroom.remote import answer_of
from utils.classroom.sandbox import Limits, Sandbox, available
from utils.classroom.wire import Channel
from utils.grading import dice
from utils.grading.settings import standard
from utils.grading.watch import elsewhere

REFUSED = available()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(REFUSED is not None, reason=REFUSED or "")]


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Limits()) as made:
        yield made


@pytest.fixture
def answers(sandbox):
    """`answers(cell)` runs a cell in a new process and gives a function from its names to its answers."""
    ended = []

    def run(cell):
        number, sock = sandbox.spawn()
        ended.append((number, sock))
        outside = Outside(Channel(sock), 10.0, time.monotonic() + 60, None)
        assert outside.ask("run", {"cells": (("cell", cell, 10.0),)}, {"seconds": 10.0}) == [None]
        return lambda name: answer_of(outside, name)

    with standard(), elsewhere():
        yield run
    for number, sock in ended:
        sandbox.end(number, sock)


def test_a_process_that_cannot_be_locked_in_is_nobodys_fault(monkeypatch):
    monkeypatch.setattr(sandboxes, "WAITS", (0.0,))
    with Sandbox(replace(Limits(), tmp_megabytes=-1)) as broken:
        with pytest.raises(ClassProblem, match="cannot lock in a submission .*mount /tmp"):
            broken.spawn()
        assert broken.alive()


def test_a_process_that_cannot_be_made_ends_no_other(monkeypatch, capfd):
    def none_left(*_):
        raise OSError("no process is left")

    monkeypatch.setattr(nursery, "_child", none_left)
    (control, line), (asked, given) = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET), socket.socketpair()
    with control, line, asked:
        with given:
            socket.send_fds(control, [b"spawn 1"], [given.fileno()])
        lines, family = [line], nursery._Family()
        nursery._serve(line, lines, family, object, {})
        assert asked.recv(1) == b"" and lines == [line] and not family.processes
    assert "no process is left" in capfd.readouterr().err


DRAWS = """
import random
import numpy
def draws():
    return random.random(), float(numpy.random.rand())
"""


def test_each_process_draws_the_same_numbers(answers):
    with Sandbox(Limits()) as another:
        number, sock = another.spawn()
        outside = Outside(Channel(sock), 10.0, time.monotonic() + 60, None)
        outside.ask("run", {"cells": (("cell", DRAWS, 10.0),)}, {"seconds": 10.0})
        there = answer_of(outside, "draws")()
        another.end(number, sock)
    assert answers(DRAWS)("draws")() == answers(DRAWS)("draws")() == there


def test_other_dice_are_thrown_inside_too(answers):
    draw = answers("import random\ndef draw():\n    return random.random()")("draw")
    first = draw()
    with dice.thrown(7):
        other = draw()
    assert draw() == first != other


def test_a_call_within_a_call_puts_back_what_it_found(answers):
    cell = """
import torch
def inner(x):
    return x * 2
def outer(f, x):
    print("one")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        f(x)
        on = torch.is_autocast_enabled("cpu")
    print("two")
    return on
"""
    named, printed = answers(cell), io.StringIO()
    inner = named("inner")
    with redirect_stdout(printed):
        assert named("outer")(lambda x: inner(x), torch.ones(2)) is True
    assert printed.getvalue() == "one\ntwo\n"


def test_terminals_are_out_of_reach(answers):
    cell = """
def kinds():
    found = []
    for name in ("ptmx", "pts/ptmx", "tty", "null", "urandom"):
        try:
            open(f"/dev/{name}", "r+b", buffering=0).close()
            found.append(name)
        except OSError:
            pass
    return found
"""
    assert answers(cell)("kinds")() == ["null", "urandom"]


def test_one_place_for_many_numbers_arrives_as_many(answers):
    same = answers("def same(x):\n    return x + 0")("same")
    assert same(torch.ones(1, 4).expand(3, 4)).shape == (3, 4)


@pytest.mark.parametrize("line", ["del sys.stdin", "del sys.displayhook", "random.getstate = None"])
def test_a_cell_may_take_away_what_is_global(answers, line):
    assert answers(f"import random, sys\n{line}\ndef f():\n    return 3")("f")() == 3
