"""Routes that are compiled once for all applications of a process that have the same.

A test process makes more than a thousand applications; their routes took a quarter of its time.
"""

from threading import Lock
from typing import Any, ClassVar

from werkzeug.routing import Map, Rule, RuleFactory


class SharedRoutes(Map):
    """The routes of an application, taken from an earlier one with the same when they are first used."""

    _compiled: ClassVar[dict[tuple[Any, ...], "SharedRoutes"]] = {}
    _compiling: ClassVar[Lock] = Lock()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._added: list[Rule] = []
        self._is_complete = False
        super().__init__(*args, **kwargs)

    def add(self, rulefactory: RuleFactory) -> None:
        """Note rules; compiling them waits for their first use."""
        assert not self._is_complete, "other applications have these routes already"
        self._added.extend(rulefactory.get_rules(self))

    def update(self) -> None:
        """Compile the rules, unless an earlier application has had the same."""
        if self._is_complete:
            return
        converters = frozenset(self.converters.items())
        key = (self.merge_slashes, converters, *map(_identity, self._added))
        with self._compiling:
            earlier = self._compiled.setdefault(key, self)
            if earlier is self:
                for rule in self._added:
                    super().add(rule)
                super().update()
        self._matcher = earlier._matcher
        self._rules_by_endpoint = earlier._rules_by_endpoint
        self._is_complete = True


def _identity(rule: Rule) -> tuple[Any, ...]:
    options = {**rule.get_empty_kwargs(), "methods": frozenset(rule.methods or ())}
    return rule.rule, rule.provide_automatic_options, *options.values()  # type: ignore[attr-defined]
