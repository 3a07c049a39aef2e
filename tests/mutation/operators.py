"""The mutations: for one node of a syntax tree, the nodes that could stand in its place by a slip of the pen."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_CALLED = {"min": "max", "max": "min", "sorted": "list", "any": "all", "all": "any"}
_SEEN_BY_NOBODY = {"debug", "info", "warning", "error", "exception"}  # methods of a logger


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield each node that may stand in the place of `node`; a deleted statement becomes `pass`."""
    match node:
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                if type(op) in _COMPARED:
                    yield _with(node, ops=[*ops[:place], _COMPARED[type(op)](), *ops[place + 1 :]])
        case ast.BoolOp():
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
            if len(node.values) == 2:
                yield from copy.deepcopy(node.values)
            else:
                for place in range(len(node.values)):
                    yield _with(node, values=[*node.values[:place], *node.values[place + 1 :]])
        case ast.UnaryOp(op=ast.Not()):
            yield copy.deepcopy(node.operand)
        case ast.BinOp(op=op) if type(op) in _COMPUTED and not _is_text(node):
            yield _with(node, op=_COMPUTED[type(op)]())
            if isinstance(op, ast.Sub):
                yield copy.deepcopy(node.left)
        case ast.IfExp():
            yield copy.deepcopy(node.body)
            yield copy.deepcopy(node.orelse)
        case ast.Call(func=ast.Name(id=name), args=[_, *_]) if name in _CALLED:
            if not (name == "sorted" and len(node.args) + len(node.keywords) > 1):
                yield _with(node, func=ast.Name(_CALLED[name], ast.Load()))
        case ast.Call() if not _logs(node):
            yield from _called_otherwise(node)
        case ast.Subscript(slice=ast.Slice(), ctx=ast.Load()):
            yield copy.deepcopy(node.value)
        case ast.Dict(keys=keys) if len(keys) > 1:
            for place in range(len(keys)):
                yield _with(
                    node,
                    keys=[*keys[:place], *keys[place + 1 :]],
                    values=[*node.values[:place], *node.values[place + 1 :]],
                )
        case ast.comprehension(ifs=[_, *_]):
            yield _with(node, ifs=[])
        case ast.Constant(value=bool()):
            yield _with(node, value=not node.value)
        case ast.Constant(value=int(number)):
            yield _with(node, value=number + 1)
        case ast.Expr(value=ast.Call()) if not _logs(node.value):
            yield ast.Pass()
        case ast.AugAssign(op=op):
            yield ast.Pass()
            if type(op) in _COMPUTED:
                yield _with(node, op=_COMPUTED[type(op)]())
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Delete() | ast.Continue() | ast.Raise():
            yield ast.Pass()
        case ast.If(orelse=[]) if not _only_logs(node):
            yield ast.Pass()


def _called_otherwise(node: ast.Call) -> Iterator[ast.AST]:
    """Yield the call with its first two arguments swapped, and without each named one that goes by its own name."""
    match node.args:
        case [ast.Name() | ast.Attribute() as first, ast.Name() | ast.Attribute() as second, *rest] if ast.dump(
            first
        ) != ast.dump(second):
            yield _with(node, args=[second, first, *rest])
    for place, keyword in enumerate(node.keywords):
        if keyword.arg not in (None, "key", "maxlen"):
            yield _with(node, keywords=[*node.keywords[:place], *node.keywords[place + 1 :]])


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is_text(node: ast.BinOp) -> bool:
    """Tell whether a sum or a product is of texts: what it says is not behaviour."""
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )


def _only_logs(node: ast.If) -> bool:
    return all(
        isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call) and _logs(inner.value) for inner in node.body
    )


def _logs(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _SEEN_BY_NOBODY
