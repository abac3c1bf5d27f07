"""The `book` command: what it lists it has, what goes wrong is one line, and figures come as one JSON object."""

import json
import re
import sys

import pytest
import typer
from typer.testing import CliRunner

from utils import cli
from utils.errors import BookError


def run(*words):
    return CliRunner().invoke(cli.make_app(words[0] if words else None), list(words))


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_of_the_table_has_help(name):
    result = run(name, "--help")
    assert result.exit_code == 0, result.output
    assert f"book {name}" in result.output or f"{name} [OPTIONS]" in result.output


def test_the_list_shows_each_command_with_its_summary():
    result = run("--help")
    listed = re.sub(r"[│\s]+", " ", result.output)
    for name, (_, _, summary) in cli.COMMANDS.items():
        assert f" {name} {summary}" in listed


def test_every_command_is_for_someone():
    assert sorted(name for names in cli.FOR.values() for name in names) == sorted(cli.COMMANDS)
    listed = run("--help").output
    assert [listed.index(panel) for panel in cli.FOR] == sorted(listed.index(panel) for panel in cli.FOR)


@pytest.mark.parametrize(
    "name", [*cli.COMMANDS, *(f"pocket {name}" for name in ("train", "evaluate", "export", "sample"))]
)
def test_every_option_and_argument_says_what_it_is_for(name):
    words = name.split()
    command = typer.main.get_command(cli.make_app(words[0]))
    for word in words:
        command = command.commands[word]
    for one in command.params:
        assert one.help and one.help.strip().endswith((".", ")")), f"book {name}: {one.name} has no sentence"
    assert (command.help or "").strip()[:1].isupper() and "." in command.help


@pytest.mark.parametrize(
    ("words", "sentence"), [(("--exercise", "99.9"), "is called '99.9'"), (("--chapter", "77"), "in chapter 77")]
)
def test_an_audit_of_nothing_is_no_success(words, sentence):
    with pytest.raises(BookError, match=sentence):
        raise run("audit", *words).exception


def test_an_unknown_command_is_a_usage_error():
    result = run("paint")
    assert result.exit_code == 2
    assert "No such command 'paint'" in result.output


def test_a_problem_is_one_line_without_a_traceback(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["book", "reference", "gpt3"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    printed = capsys.readouterr()
    assert stopped.value.code == 1
    assert printed.out == ""
    assert re.fullmatch(r"'gpt3' is not a reference model: use [^\n]+\.\n", printed.err)


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(sys, "argv", ["book", "reference"])
    monkeypatch.setattr("utils.reference.commands.chosen", broken)
    with pytest.raises(ZeroDivisionError):
        cli.main()


def test_version():
    result = run("--version")
    assert (result.exit_code, result.output) == (0, "0.1.0\n")


def test_reference_shows_the_choice(own_folders):
    assert run("reference").output == "The reference is pocket: the small model shipped with the book.\n"


def test_reference_takes_a_folder_and_prints_one_object(own_folders, tmp_path):
    with pytest.raises(BookError, match="holds no config.json"):
        raise run("reference", str(tmp_path)).exception
    chosen = json.loads(run("reference", "gpt2-shaped", "--json").output)
    assert chosen["reference"] == "gpt2-shaped" and chosen["changed"] is True
    assert json.loads(run("reference", "--json").output)["changed"] is False


def test_lab_opens_the_chapters_with_this_python(tmp_path, monkeypatch):
    from utils import lab

    monkeypatch.setattr(lab, "chapters_dir", lambda: tmp_path)
    command = lab.lab_command(["--port", "8899"])
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={tmp_path}" in command
    assert command[-2:] == ["--port", "8899"]
    monkeypatch.setattr(lab, "chapters_dir", lambda: tmp_path / "none")
    with pytest.raises(BookError, match="There is no folder"):
        lab.lab_command([])


def test_a_notebook_shows_the_sentence_and_no_traceback(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    from utils.errors import BookError

    shell = InteractiveShell()

    def fail():
        raise BookError("The reference is not there: run `book reference pocket`.")

    shell.user_ns["fail"] = fail
    shell.run_cell("fail()")
    shown = capsys.readouterr()
    assert "run `book reference pocket`" in shown.out + shown.err
    assert "Traceback" not in shown.out + shown.err and "fail()" not in shown.out + shown.err
