"""What can be wrong with a reference model, apart from the modules that find it so that each can import it."""

from utils.errors import BookError


class ReferenceProblem(BookError):
    """A reference model or its tokenizer is missing, broken or unknown; the message says what to do."""
