"""URL rules that are made for finding a view: this service builds no URL from a rule."""

from collections.abc import Callable

from werkzeug.routing import Rule


class FindingRule(Rule):
    """A rule whose other direction is compiled when somebody asks for it."""

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        """Put off what only `url_for` needs; it was three quarters of building an application."""

        def build(rule: Rule, **values: object) -> tuple[str, str]:
            compiled = Rule._compile_builder(rule, append_unknown)
            built: tuple[str, str] = compiled(rule, **values)
            return built

        return build
