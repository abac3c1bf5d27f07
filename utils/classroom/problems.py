"""What can be wrong with the grading of a class as a whole. What is wrong with one submission is a note on it."""

from utils.errors import BookError


class ClassProblem(BookError):
    """The class cannot be graded as asked; the message is one sentence that says what to do."""
