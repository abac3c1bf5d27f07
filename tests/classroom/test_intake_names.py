"""Whose file it is: each platform's names, plain folders, single notebooks; late ones and resubmissions."""

import json
import tarfile

import pytest

CHAPTER = "05_attention"
DATA = None


def content(make_notebook, line="return 1"):
    return json.dumps(make_notebook({"05.1": line})).encode()


def told(found):
    """student → (path that counts, attempt, late) for what has a notebook."""
    return {
        r.submission.student: (r.submission.path, r.submission.attempt, r.submission.late) for r in found if r.counts
    }


@pytest.mark.parametrize(
    "path, student, attempt, late",
    [
        ("ann/05_attention.ipynb", "ann", None, False),
        ("Ann Lee/week 5/my homework.ipynb", "Ann Lee", None, False),
        ("leeann_12345_67890_05_attention.ipynb", "leeann (12345)", None, False),
        ("leeann_LATE_12345_67890_05_attention.ipynb", "leeann (12345)", None, True),
        ("leeann_LATE_12345_67890_05_attention-2.ipynb", "leeann (12345)", 3, True),
        ("Ann Lee_4711_assignsubmission_file_/05_attention.ipynb", "Ann Lee (4711)", None, False),
        ("Ann Lee_4711_assignsubmission_file/05_attention.ipynb", "Ann Lee (4711)", None, False),
        ("Ann Lee_4711_assignsubmission_file_05_attention.ipynb", "Ann Lee (4711)", None, False),
        ("Ann_Lee-Smith_4711_assignsubmission_file_/a/b/05_attention.ipynb", "Ann_Lee-Smith (4711)", None, False),
        ("submitted/ann/week5/05_attention.ipynb", "ann", None, False),
        ("05_attention_ann.ipynb", "ann", None, False),
        ("ann lee - 05_attention.ipynb", "ann lee", None, False),
        ("ann.ipynb", "ann", None, False),
        ("05_attention.ipynb", "05_attention", None, False),
    ],
)
def test_a_name_says_who(path, student, attempt, late, hand_in, take_in):
    found, problems = take_in(hand_in(path))
    assert told(found) == {student: (path, attempt, late)}
    assert problems == []


def test_of_nbgraders_tree_only_what_was_submitted(hand_in, take_in):
    for place in ("source/week5", "release/week5", "autograded/ann/week5", "feedback/ann/week5"):
        hand_in(f"{place}/05_attention.ipynb")
    found, problems = take_in(hand_in("submitted/ann/week5/05_attention.ipynb"))
    assert told(found) == {"ann": ("submitted/ann/week5/05_attention.ipynb", None, False)}


def test_nbgraders_timestamp_says_when(hand_in, take_in):
    hand_in("submitted/ann/week5/timestamp.txt", b"2031-01-31 12:34:56.789000 UTC")
    found, _ = take_in(hand_in("submitted/ann/week5/05_attention.ipynb"))
    assert [r.submission.received for r in found] == ["2031-01-31T12:34:56+00:00"]


def test_nbgraders_folder_is_known_by_its_timestamp(hand_in, take_in):
    hand_in("collected/ann/week5/timestamp.txt", b"2031-01-31 12:34:56 UTC")
    found, _ = take_in(hand_in("collected/ann/week5/05_attention.ipynb"))
    assert list(told(found)) == ["ann"]


@pytest.mark.parametrize("text", [b"yesterday", b"\xff\xfe\x00", b""])
def test_a_timestamp_that_is_none_is_left_aside(text, hand_in, take_in):
    hand_in("submitted/ann/week5/timestamp.txt", text)
    found, _ = take_in(hand_in("submitted/ann/week5/05_attention.ipynb"))
    assert list(told(found)) == ["ann"]


def test_the_highest_attempt_of_canvas_counts_and_all_are_kept(hand_in, take_in, make_notebook):
    for n, line in (("", "return 1"), ("-10", "return 10"), ("-2", "return 2")):
        hand_in(f"leeann_1_{2}_05_attention{n}.ipynb", content(make_notebook, line))
    found, _ = take_in(hand_in.folder)
    attempts = {r.submission.attempt: r.counts for r in found}
    assert attempts == {None: False, 3: False, 11: True}
    (counts,) = [r for r in found if r.counts]
    assert (
        "handed in 3 times; the latest counts, which is leeann_1_2_05_attention-10.ipynb." in counts.notebook.notes[-1]
    )


def test_the_latest_by_time_counts(hand_in, take_in, make_notebook):
    for week, time, line in (
        ("a", "2031-02-02 10:00:00 UTC", "return 2"),
        ("b", "2031-02-01 10:00:00 UTC", "return 1"),
    ):
        hand_in(f"submitted/ann/{week}/timestamp.txt", time.encode())
        hand_in(f"submitted/ann/{week}/05_attention.ipynb", content(make_notebook, line))
    found, _ = take_in(hand_in.folder)
    assert {r.submission.path: r.counts for r in found} == {
        "submitted/ann/a/05_attention.ipynb": True,
        "submitted/ann/b/05_attention.ipynb": False,
    }


def test_two_chapters_of_one_student_both_count(hand_in, take_in, make_notebook):
    hand_in("ann/06_mlp.ipynb", json.dumps(make_notebook(chapter="06_mlp")).encode())
    found, _ = take_in(hand_in("ann/05_attention.ipynb"))
    assert sorted(r.notebook.chapter for r in found if r.counts) == ["05_attention", "06_mlp"]


def test_another_chapter_is_left_out_when_one_is_asked_for(hand_in, take_in, make_notebook):
    hand_in("ann/06_mlp.ipynb", json.dumps(make_notebook(chapter="06_mlp")).encode())
    hand_in("ben/06_mlp.ipynb", json.dumps(make_notebook(chapter="06_mlp")).encode())
    found, _ = take_in(hand_in("ann/05_attention.ipynb"), chapter="05_attention")
    assert list(told(found)) == ["ann"]
    (left,) = [r for r in found if not r.counts]
    assert left.submission.problems == ("ben handed in no notebook of chapter 05_attention.",)


def test_a_student_without_a_notebook_is_named(hand_in, take_in):
    hand_in("ann/answers.pdf", b"%PDF")
    hand_in("ben/05_attention.ipynb")
    found, _ = take_in(hand_in.folder)
    (ann,) = [r for r in found if r.submission.student == "ann"]
    assert ann.submission.problems == ("ann handed in no notebook that can be graded: only answers.pdf.",)


def test_names_that_are_nearly_the_same_are_told(hand_in, take_in):
    hand_in("Ann/05_attention.ipynb")
    found, problems = take_in(hand_in("ann/05_attention.ipynb"))
    assert problems == ["Ann and ann may be the same student: they are graded as 2 students."]
    assert len(told(found)) == 2


def test_accents_written_in_two_ways_are_one_student(hand_in, take_in):
    hand_in("Zoe\u0308/05_attention.ipynb")
    found, problems = take_in(hand_in("Zo\u00eb/copy.ipynb"))
    assert problems == []
    assert {r.submission.student for r in found} == {"Zo\u00eb"}
    assert sum(r.counts for r in found) == 1


def test_two_students_of_one_name_stay_apart_on_a_platform(hand_in, take_in):
    hand_in("Ann Lee_1_assignsubmission_file_/05_attention.ipynb")
    found, problems = take_in(hand_in("Ann Lee_2_assignsubmission_file_/05_attention.ipynb"))
    assert sorted(told(found)) == ["Ann Lee (1)", "Ann Lee (2)"]
    assert problems == []


def test_the_folder_that_was_zipped_is_no_student(zipped, take_in, make_notebook):
    data = content(make_notebook)
    found, _ = take_in(zipped({"class/ann/05_attention.ipynb": data, "class/ben/05_attention.ipynb": data}))
    assert sorted(told(found)) == ["ann", "ben"]


def test_an_archive_for_each_student(hand_in, zipped, take_in, make_notebook):
    inner = zipped({"work/05_attention.ipynb": content(make_notebook)}, "inner.zip").read_bytes()
    hand_in("ann.zip", inner)
    found, problems = take_in(hand_in("leeben_12_34_homework.zip", inner))
    assert sorted(told(found)) == ["ann", "leeben (12)"]
    assert problems == []


@pytest.mark.parametrize("ending", [".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".tgz"])
def test_tar_archives(ending, tmp_path, hand_in, take_in, make_notebook):
    hand_in("ann/05_attention.ipynb")
    folder = hand_in("ben/05_attention.ipynb")
    kind = {".tgz": "gz", ".tar": ""}.get(ending, ending.rsplit(".", 1)[-1])
    with tarfile.open(tmp_path / f"class{ending}", f"w:{kind}") as made:
        made.add(folder, "class")
    found, problems = take_in(tmp_path / f"class{ending}")
    assert sorted(told(found)) == ["ann", "ben"]
    assert problems == []


def test_programs_own_files_are_passed_over(hand_in, take_in):
    for path in ("__MACOSX/ann/._05_attention.ipynb", "ann/.ipynb_checkpoints/05_attention-checkpoint.ipynb",
                 "ann/.DS_Store", "ann/__pycache__/x.pyc"):  # fmt: skip
        hand_in(path, b"\0\1")
    found, problems = take_in(hand_in("ann/05_attention.ipynb"))
    assert told(found) == {"ann": ("ann/05_attention.ipynb", None, False)}
    assert problems == [] and len(found) == 1
