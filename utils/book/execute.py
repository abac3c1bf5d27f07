"""Runs a notebook from top to bottom in a fresh kernel whose surroundings are the same on every machine.

The kernel is this environment's own Python, on the CPU, with a fixed number of threads and a fixed hash seed, without
the network for models, and with empty folders for what a person has stored (progress, chosen model, IPython profile):
building a book neither sees nor changes them.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from nbformat import NotebookNode

from utils.book.problems import BuildProblem

THREADS = "2"
CHECKOUT = Path(__file__).resolve().parents[2]  # the kernel imports the `utils` that builds it, installed or not
SURROUNDINGS = {
    "BOOK_DEVICE": "cpu",
    "OMP_NUM_THREADS": THREADS,
    "MKL_NUM_THREADS": THREADS,
    "OPENBLAS_NUM_THREADS": THREADS,
    "OMP_WAIT_POLICY": "PASSIVE",  # a thread that spins while it waits takes a busy machine's core from the other
    "OMP_DYNAMIC": "FALSE",
    "MKL_DYNAMIC": "FALSE",
    "PYTHONHASHSEED": "0",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "COLUMNS": "120",
    "LINES": "40",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "PYTHONIOENCODING": "utf-8",
}


class RunProblem(BuildProblem):
    """A cell did not run to its end; `key` is the cell's."""

    def __init__(self, sentence: str, key: str = "") -> None:
        super().__init__(sentence)
        self.key = key


@contextlib.contextmanager
def surroundings() -> Iterator[tuple[dict[str, str], Path]]:
    """The environment of a kernel, and a folder for what it stores for a person; the folder is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="book-", ignore_cleanup_errors=True) as folder:
        own = {"BOOK_DATA": f"{folder}/data", "IPYTHONDIR": f"{folder}/ipython"}
        own["PYTHONPATH"] = os.pathsep.join([str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])])
        yield {**os.environ, **SURROUNDINGS, **own}, Path(folder)


def execute(
    notebook: NotebookNode, folder: Path, timeout: float, on_cell: Callable[[int, int], None] | None = None
) -> None:
    """Execute in place, in `folder`, `timeout` seconds a cell; `on_cell(done, total)` after each code cell.

    Raises:
        RunProblem: a cell raised, took too long or ended the kernel; the sentence names the cell.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    from utils.book.kernel import OwnKernelManager

    total = sum(cell.cell_type == "code" for cell in notebook.cells)
    at = {"cell": None, "done": 0}

    def starting(cell: NotebookNode, cell_index: int) -> None:
        at["cell"] = cell

    def finished(cell: NotebookNode, cell_index: int, **_) -> None:
        if cell.cell_type == "code":
            at["done"] += 1
            if on_cell:
                on_cell(at["done"], total)

    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        kernel_manager_class=OwnKernelManager,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
        on_cell_start=starting,
        on_cell_executed=finished,
    )
    with surroundings() as (environment, scratch), open(scratch / "kernel.log", "w+b") as log:
        try:
            _run(client, env=environment, stdout=log, stderr=log)
        except CellExecutionError as raised:
            value = "".join(f": {line}" for line in raised.evalue.strip().splitlines()[:1])
            raise _stopped(at["cell"], f"raised {raised.ename}{value}") from None
        except CellTimeoutError:
            raise _stopped(at["cell"], f"did not end within {timeout:g} seconds") from None
        except DeadKernelError:
            raise _stopped(at["cell"], "ended the kernel") from None
        except (RuntimeError, OSError) as reason:
            log.seek(0)
            last = (log.read().decode(errors="replace").strip().splitlines() or [str(reason)])[-1]
            raise RunProblem(f"The kernel did not start ({last}): run `make env` and try again.") from reason


def _run(client, **kernel_options) -> None:
    """Execute; an interrupt from the keyboard, which nbclient takes for itself to end the kernel, stays one."""
    try:
        client.execute(**kernel_options)
    except Exception:
        if hasattr(client, "_async_cleanup_kernel_future"):
            raise KeyboardInterrupt from None
        raise


def _stopped(cell: NotebookNode | None, what: str) -> RunProblem:
    key = cell.metadata.get("book", {}).get("key", cell.get("id", "")) if cell else ""
    return RunProblem(f'the cell "{key}" {what}.', key)
