"""Blueprint of pages: an endpoint without a scope is refused at start."""

from collections.abc import Callable
from typing import Any, TypeVar

from flask import Blueprint

from app.web.principal import has_scope

View = TypeVar("View", bound=Callable[..., Any])


def public(view: View) -> View:
    """Mark an endpoint that answers without a session."""
    view.is_public = True  # type: ignore[attr-defined]
    return view


def from_anywhere(view: View) -> View:
    """Mark a public endpoint that takes forms which no page of ours has sent."""
    view.is_from_anywhere = True  # type: ignore[attr-defined]
    return view


class PageBlueprint(Blueprint):
    """Pages of one part of the dashboard, each behind a scope or marked `@public`.

    `scope` is the one of the pages without a `@require_scope` of their own.
    """

    def __init__(self, *names: Any, scope: str | None = None, **options: Any) -> None:
        super().__init__(*names, **options)
        self._scope = scope

    def add_url_rule(
        self,
        rule: str,
        endpoint: str | None = None,
        view_func: Callable[..., Any] | None = None,
        provide_automatic_options: bool | None = None,
        **options: Any,
    ) -> None:
        """Register an endpoint; the gate reads its mark at each request."""
        if not (hasattr(view_func, "is_public") or has_scope(view_func, self._scope)):
            raise TypeError(f"{self.name}: {rule} has no scope; add @require_scope")
        super().add_url_rule(rule, endpoint, view_func, provide_automatic_options, **options)
