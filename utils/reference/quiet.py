"""Load a model without a word on the page and without a look at the network.

Both libraries that load models print progress bars, log advice and ask a hub for files by habit. While a model is
loaded here, exactly those are switched off, and switched back afterwards: a learner's own loggers, warnings and
downloads are left as they were.
"""

import contextlib
import logging
import os
from collections.abc import Iterator

_LOGGERS = ("transformers", "transformer_lens", "huggingface_hub", "accelerate")
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@contextlib.contextmanager
def quiet_and_offline() -> Iterator[None]:
    """No progress bars, no log lines under ERROR from the loading libraries, no request to a hub."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_environment(dict.fromkeys(_OFFLINE, "1")))
        import huggingface_hub.constants
        import transformers.utils.logging as hf_logging

        stack.enter_context(_attribute(huggingface_hub.constants, "HF_HUB_OFFLINE", True))
        for name in _LOGGERS:
            logger = logging.getLogger(name)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.ERROR)
        if hf_logging.is_progress_bar_enabled():
            hf_logging.disable_progress_bar()
            stack.callback(hf_logging.enable_progress_bar)
        yield


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _attribute(owner: object, name: str, value: object) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
