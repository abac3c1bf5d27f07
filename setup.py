"""Puts the chapters into the package when it is built, so that `pip install` of this repository brings the book.

In a checkout they stand beside the package and not in it; an editable install leaves them there. Everything else about
the package is in pyproject.toml.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
SHIPPED = ("chapters/*.ipynb", "chapters/*.md", "requirements.lock", "LICENSE-CONTENT")  # → utils/shipped/


class BuildWithChapters(build_py):
    """setuptools' own step, and the book's files after it."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            shutil.rmtree(self._shipped(), ignore_errors=True)
            for source, target in self._files():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return super().get_outputs(include_bytecode) + [str(target) for _, target in self._files()]

    def _files(self) -> list[tuple[Path, Path]]:
        found = [path for pattern in SHIPPED for path in sorted(ROOT.glob(pattern))]
        return [(path, self._shipped() / path.relative_to(ROOT)) for path in found]

    def _shipped(self) -> Path:
        return Path(self.build_lib) / "utils" / "shipped"


setup(cmdclass={"build_py": BuildWithChapters})
