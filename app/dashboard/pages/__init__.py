"""Pages: each module with a blueprint `blp` has the endpoints of one part."""

from importlib import import_module
from pkgutil import walk_packages

from app.dashboard.blueprint import PageBlueprint


def load_blueprints() -> list[PageBlueprint]:
    """Import every module of pages, and return their blueprints."""
    names = (module.name for module in walk_packages(__path__, f"{__name__}."))
    modules = [import_module(name) for name in names]
    return [module.blp for module in modules if hasattr(module, "blp")]
