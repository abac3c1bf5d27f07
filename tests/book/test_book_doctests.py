"""The examples in the builder's docstrings are true."""

import doctest
from importlib import import_module

import pytest

MODULES = [f"utils.book.{name}" for name in ("nbval_rules", "strip", "glossary", "site.cells", "site.mathml")]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_hold(module):
    result = doctest.testmod(import_module(module))
    assert result.attempted > 0 and result.failed == 0
