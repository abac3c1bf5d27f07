"""What a student may read: no answer can say its hidden inputs, and what Python and torch say still reads well."""

import base64
import json
import linecache

import pytest
import torch

from utils.classroom.exports import said
from utils.classroom.feedback import _report
from utils.classroom.marks import ExerciseMark, verdict_as_json
from utils.classroom.told import LEFT_OUT, told
from utils.grading.checking import check
from utils.grading.verdict import Mismatch, Verdict

HIDDEN = "on fresh random inputs, no two axes of the same length"
PUBLIC = "on the reference model's own values in layer 0"


def read(verdict, source=""):
    """What is on a student's pages of a verdict: the report as HTML and as text."""
    mark = ExerciseMark(verdict.exercise, "failed", json.loads(json.dumps(verdict_as_json(verdict))), 0.0, source)
    return f"{_report(mark)}\n{said(mark)}"


def message(text, source="", where=HIDDEN, stage="runs"):
    given = Verdict("05.2", "attention scores", False, stage, text, where=where)
    return told(ExerciseMark("05.2", "failed", verdict_as_json(given), 0.0, source)).message


# Ways in which an answer to 01.5, transpose_of_product(A, B), can try to tell its inputs.
LEAKS = {
    "an error's text": "raise ValueError(A.tolist())",
    "whole numbers": "raise ValueError(str(MILLIONTHS))",
    "small whole numbers": "raise ValueError(' '.join(str(n % 1000) for n in MILLIONTHS))",
    "hex": "raise ValueError(HEX)",
    "base64": "raise ValueError(B64)",
    "bytes": "raise ValueError(repr(A.numpy().tobytes()))",
    "the kind of an error": "raise type('E' + HEX, (Exception,), {})('x')",
    "a key that is missing": "{}[A.tolist()[0][0]]",
    "a name that is not there": "getattr(A, 'a' + HEX)",
    "a name as torch says it": 'raise NameError("name \'a" + HEX + "\' is not defined")',
    "lengths as torch says them": "raise RuntimeError('mat1 and mat2 shapes cannot be multiplied "
    "(%dx%d and %dx%d)' % tuple(MILLIONTHS[:4]))",
    "a line of its own": "linecache.cache['<evil>'] = (1, None, ['x = 1 #' + HEX + '\\n'], '<evil>')\n"
    "    exec(compile('raise ValueError', '<evil>', 'exec'))",
    "a line in the text": "raise ValueError('x, in the line `' + HEX + '`')",
    "a remedy in the text": "raise ValueError(HEX + '). How large is what it makes?')",
    "not written": "raise NotImplementedError('It is ' + HEX)",
    "memory": "raise MemoryError(HEX)",
    "an f-string": "raise ValueError(f'{HEX} {B64}')",
    "an f-string of numbers": "raise ValueError(f'{MILLIONTHS[0]} {MILLIONTHS[1]}')",
    "an f-string of many": "raise ValueError(f'{MILLIONTHS[0] % 1000} {MILLIONTHS[1] % 1000} {MILLIONTHS[2] % 1000} "
    "{MILLIONTHS[3] % 1000}')",
    "a tuple in an f-string": "a = tuple(n % 1000 for n in MILLIONTHS[:4])\n    raise ValueError(f'A {a}')",
    "small numbers in an f-string": "a = tuple(n % 100 for n in MILLIONTHS[:4])\n    raise ValueError(f'A {a}')",
    "numbers with commas": "raise RuntimeError(f'mat1 and mat2 shapes cannot be multiplied "
    "({MILLIONTHS[0]:,}x2 and 3)')",
    "an assertion": "assert False, A",
    "a class of its own": "return type('T' + HEX, (), {})()",
    "a tensor of its own": "return A.as_subclass(type('T' + HEX, (torch.Tensor,), {}))",
    "a shape": "return torch.empty(0, *(MILLIONTHS[:4]))",
    "a shape of many axes": "return torch.empty(0, *(n % 1000 for n in MILLIONTHS))",
    "a factor": "return (B.T @ A.T) * float(A[0, 0])",
    "an offset": "return (B.T @ A.T) + float(A[0, 0])",
    "what it prints": "print(A.tolist(), HEX, B64)\n    return A",
    "a string": "return HEX + B64",
    "a list": "return MILLIONTHS",
    "a dict": "return {HEX: A, B64: B}",
}


@pytest.mark.parametrize("way", LEAKS)
def test_an_answer_cannot_tell_its_inputs(way):
    source = f"def transpose_of_product(A, B):\n    see(A)\n    {LEAKS[way]}\n"
    secrets, names = set(), {"torch": torch, "linecache": linecache}

    def see(x):
        numbers = x.detach().double().flatten().tolist()
        names["MILLIONTHS"] = [int(abs(v) * 1e6) for v in numbers]
        names["HEX"] = x.detach().float().numpy().tobytes().hex()
        names["B64"] = base64.b64encode(x.detach().float().numpy().tobytes()).decode()
        secrets.update(f"{abs(v):.4f}"[:5] for v in numbers if abs(v) % 1 > 1e-3)
        secrets.update(form for n in names["MILLIONTHS"] if n > 999 for form in (str(n), f"{n:,}"))
        secrets.update(
            joint.join(str(n % 1000) for n in names["MILLIONTHS"][:4] if any(numbers)) for joint in (" ", ", ")
        )
        if any(numbers):
            secrets.add(", ".join(str(n % 100) for n in names["MILLIONTHS"][:4]))
        secrets.update((names["HEX"][:8], names["HEX"][8:16], names["B64"][:8], names["B64"][8:16]))

    names["see"] = see
    exec(compile(source, "<cell x>", "exec"), names)
    verdict = check("01.5", names["transpose_of_product"], "pocket", "cpu", seed=12345)
    assert not verdict.passed and len(secrets) > 10
    page = read(verdict, source)
    assert not [secret for secret in secrets if secret in page], page


def test_the_picture_of_fresh_inputs_says_where_and_not_how_far():
    """An answer that adds its inputs to the right result would else draw them."""
    shares = ((0.0, 0.37, 1.0), (-1.0, 0.01, 0.62))
    found = Mismatch((("batch", 1),), 1.5, 2.5, 2, 6, 9.75, 1e-3, shares, ("batch", "pos"))
    for stage, drawn in (("fresh", ((0.0, 1.0, 1.0), (-1.0, 1.0, 1.0))), ("reference", shares)):
        given = Verdict("05.2", "t", False, stage, "Off.", where=HIDDEN, mismatch=found)
        again = told(ExerciseMark("05.2", "failed", verdict_as_json(given))).mismatch
        assert again.map == drawn
        assert (again.bad, again.total, again.index) == (2, 6, (("batch", 1),)), "places and counts are told"
        assert (again.worst, again.want) == ((9.75, 2.5) if stage == "reference" else (0.0, None))


READS_WELL = {
    "einsum('bij,bjk->bik', torch.ones(2, 3, 4), torch.ones(2, 5, 6))": "einsum(): subscript j has size 5 for operand "
    "1 which does not broadcast with previously seen size 4",
    "torch.ones(5, 3) @ torch.ones(4, 5)": "mat1 and mat2 shapes cannot be multiplied (5x3 and 4x5)",
    "torch.ones(2, 3) + torch.ones(2, 4)": "The size of tensor a (3) must match the size of tensor b (4) at "
    "non-singleton dimension 1",
    "torch.ones(6).reshape(4, 2)": "shape '[4, 2]' is invalid for input of size 6",
    "torch.ones(2, 2) @ torch.ones(2, 2).double()": "to have the same dtype, but got: float != double",
    "rearrange(torch.ones(2, 3), 'b (h d) -> b h d', h=2)": "Error while processing rearrange-reduction pattern",
    "scoress.sum()": "name 'scoress' is not defined",
    "torch.ones(2).softmaxx(-1)": "'Tensor' object has no attribute 'softmaxx'",
    "torch.ones(2).sum(dim=3)": "Dimension out of range (expected to be in range of [-1, 0], but got 3)",
    "f(1)": "f() missing 1 required positional argument: 'b'",
    "a, b = (1, 2, 3)": "too many values to unpack (expected 2)",
    "print()[0]": "'NoneType' object is not subscriptable",
    "1 / 0": "division by zero",
    "raise ValueError('q and k differ')": "q and k differ",
    "raise ValueError(f'{len(A)} is not {A.ndim} or 9')": " is not 2 or 9",
    "torch.ones(3)[7]": "index 7 is out of bounds for dimension 0 with size 3",
    "torch.cat([torch.ones(2, 3), torch.ones(2, 4)])": "Sizes of tensors must match except in dimension 0. Expected "
    "size 3 but got size 4 for tensor number 1 in the list",
}


@pytest.mark.parametrize("line", READS_WELL)
def test_what_python_and_torch_say_still_reads(line):
    source = f"def transpose_of_product(A, B):\n    {line}\n"
    names = {"torch": torch}
    exec("from torch import einsum\nfrom einops import rearrange\ndef f(a, b): ...", names)
    linecache.cache["<cell x>"] = (len(source), None, source.splitlines(keepends=True), "<cell x>")
    exec(compile(source, "<cell x>", "exec"), names)
    verdict = check("01.5", names["transpose_of_product"], "pocket", "cpu", seed=12345)
    page = told(ExerciseMark("01.5", "failed", verdict_as_json(verdict), 0.0, source)).message
    assert READS_WELL[line] in page and f"in the line `{line}`" in page
    assert LEFT_OUT not in page and "…" not in page


@pytest.mark.parametrize(
    "given, shown",
    [
        ("Return a torch.Tensor, not a list of 3.", "Return a torch.Tensor, not a list of 3."),
        ("Return a torch.Tensor, not a Tdeadbeef.", "Return a torch.Tensor, not a …."),
        ("Your values are the expected ones times 0.7313, the same factor everywhere: that is √d_head.",
         "Your values are the expected ones times …, the same factor everywhere: that is √d_head."),
        ("Give 24 whole numbers; there are 37. They part at [7]: 244, where 263 is right.",
         "Give 24 whole numbers; there are 37. They part at [7]."),
        ("The value at ['n'] is 'hello'; 'world' is right.", "The value at ['n'] is not right."),
        ("In place 3 stands 17, whose gain is 0.25; 41 belongs there, with 0.5.",
         "In place 3 stands another than the right one."),
        ("The dict's keys are not the wanted ones: 'n_heads' missing and 'c0ffee' not wanted.",
         "The dict's keys are not the wanted ones: 'n_heads' missing and … not wanted."),
        ("Here a right answer raises ValueError (the determinant is 0: there is no single answer); yours gave None.",
         "Here a right answer raises ValueError (the determinant is 0: there is no single answer); yours gave None."),
        ("Here a right answer raises ValueError (tensor([[1., 2.]]) has no inverse); yours returned None.",
         "Here a right answer raises ValueError; yours returned None."),
        ("Here a right answer raises ValueError (k must be at least 1, not 123456); yours returned None.",
         "Here a right answer raises ValueError (k must be at least 1, not …); yours returned None."),
        ("The draws do not follow softmax(logits), in 5,000 draws.",
         "The draws do not follow softmax(logits), in 5,000 draws."),
    ],
)  # fmt: skip
def test_sentences_of_the_grader_tell_no_value_of_fresh_inputs(given, shown):
    assert message(given, stage="type") == shown


@pytest.mark.parametrize(
    "given",
    ["Your values are the expected ones times 0.7313, the same factor everywhere: that is √d_head.",
     "Give 24 whole numbers; there are 37. They part at [7]: 244, where 263 is right.",
     "The value at ['n'] is 'hello'; 'world' is right."],
)  # fmt: skip
def test_values_on_inputs_that_everyone_knows_are_told(given):
    assert message(given, where=PUBLIC, stage="reference") == given


def test_sentences_that_the_book_has_ready_are_left_as_they_are():
    from utils.exercises import exercise

    for wrong in exercise("06.1").wrongs:
        given = Verdict("06.1", "gelu", False, "fresh", wrong.message, where=HIDDEN)
        assert told(ExerciseMark("06.1", "failed", verdict_as_json(given))).message == wrong.message


@pytest.mark.parametrize("where", [HIDDEN, PUBLIC])
def test_an_error_says_no_kept_secret_on_known_inputs_either(where):
    """What an answer has kept from an earlier exercise it could say in a later one."""
    given = "The answer raised ValueError: 0.123 deadbeef 123456, in the line `raise ValueError(KEPT)`."
    shown = message(given, "def f():\n    raise ValueError(KEPT)\n", where)
    assert shown == f"The answer raised ValueError, in the line `raise ValueError(KEPT)`. {LEFT_OUT}"


def test_a_cell_that_failed_before_there_were_inputs_says_all():
    given = "The cell with the answer raised SyntaxError: invalid syntax (<cell a1b2>, line 3)."
    assert message(given, where="") == given


def test_a_process_that_ended_is_told_in_words_and_not_as_an_error():
    given = Verdict("01.11", "t", False, "runs", "The answer raised Ended: the process has ended.", where=PUBLIC)
    mark = ExerciseMark("01.11", "crashed", verdict_as_json(given))
    assert told(mark) is None and _report(mark) is None
    assert said(mark) == "01.11: ended its process."


@pytest.mark.parametrize(
    "exercise, stub, shown",
    [
        ("05.1", "", "project_heads is not written yet."),
        ("05.7", "Write attention_scores here",
         "attention uses attention_scores, which is not written yet. Write that first, or call use(attention_scores) "
         "in its place."),
        ("07.1", "Write mlp here",
         "transformer_block uses mlp, which is not written yet. Write that first, or call use(mlp) in its place."),
    ],
)  # fmt: skip
def test_what_is_not_written_is_told_without_what_helps_in_a_notebook_alone(exercise, stub, shown):
    from utils.exercises import exercise as find
    from utils.grading.checking import not_written

    mark = ExerciseMark(exercise, "not_written", verdict_as_json(not_written(find(exercise), stub)))
    assert told(mark).message == shown
