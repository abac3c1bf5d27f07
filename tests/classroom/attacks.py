"""Answers that attack the grader. Each returns what is right only if its attack worked, so that a pass is a forgery.

`attack(x)` is run in the place of exercise 00.1's answer; `RIGHT` is what a right answer does.
"""

RIGHT = "lambda x: x - x.mean(dim=-1, keepdim=True)"


def _tries(body: str, before: str = "") -> str:
    """An answer that gives what is right if `body` runs through, and something wrong if it raises."""
    lines = "\n".join("        " + line for line in body.strip().splitlines())
    return f"""
import ctypes, gc, json, os, signal, socket, struct, sys, threading, time
import torch
{before}
def center_rows(x):
    try:
{lines}
    except Exception:
        return x
    return ({RIGHT})(x)
"""


def _always_wrong(before: str, body: str = "") -> str:
    """An answer that is wrong after it has done what it can to be called right."""
    lines = "\n".join("    " + line for line in (body.strip() or "pass").splitlines())
    return f"""
import builtins, ctypes, gc, json, os, signal, socket, struct, sys, threading, time
import torch
{before}
def center_rows(x):
{lines}
    return x
"""


_AGENT = "agent = next(o for o in gc.get_objects() if type(o).__name__ == 'Agent')"
_LIBC = "libc = ctypes.CDLL(None, use_errno=True)\n"

# name: (source of the answer's cell). {root}: the checkout; {store}: a file that stands for the store of marks.
FORGERIES = {
    "torch_compares_as_told": _always_wrong(
        "torch.equal = torch.allclose = torch.isclose = lambda *a, **k: True\n"
        "torch.Tensor.__eq__ = lambda a, b: torch.ones_like(a, dtype=torch.bool)\n"
        "torch.testing.assert_close = lambda *a, **k: None\nbuiltins.all = builtins.any = lambda *a: True"
    ),
    "tensor_that_equals_all": """
import torch
class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True
def center_rows(x):
    return x.as_subclass(Yes)
""",
    "object_with_a_lying_class": """
import torch
class Liar:
    __class__ = torch.Tensor
    def __getattr__(self, name): return lambda *a, **k: self
    def __eq__(self, other): return True
    def __sub__(self, other): return 0
    __rsub__ = __sub__
def center_rows(x):
    return Liar()
""",
    "solutions_from_disk": _tries("exec(open('{root}/solutions/00_start_here.py').read())"),
    "notebook_of_solutions": _tries("open('{root}/solutions/00_start_here.ipynb').read()"),
    "oracle_by_import": _tries("from utils.exercises.ch00 import center_rows as theirs\ntheirs(x)"),
    "oracle_by_registry": _tries("from utils.exercises import _by_id\n_by_id['00.1']"),
    "grader_by_import": _tries("import utils.grading.checking"),
    "diagnosis_by_import": _tries("from utils.grading import diagnosis"),
    "oracle_in_memory": _tries(
        "all_of_them = [o for o in gc.get_objects() if getattr(o, '__name__', '') == 'center_rows']\n"
        "theirs = [o for o in all_of_them if o is not center_rows]\ntheirs[0](x)"
    ),
    "oracle_in_the_frames": _tries(
        "frame = sys._getframe()\nseen = []\nwhile frame:\n    seen += list(frame.f_locals)\n    frame = frame.f_back\n"
        "assert 'want' in seen or 'oracle' in seen or 'exercise' in seen"
    ),
    "the_books_own_function": _tries("from utils import use\nuse(None, '00.1')(x)"),
    "the_books_own_by_name": _tries("from utils.exercises import exercise\nexercise('center_rows').solution(x)"),
    "asks_the_outside_for_it": _tries(f"{_AGENT}\nagent._book_function('00.1', None)(x)"),
    "asks_for_it_in_place_of_its_own": _tries(f"{_AGENT}\nassert agent._book_function('00.1', max)(2, 3) != 3"),
    "asks_for_a_later_chapter": _tries(f"{_AGENT}\nagent._book_function('05.7', None)"),
    "walks_from_an_object": _tries(
        f"{_AGENT}\n"
        "for name in ('__globals__', '__class__', '__reduce__', '__init__', '_answer'):\n"
        "    for number in range(4):\n"
        "        try:\n"
        "            agent.ask('method', {'args': (), 'kwargs': ()}, {'target': number, 'method': name})\n"
        "        except Exception:\n"
        "            continue\n"
        "        break\n"
        "else:\n"
        "    raise LookupError"
    ),
    "reads_an_attribute": _tries(f"{_AGENT}\nagent.ask('attribute', {{}}, {{'target': 0, 'name': '__dict__'}})"),
    "calls_a_model_that_is_none": _tries(
        f"{_AGENT}\nagent.ask('module', {{'state': {{'entries': (), 'training': True}}, 'args': (), 'kwargs': ()}}, "
        "{'target': 0, 'by': []})"
    ),
    "asks_an_unknown_question": _tries(f"{_AGENT}\nagent.ask('grade', {{}}, {{'passed': True}})"),
    "sends_a_verdict": _always_wrong(
        "",
        "text = json.dumps(['give', {'value': ['strdict', {'value': True, 'passed': True}]}]).encode()\n"
        "for fd in range(3, 64):\n"
        "    try:\n"
        "        os.write(fd, struct.pack('<II', len(text), 0) + text)\n"
        "    except OSError:\n"
        "        pass",
    ),
    "rewrites_what_is_sent": _always_wrong(
        "import utils.grading.plain, utils.classroom.inside.agent as inside\n"
        "inside.plain = utils.grading.plain.plain = lambda value, *a: True"
    ),
    "rewrites_the_store": _tries("open('{store}', 'w').write('all passed')"),
    "pretends_to_be_written": _always_wrong("sys.modules['utils.grading'] = sys.modules['torch']"),
    "import_hook": _always_wrong(
        "class Finder:\n    def find_spec(self, name, path=None, target=None):\n        raise ImportError(name)\n"
        "sys.meta_path.insert(0, Finder())"
    ),
    "lies_about_its_kind": _always_wrong(
        "import utils.classroom.inside.agent as inside\n"
        "inside.Agent.look = lambda self, fields: {'kind': 'other', 'is': True}"
    ),
}

# name: (the JSON, the tensors), as bytes
BROKEN_FRAMES = {
    "poisoned_safetensors": (b'["give",{"value":["T",0]}]', b"\xff" * 64),
    "safetensors_with_a_huge_header": (b'["give",{"value":["T",0]}]', (2**60).to_bytes(8, "little") + b"{}"),
    "json_nested_without_end": (b"[" * 200_000 + b"]" * 200_000, b""),
    "json_of_no_meaning": (b'{"passed": true}', b""),
    "json_that_is_none": (b"\x80\x04pickle", b""),
    "nodes_that_build_what_they_like": (b'["give",{"value":["namespace",["dict",[[1,2]]]]}]', b""),
    "an_error_that_is_none": (b'["give",{"error":[1,2,3]}]', b""),
    "an_account_that_is_none": (b'["give",{"value":1,"changed":[[99,1]],"random":["T",7]}]', b""),
    "a_length_that_is_a_lie": (b"", b""),
}


def frame(text: bytes, blob: bytes) -> str:
    """An answer that writes a broken frame to every descriptor it has."""
    head = "struct.pack('<II', len(text), len(blob))" if text else "struct.pack('<II', 2**32 - 1, 2**32 - 1)"
    return _always_wrong(
        "",
        f"text, blob = {text!r}, {blob!r}\n"
        "for fd in range(3, 64):\n"
        "    try:\n"
        f"        os.write(fd, {head} + text + blob)\n"
        "    except OSError:\n"
        "        pass",
    )


ESCAPES = {
    "reads_passwords": _tries("open('/etc/passwd').read()"),
    "reads_a_file_outside": _tries("open('{store}').read()"),
    "reads_the_checkout": _tries("os.listdir('{root}/chapters')"),
    "reads_other_submissions": _tries("os.listdir('{submissions}')"),
    "reads_processes": _tries("assert os.listdir('/proc')"),
    "reads_its_own_maps": _tries("open('/proc/self/maps').read()"),
    "reads_the_environment": _tries("os.environ['A_TEACHERS_SECRET']"),
    "reads_devices": _tries("open('/dev/mem', 'rb').read(1)"),
    "writes_into_the_book": _tries("open('/book/utils/errors.py', 'a').write('#')"),
    "writes_into_packages": _tries("open(torch.__file__, 'a').write('#')"),
    "writes_at_the_top": _tries("open('/escaped', 'w').write('x')"),
    "a_message_in_shared_memory": _tries("open('/dev/shm/message', 'w').write('x')"),
    "a_message_among_the_devices": _tries("open('/dev/message', 'w').write('x')"),
    "symbolic_link_out": _tries("os.symlink('{root}', '/tmp/out')\nos.listdir('/tmp/out')"),
    "climbs_out": _tries("open('/tmp/' + '../' * 20 + '{root}/README.md'.lstrip('/')).read()"),
    "hard_link": _tries("os.link(torch.__file__, '/tmp/torch')"),
    "device_node": _tries("os.mknod('/tmp/disk', 0o60666, os.makedev(8, 0))"),
    "internet": _tries("socket.create_connection(('1.1.1.1', 53), timeout=2)"),
    "loopback": _tries("socket.create_server(('127.0.0.1', 0))"),
    "unix_socket": _tries("socket.socket(socket.AF_UNIX)"),
    "netlink_socket": _tries("socket.socket(16, socket.SOCK_RAW, 0)"),
    "looks_up_a_host": _tries("socket.gethostbyname('example.org')"),
    "program_by_subprocess": _tries("import subprocess\nsubprocess.run(['/usr/bin/true'], check=True)"),
    "program_by_system": _tries("assert os.system('true') == 0"),
    "program_by_exec": _tries(
        "code = \"import os\"\nos.execv(sys.executable or '/usr/bin/python3', ['python', '-c', code])"
    ),
    "program_by_memory": _tries("fd = os.memfd_create('x')\nos.write(fd, b'#!/bin/sh')\nos.execve(fd, ['x'], {})"),
    "another_process": _tries("pid = os.fork()\nif pid == 0:\n    os._exit(0)"),
    "another_process_by_clone": _tries(f"{_LIBC}assert libc.syscall(56, 17, 0, 0, 0, 0) > 0"),
    "another_process_by_vfork": _tries(f"{_LIBC}assert libc.syscall(58) > 0"),
    "multiprocessing": _tries(
        "import multiprocessing\nmultiprocessing.get_context('fork').Process(target=print).start()"
    ),
    "signal_to_all": _tries("os.kill(-1, signal.SIGKILL)"),
    "signal_to_the_parent": _tries("os.kill(os.getppid(), signal.SIGKILL)"),
    "signal_to_the_first_process": _tries("os.kill(1, signal.SIGTERM)"),
    "signal_to_the_group": _tries("os.killpg(0, signal.SIGKILL)"),
    "signal_by_number": _tries("for pid in range(2, 400):\n    os.kill(pid, signal.SIGKILL)"),
    "trace": _tries(f"{_LIBC}assert libc.ptrace(0, 0, 0, 0) == 0"),
    "reads_anothers_memory": _tries(f"{_LIBC}assert libc.process_vm_readv(1, 0, 0, 0, 0, 0) >= 0"),
    "mounts": _tries(f"{_LIBC}assert libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0"),
    "unmounts": _tries(f"{_LIBC}assert libc.umount2(b'/proc', 2) == 0"),
    "new_user_namespace": _tries(f"{_LIBC}assert libc.unshare(0x10000000) == 0"),
    "another_root": _tries("os.chroot('/tmp')"),
    "becomes_root": _tries("os.setuid(0)\nassert os.getuid() == 0"),
    "more_memory_allowed": _tries(
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))"
    ),
    "kernel_ring": _tries(f"{_LIBC}assert libc.syscall(425, 8, 0) >= 0"),
    "kernel_program": _tries(f"{_LIBC}assert libc.syscall(321, 0, 0, 0) >= 0"),
    "kernel_keys": _tries(f"{_LIBC}assert libc.syscall(250, 0, -3, 0) >= 0"),
    "shared_memory": _tries(f"{_LIBC}assert libc.shmget(1, 4096, 0o1666) >= 0"),
    "host_name": _tries("socket.sethostname('mine')"),
}

BOMBS = {
    "endless_loop": "def center_rows(x):\n    while True:\n        pass\n",
    "endless_loop_that_ignores_signals": """
import signal
def center_rows(x):
    for number in (signal.SIGALRM, signal.SIGPROF, signal.SIGVTALRM, signal.SIGTERM, signal.SIGXCPU):
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
""",
    "endless_wait": "import time\ndef center_rows(x):\n    time.sleep(10_000)\n",
    "endless_cell": "while True:\n    pass\ndef center_rows(x):\n    return x\n",
    "endless_expression": "import re\ndef center_rows(x):\n    re.match(r'(a+)+$', 'a' * 64 + 'b')\n",
    "endless_generator": "def center_rows(x):\n    return iter(int, 1)\n",
    "memory": "import torch\nkept = []\ndef center_rows(x):\n    while True:\n        kept.append(torch.ones(2**24))\n",
    "memory_at_once": "import torch\ndef center_rows(x):\n    return torch.ones(2**38)\n",
    "a_very_large_result": "import torch\ndef center_rows(x):\n    return torch.ones(2**28)\n",
    "memory_of_the_caller": "def center_rows(x):\n    return x.expand(2**40, *x.shape)\n",
    "disk": """
def center_rows(x):
    for i in range(10_000):
        with open(f"/tmp/{i}", "wb") as file:
            file.write(bytes(2**22))
""",
    "disk_in_shared_memory": """
def center_rows(x):
    for i in range(10_000):
        with open(f"/dev/shm/{i}", "wb") as file:
            file.write(bytes(2**22))
""",
    "output": "def center_rows(x):\n    while True:\n        print('x' * 10**6)\n",
    "descriptors": "import os\ndef center_rows(x):\n    while True:\n        os.dup(0)\n",
    "threads": """
import threading, time
def center_rows(x):
    while True:
        threading.Thread(target=time.sleep, args=(1000,)).start()
""",
    "recursion": "import sys\ndef center_rows(x):\n    sys.setrecursionlimit(10**9)\n    return center_rows(x)\n",
    "segmentation_fault": "import ctypes\ndef center_rows(x):\n    ctypes.string_at(0)\n",
    "leaves_at_once": "import os\ndef center_rows(x):\n    os._exit(0)\n",
    "leaves_politely": "def center_rows(x):\n    raise SystemExit(0)\n",
    "interrupts": "def center_rows(x):\n    raise KeyboardInterrupt\n",
    "leaves_while_cells_run": "import os\nos._exit(0)\n",
    "closes_every_door": "import os\ndef center_rows(x):\n    os.closerange(0, 256)\n    return x\n",
    "time_bomb": """
import os, threading
def center_rows(x):
    threading.Timer(0.01, lambda: os._exit(1)).start()
    return x
""",
    "a_thread_that_stays": """
import threading
def _stay():
    while True:
        pass
def center_rows(x):
    threading.Thread(target=_stay, daemon=False).start()
    return x
""",
}


def _reply(body: str, answer: str = "    return x") -> str:
    """An answer whose process changes the reply before it is sent."""
    lines = "\n".join("        " + line for line in body.strip().splitlines())
    return f"""
import torch
from utils.classroom.inside.agent import Agent
HIT = []
before_reply = Agent.before_reply
def changed(self, reply, writer):
    before_reply(self, reply, writer)
    if "value" in reply and HIT:
{lines}
Agent.before_reply = changed
def center_rows(x):
    HIT.append(1)
{answer}
"""


REPLIES = {
    "one_tensor_named_often": _reply(
        "writer.tensors.append(torch.zeros(2**22))\nreply['value'] = ['list', [['T', len(writer.tensors) - 1]] * 40]"
    ),
    "one_argument_changed_often": _reply("reply['changed'] = [[0, [None, None]]] * 400_000"),
    "a_tree_without_end": _reply("reply['value'] = ['list', [['list', []]] * 1_000_000]"),
    "a_model_that_was_not_lent": _reply("reply['left'] = reply['rewritten'] = ['pocket', 'small']"),
    "an_argument_that_was_not_given": _reply("reply['changed'] = [[10**6, 1], [-1, 1], ['x', 1]]"),
    "halves_of_characters": _reply("reply['printed'] = '\\ud800' * 100", "    raise ValueError('\\ud800')"),
}


ODD_CELLS = {
    "no_end_of_signs": "x = " + "-" * 20_000 + "1",
    "leaves_in_the_cell": "import sys\nsys.exit()",
    "a_signature_that_raises": """
class Odd:
    @property
    def __signature__(self):
        raise KeyError
center_rows = Odd()
""",
    "an_inner_end_that_leaves": """
import gc
agent = next(o for o in gc.get_objects() if type(o).__name__ == "Agent")
agent.ops["look"] = lambda fields: exit()
""",
}

# Right answers in cells with IPython's own lines, or with lines that only look like them.
MAGICS = {
    "a_timed_cell": "%%time\ndef center_rows(x):\n    return x - x.mean(-1, keepdim=True)",
    "lines_of_the_shell": "%matplotlib inline\n!ls\ndef center_rows(x):\n    return x - x.mean(-1, keepdim=True)",
    "timing_with_options": "%timeit -n1 1+1\n%prun -l 3 1+1\ndef center_rows(x):\n    return x - x.mean(-1)[..., None]",
    "no_magic_at_all": """
NOTE = '''
% no magic
! nor this'''
def center_rows(x):
    return x - x.mean(-(10
        % 9), keepdim=True)
""",
}

WEIGHT_FOR_A_MODEL = f"""
import gc, torch
def find_heads(model, kind, threshold):
    {_AGENT}
    number = next(n for n, o in agent.given.items() if o is model)
    weight = ("W_E", True, "value", torch.zeros(4, 4), False, None, None, False)
    fields = {{"state": {{"entries": [weight], "training": False}}, "args": (torch.zeros(1, 4).long(),), "kwargs": ()}}
    agent.ask("module", fields, {{"target": number, "by": []}})
"""

ENDLESS_ON_THE_OUTSIDE = {
    "09.1": "def greedy(logits):\n    return None\n",
    "09.7": "def generate(model, tokens, n_new, pick, eos=None):\n    return None\n",
    "09.8": f"""
import gc, torch
class Box: pass
def beam_search(model, tokens, n_new, beams, eos=None, length_penalty=0.0):
    {_AGENT}
    generate, pick = (agent.ask("use", {{}}, {{"name": n, "own": True}}) for n in ("generate", "greedy"))
    box = Box()
    agent.number_given[id(box)] = pick
    fields = {{"args": (model, torch.zeros(1, 1).long(), 10**15, box), "kwargs": ()}}
    agent.ask("method", fields, {{"target": generate, "method": "__call__"}})
""",
}

LARGE_ITEMS = """
import torch
BIG = torch.zeros(2**20, dtype=torch.complex128)
def make_batches(ids, n_ctx, batch, generator):
    while True:
        yield BIG
"""
