"""What chapter 02 needs beside its own text: lines that are hard to cut into tokens, and a box to type into."""

from utils.tokens.hard import hard_lines
from utils.tokens.typed import Typed, typed

__all__ = ["Typed", "hard_lines", "typed"]
