"""An answer that never ends is the reader's to interrupt, and grading works again afterwards."""

import signal

import pytest
from jupyter_client.manager import start_new_kernel

from utils.exercises import exercise
from utils.grading import check
from utils.grading.held import originals

ENDLESS = """
import sys
from utils import grade

notebook = sys.stdout

def attention_scores(q, k):
    print("the answer runs", file=notebook, flush=True)
    while True:
        pass

grade(attention_scores)
"""
RIGHT = """
def attention_scores(q, k):
    return q.transpose(1, 2) @ k.permute(0, 2, 3, 1) / q.shape[-1] ** 0.5

grade(attention_scores)
"""


class Kernel:
    """A real kernel, talked to as JupyterLab does."""

    def __init__(self, manager, client):
        self.manager, self.client = manager, client

    def run(self, code: str, when_said: str = "", do=None) -> list[dict]:
        """Everything that the cell sends until it is done; `do` is called when it prints `when_said`."""
        cell, said = self.client.execute(code), []
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            if message["parent_header"].get("msg_id") != cell:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return said
            said.append({"type": message["msg_type"], **message["content"]})
            if do is not None and when_said in message["content"].get("text", ""):
                do()
                do = None


@pytest.fixture
def kernel(own_folders):
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def report_of(said: list[dict]) -> str:
    assert [s for s in said if s["type"] == "error"] == [], "a traceback is shown"
    return next(s["data"]["text/plain"] for s in said if s["type"] == "execute_result")


@pytest.mark.slow
def test_the_stop_button_ends_an_endless_answer(kernel):
    said = kernel.run(ENDLESS, "the answer runs", kernel.manager.interrupt_kernel)
    assert "You interrupted the answer" in report_of(said)
    assert "Passed" in report_of(kernel.run(RIGHT))
    said = kernel.run(ENDLESS, "the answer runs", kernel.manager.interrupt_kernel)
    assert "You interrupted the answer" in report_of(said)


@pytest.fixture(autouse=True)
def handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)
    yield
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


right = exercise("05.9").solution


def interrupted(pattern):
    signal.raise_signal(signal.SIGINT)


def catches_the_interrupt(pattern):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        pass
    return right(pattern)


@pytest.mark.parametrize("answer", [interrupted, catches_the_interrupt])
def test_an_interrupt_ends_the_grading_whatever_the_answer_does_with_it(answer, pocket):
    assert check("05.9", answer, pocket).message.startswith("You interrupted")
    assert check("05.9", right, pocket).passed


def test_an_interrupt_in_the_graders_own_work_ends_it_with_a_sentence(pocket, monkeypatch):
    monkeypatch.setattr(exercise("05.9"), "solution", interrupted)
    verdict = check("05.9", lambda pattern: pattern[0, :, 0, 0], pocket)
    assert verdict.message.startswith("You interrupted") and not verdict.passed


def test_an_interrupt_while_settings_are_put_back_waits_for_the_next_call():
    with originals() as patches:
        patches.on_signal(signal.SIGINT, type("Frame", (), {"f_code": originals.__wrapped__.__code__}))
        with pytest.raises(KeyboardInterrupt):
            patches.call(right, None)


def test_the_time_limit_holds_where_interrupts_are_ignored():
    """As in a process that a shell started in the background, which an unhandled alarm would end."""

    def endless(q, k):
        while True:
            pass

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        verdict = check("05.2", endless, timeout=0.2)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert verdict.stage == "runs" and "time was up" in verdict.message
