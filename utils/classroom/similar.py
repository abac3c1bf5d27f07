"""Answers that are the same after names, comments, docstrings, annotations and layout are taken away.

An answer becomes a fingerprint, so that a class of any size is compared by sorting and not pair by pair. The shipped
stub has none, and neither has an answer so short that most who solve the exercise write the same.
"""

import ast
import functools
import hashlib

LONGEST = 50_000  # characters: more is no answer that a person wrote, and would take minutes
SHORTEST = 40  # nodes of the tree: an answer of two or three plain lines has fewer


def fingerprint(source: str, name: str, stub: str) -> str | None:
    """Sixteen hex digits that are the same for two answers that differ in names and layout alone.

    None where nothing can be told: the answer is not Python, is not written, or is too short.

    Args:
        source: the answer's cell.
        name: of the function or class asked for.
        stub: the cell as shipped.
    """
    written = _normalized(source, name) if len(source) <= LONGEST else None
    if written is None or written == _of_stub(stub, name) or written.count("(") < SHORTEST:
        return None
    return hashlib.sha256(written.encode()).hexdigest()[:16]


@functools.lru_cache(maxsize=256)
def _of_stub(stub: str, name: str) -> str | None:
    return _normalized(stub, name)


def _normalized(source: str, name: str) -> str | None:
    try:
        tree = ast.parse(source)
        body = [node for node in tree.body if _is_definition(node)]
        if not any(node.name == name for node in body):
            return None
        for node in body:
            _strip(node)
        tree.body = body
        return ast.dump(_Renamed(tree).visit(tree), annotate_fields=False)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_definition(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def _strip(root: ast.AST) -> None:
    """Without docstrings, annotations and decorators; a bare annotation says nothing."""
    for node in ast.walk(root):
        if _is_definition(node):
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
            node.decorator_list = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None


class _Renamed(ast.NodeTransformer):
    """Names that the answer itself binds are numbered in the order in which they come; all others stay."""

    def __init__(self, tree: ast.AST):
        nodes = list(ast.walk(tree))
        self._own = {node.arg for node in nodes if isinstance(node, ast.arg)}
        self._own |= {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
        self._own |= {node.name for node in nodes if _is_definition(node)}
        self._numbers: dict[str, str] = {}

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"n{len(self._numbers)}") if name in self._own else name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._number(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self._number(node.arg)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return node
        return self.visit(ast.Assign([node.target], node.value))

    def _definition(self, node):
        node.name = self._number(node.name)
        self.generic_visit(node)
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _definition
