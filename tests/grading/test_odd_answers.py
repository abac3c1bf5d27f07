"""Whatever an answer is or does: one clear sentence, no traceback of ours, and the next right answer still passes."""

import os
import random
import re
import signal
import sys
from pathlib import Path

import pytest
import torch

from utils.grading import check
from utils.grading.settings import TORCH

sys.path.insert(0, str(Path(__file__).parent))
import odd_callables  # noqa: E402, F401
import odd_errors  # noqa: E402, F401
import odd_inputs  # noqa: E402, F401
import odd_leftovers  # noqa: E402, F401
import odd_results  # noqa: E402, F401
from odd_table import MANY  # noqa: E402

sys.path.pop(0)


def previous_token_score(pattern):
    return pattern.diagonal(-1, dim1=-2, dim2=-1).mean((0, -1))


def two_back(pattern):
    return pattern.diagonal(-2, dim1=-2, dim2=-1).mean((0, -1))


def world() -> dict:
    """What must be the same afterwards."""
    return {
        "settings": [get() for get, _ in TORCH],
        "kernels": (
            torch.backends.mkldnn.enabled,
            torch.backends.cudnn.enabled,
            torch.backends.cuda.math_sdp_enabled(),
        ),
        "modes": torch.overrides._get_current_function_mode_stack(),
        "inference": torch.is_inference_mode_enabled(),
        "random numbers": (torch.get_rng_state().tolist(), random.getstate()),
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "paths": (sys.path[:], sys.meta_path[:]),
        "modules": set(sys.modules) >= {"torch", "numpy", "utils.grading.run", "einops"},
        "recursion": sys.getrecursionlimit(),
        "timer": signal.getitimer(signal.ITIMER_REAL),
        "alarm": signal.getsignal(signal.SIGALRM),
        "hooks of every module": torch.nn.modules.module._has_any_global_hook(),
    }


def test_there_are_enough_of_them():
    assert len(MANY) >= 200


@pytest.mark.parametrize("name", MANY)
def test_an_odd_answer(name, pocket):
    odd = MANY[name]
    before = world()
    verdict = check("05.2", odd.answer, pocket, timeout=odd.timeout)
    assert verdict.passed == odd.passes, verdict.message
    assert re.fullmatch(r"[^\n]{8,600}[.?!]", verdict.message), verdict.message
    assert odd.says in verdict.message
    shown = f"{verdict}{verdict._repr_html_()}"
    assert "utils/grading" not in shown and "Traceback" not in shown
    assert world() == before
    assert check("05.9", previous_token_score, pocket).passed, "the next right answer does not pass"
    assert check("05.9", two_back, pocket).diagnosis == "two_back", "the next wrong answer is not named"
