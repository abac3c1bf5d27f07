"""The examples in the builder's docstrings are true."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("module", ["utils.book.nbval_rules", "utils.book.strip"])
def test_the_examples_hold(module):
    result = doctest.testmod(import_module(module))
    assert result.attempted > 0 and result.failed == 0
