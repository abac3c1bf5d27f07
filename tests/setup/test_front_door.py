"""What stands at the top of the repository names only what is there, and one environment: the lock's, on one Python.

There is no container engine in the tests, so what can be held is that the files agree with each other.
"""

import json
import re
import shlex

import pytest
import yaml

import utils
from utils.cli import COMMANDS
from utils.paths import book_root

ROOT = book_root()


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def dockerfile():
    """The instructions of the Dockerfile, continued lines joined: [("RUN", "pip …"), …]."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text("Dockerfile"), flags=re.MULTILINE))
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def devcontainer():
    return json.loads(text(".devcontainer/devcontainer.json"))


def test_the_image_copies_only_what_is_there(dockerfile):
    copied = [word for name, rest in dockerfile if name == "COPY" for word in rest.split()[:-1]]
    assert copied and all((ROOT / name).exists() for name in copied)
    ignored = text(".dockerignore").split()
    assert not set(copied) & set(ignored)
    assert not {"chapters", "utils", "setup.py", "pyproject.toml", "requirements.lock"} & set(ignored)


def test_the_image_installs_the_locks_and_then_the_book_alone(dockerfile):
    installs = [
        part for name, rest in dockerfile if name == "RUN" for part in rest.split("&&") if "pip install" in part
    ]
    words = [set(shlex.split(part)) for part in installs]
    assert [sorted(one & {"requirements.lock", "requirements-modern.lock", "."}) for one in words] == [
        ["requirements.lock"],
        ["requirements-modern.lock"],
        ["."],
    ]
    assert all("--no-deps" in one for one in words[1:])


def test_the_image_runs_only_commands_of_the_book(dockerfile):
    said = " ".join(rest for name, rest in dockerfile if name in ("RUN", "CMD"))
    called = set(re.findall(r"\bbook ([a-z]+)", said))
    assert called == {"start", "lab"} and called <= set(COMMANDS)


def test_one_python_everywhere(dockerfile, devcontainer):
    (image,) = [rest for name, rest in dockerfile if name == "FROM"]
    conda = next(str(entry) for entry in yaml.safe_load(text("environment.yml"))["dependencies"])
    versions = [re.search(pattern, given)[1] for pattern, given in (
        (r"^python:(\d+\.\d+)-", image),
        (r"/python:(\d+\.\d+)-", devcontainer["image"]),
        (r"python=(\d+\.\d+)$", conda),
        (r'requires-python = ">=(\d+\.\d+)"', text("pyproject.toml")),
    )]  # fmt: skip
    assert versions == ["3.11"] * 4


def test_the_devcontainer_is_made_by_make(devcontainer):
    command, target = devcontainer["postCreateCommand"].split()
    assert command == "make" and re.search(rf"^{target}:", text("Makefile"), re.MULTILINE)
    interpreter = devcontainer["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert interpreter == "${containerWorkspaceFolder}/.venv/bin/python"


def test_pre_commit_fetches_nothing_and_runs_what_the_environment_has():
    settings = yaml.safe_load(text(".pre-commit-config.yaml"))
    assert [repository["repo"] for repository in settings["repos"]] == ["local"]
    hooks = settings["repos"][0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    assert [hook["entry"].split()[:2] for hook in hooks] == [["ruff", "check"], ["ruff", "format"], ["book", "build"]]
    for hook in hooks:
        for part in re.findall(r"[a-z_/]+/", hook.get("files", "")):
            assert (ROOT / part).is_dir(), part


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load(text("CITATION.cff"))
    assert citation["version"] == utils.__version__
    assert citation["cff-version"] == "1.2.0" and citation["title"] and citation["message"]
    assert citation["license"] == "MIT"
    (author,) = citation["authors"]
    assert author["name"] in text("LICENSE") and author["name"] in text("LICENSE-CONTENT")


def test_the_license_of_the_text_is_named_with_its_address():
    said = text("LICENSE-CONTENT")
    assert "CC-BY-4.0" in said and "https://creativecommons.org/licenses/by/4.0/legalcode" in said
    listed = re.findall(r"[\w.*/-]+(?:\.md|/\*\.py|\.toml)|\b\w+/(?=\s|$)", said.partition("What it covers:")[2])
    assert listed and all(list(ROOT.glob(name)) for name in listed), listed


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/contributing.md"])
def test_every_link_leads_somewhere(name):
    links = re.findall(r"\]\(([^)#\s]+)(#[\w-]+)?\)", text(name))
    for target, anchor in links:
        if target.startswith("https://"):
            continue
        there = (ROOT / name).parent / target
        assert there.exists(), f"{name} links {target}, which is not there"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor.removeprefix("#") in slugs, f"{name} links {target}{anchor}"
