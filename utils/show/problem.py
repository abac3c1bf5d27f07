"""The one error of the figures."""

from utils.errors import BookError


class ShowProblem(BookError):
    """A figure was asked to show something it cannot. The message names the axes wanted."""
