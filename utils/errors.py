"""The one family of errors that the book raises on purpose.

Whatever goes wrong for a reason that a person can mend is a `BookError`, and its message is one sentence that says
what to do. Each layer has its own subclass, kept beside the code that raises it; nothing here knows about them. The
command line prints the message alone, without a traceback; anything else that escapes is a fault of the book's.
"""


class BookError(Exception):
    """Something a person can mend. The message says what was found and what to do, in one sentence."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in a notebook in place of a traceback: the sentence alone."""
        return [str(self)]
