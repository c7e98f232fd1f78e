"""What is changed in Python code, one place at a time: the list from which mutants are drawn.

Own operators on `ast`, since mutmut leaves out decorated classes, and here nearly every method is
one of a frozen dataclass; it also counts `x = None`, which any test notices. These change what a
wrong number comes from: an operator, a limit, a constant, a condition, a choice of min or max.
Strings, annotations, decorators and docstrings stay as they are, and so do tables of numbers: they
are data (a grid, a paper's own figures), of which a test could only be a copy.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

SWAPPED: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
CALLED = {"min": "max", "max": "min", "all": "any", "any": "all", "sorted": "list", "abs": "float"}
LEFT_ALONE = frozenset({"annotation", "returns", "decorator_list", "type_params", "bases"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file.

    Attributes:
        line: of the original, from 1.
        was, becomes: the smallest expression or statement around it, on one line.
        number: among those of the file, for `mutated`.
    """

    line: int
    was: str
    becomes: str
    number: int

    @property
    def change(self) -> str:
        """As it is shown, without the file."""
        return f"{self.line}: {self.was} -> {self.becomes}"


@dataclass(frozen=True, slots=True)
class _Place:
    """A field of a node (an item of it, if it is a list) and what to put there."""

    line: int
    holder: ast.AST
    field: str
    item: int | None
    value: object

    def put(self, value: object) -> object:
        """Put it there; what was there, to be put back."""
        held = getattr(self.holder, self.field)
        if self.item is None:
            setattr(self.holder, self.field, value)
            return held
        before, held[self.item] = held[self.item], value
        return before


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a file's text, in the order of the places; SyntaxError if it is no Python."""
    for number, place in enumerate(_all_places(ast.parse(source))):
        before = place.put(place.value)
        becomes = _shown(place, place.value)
        place.put(before)
        yield Mutant(place.line, _shown(place, before), becomes, number)


def mutated(source: str, number: int) -> str:
    """The whole file with one change; its comments are gone."""
    tree = ast.parse(source)
    place = _all_places(tree)[number]
    place.put(place.value)
    return ast.unparse(tree) + "\n"


def _all_places(tree: ast.AST) -> list[_Place]:
    return [place for node in _walk(tree) for place in _places(node)]


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes whose change may matter when the code runs, parents first."""
    yield node
    for _, _, child in _children(node):
        if not isinstance(child, ast.Assert) and not _is_table(child):
            yield from _walk(child)


def _is_table(node: ast.AST) -> bool:
    """Whether it is a display of three constants or more, or of such displays."""
    if not isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
        return False
    inner = node.values if isinstance(node, ast.Dict) else node.elts
    return len(inner) > 2 and all(isinstance(n, ast.Constant) or _is_table(n) for n in inner)


def _children(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    """(field, item of it if it is a list, node)."""
    for name, field in ast.iter_fields(node):
        if name in LEFT_ALONE:
            continue
        for item, child in enumerate(field if isinstance(field, list) else [field]):
            if isinstance(child, ast.AST):
                yield name, item if isinstance(field, list) else None, child


def _places(node: ast.AST) -> Iterator[_Place]:
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign):
        for new in SWAPPED.get(type(node.op), ()):
            yield _Place(node.lineno, node, "op", None, new())
    if isinstance(node, ast.Compare):
        for item, op in enumerate(node.ops):
            for new in SWAPPED.get(type(op), ()):
                yield _Place(node.lineno, node, "ops", item, new())
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLED:
        called = ast.Name(CALLED[node.func.id], ast.Load())
        yield _Place(node.lineno, node, "func", None, called)
    yield from _conditions(node)
    yield from _operands(node)


def _conditions(node: ast.AST) -> Iterator[_Place]:
    """Always true or never; not of a loop, which would only take time."""
    if isinstance(node, ast.If | ast.IfExp):
        for value in (True, False):
            yield _Place(node.test.lineno, node, "test", None, ast.Constant(value))
    if isinstance(node, ast.comprehension):
        for item, test in enumerate(node.ifs):
            yield _Place(test.lineno, node, "ifs", item, ast.Constant(value=True))


def _operands(node: ast.AST) -> Iterator[_Place]:
    """Constants and signs, seen from the node that holds them, so that a change shows in it."""
    for name, item, child in _children(node):
        if isinstance(child, ast.UnaryOp) and isinstance(child.op, ast.Not | ast.USub):
            yield _Place(child.lineno, node, name, item, child.operand)
        if isinstance(child, ast.Constant) and isinstance(child.value, bool | int | float):
            yield _Place(child.lineno, node, name, item, ast.Constant(_other(child.value)))


def _other(value: float) -> float:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else (2 * value or 1.0)


def _shown(place: _Place, value: object) -> str:
    """What holds the place, on one line; of what has a body, the place alone."""
    is_long = isinstance(place.holder, ast.stmt) and "body" in place.holder._fields
    if not isinstance(place.holder, ast.expr | ast.stmt | ast.keyword) or is_long:
        return ast.unparse(value) if isinstance(value, ast.AST) else str(value)
    text = " ".join(ast.unparse(place.holder).split())
    return text if len(text) <= 160 else text[:157] + "..."
