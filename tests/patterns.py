"""Every regular expression of the service, found in its modules and in their source."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import app
from app.judge.languages.lexicon import LANGUAGES, lexicon_of

_WAYS = {"match": "match", "fullmatch": "fullmatch"}
_EVERYWHERE = "finditer"
# Functions that look for the pattern that they are given everywhere.
_SEARCHES = r"\bmatches_near\((\w+),"
# Where the source does not show it.
_ANY_WAY = {_EVERYWHERE, *_WAYS}


@dataclass
class Known:
    """A pattern with the place that it was found at and the ways in which it is applied."""

    where: str
    pattern: re.Pattern[str]
    ways: set[str] = field(default_factory=set)


class Patterns:
    """All patterns; `unreadable` are calls whose pattern is only known while they run."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, int], Known] = {}
        self.unreadable: set[str] = set()
        self._seen: dict[int, object] = {}
        for module in _modules():
            source = inspect.getsource(module)
            ways = _ways_by_name(source)
            for name, value in vars(module).items():
                self._walk(value, f"{module.__name__}.{name}", ways.get(name, _ANY_WAY))
            self._read_calls(module, ast.parse(source))
        for language in sorted(LANGUAGES):
            self._walk(lexicon_of(language), f"lexicon {language}", {_EVERYWHERE})

    def _walk(self, value: object, where: str, ways: set[str]) -> None:
        if isinstance(value, re.Pattern):
            self._add(value, where, ways)
        elif id(value) not in self._seen:
            # Keeping the value keeps its id from being given to another.
            self._seen[id(value)] = value
            for name, inner in _parts_of(value):
                self._walk(inner, f"{where}.{name}" if name else where, ways)

    def _add(self, pattern: re.Pattern[Any], where: str, ways: set[str]) -> None:
        if isinstance(pattern.pattern, str):
            known = self.known.setdefault((pattern.pattern, pattern.flags), Known(where, pattern))
            known.ways |= ways

    def _read_calls(self, module: ModuleType, tree: ast.Module) -> None:
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            where = f"{module.__name__}.{function.name}"
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and _is_of_re(call.func):
                    self._read_call(module, call, where)

    def _read_call(self, module: ModuleType, call: ast.Call, where: str) -> None:
        method = call.func.attr  # type: ignore[attr-defined]
        if method == "escape":
            return
        try:
            source = ast.Expression(call.args[0])
            pattern = eval(compile(source, where, "eval"), dict(vars(module)))
        except NameError:
            self.unreadable.add(where)
        else:
            self._add(re.compile(pattern), where, {_WAYS.get(method, _EVERYWHERE)})


def _modules() -> Iterator[ModuleType]:
    for each in pkgutil.walk_packages(app.__path__, "app."):
        yield importlib.import_module(each.name)


def _is_of_re(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
    )


def _ways_by_name(source: str) -> dict[str, set[str]]:
    """Return how a module applies what it calls methods of, or searches with."""
    ways: dict[str, set[str]] = defaultdict(set)
    for name, method in re.findall(r"\b(\w+)\.(\w+)\(", source):
        ways[name].add(_WAYS.get(method, _EVERYWHERE))
    for name in re.findall(_SEARCHES, source):
        ways[name].add(_EVERYWHERE)
    return ways


def _parts_of(value: object) -> Iterable[tuple[str, object]]:
    if isinstance(value, Mapping):
        return [("", each) for each in value.values()]
    if isinstance(value, tuple | list | set | frozenset):
        return [("", each) for each in value]
    if isinstance(value, type):
        return list(vars(value).items()) if value.__module__.startswith("app.") else ()
    if type(value).__module__.startswith("app."):
        slots = (name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()))
        slotted = [(name, getattr(value, name)) for name in slots if hasattr(value, name)]
        return [*slotted, *getattr(value, "__dict__", {}).items()]
    return ()
