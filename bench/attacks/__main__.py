"""All attacks against running services of their own, on the loopback address, as a table.

python -m bench.attacks [AREA …]
"""

import argparse
import importlib
import pkgutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

import bench.attacks
from bench.attacks.row import Row

_NOT_AREAS = ("__main__", "row")


def main() -> None:
    known = areas()
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("areas", nargs="*", metavar="AREA", help=f"some of: {', '.join(known)}")
    chosen = options.parse_args().areas or known
    if unknown := set(chosen) - set(known):
        options.error(f"no such area: {', '.join(sorted(unknown))}")
    failed = 0
    for area in chosen:
        print(f"\n{area}", flush=True)
        try:
            for row in rows_of(area):
                failed += not row.holds
                print(line(row), flush=True)
        except Exception:  # noqa: BLE001 - the other areas are tried as well
            failed += 1
            print(f"  BROKEN  the rest of this area:\n{traceback.format_exc()}", flush=True)
    print(f"\n{f'{failed} do not hold' if failed else 'All hold'}")
    sys.exit(1 if failed else 0)


def areas() -> list[str]:
    """Return the areas, each of which is a module with `rows(folder)`."""
    modules = pkgutil.iter_modules(bench.attacks.__path__)
    return sorted(module.name for module in modules if module.name not in _NOT_AREAS)


def rows_of(area: str) -> Iterator[Row]:
    """Run the attacks of an area in a folder that is deleted afterwards."""
    module = importlib.import_module(f"bench.attacks.{area}")
    with tempfile.TemporaryDirectory(prefix=f"cqe-{area}-") as folder:
        yield from module.rows(Path(folder))


def line(row: Row) -> str:
    """Return a row as text: the attack, then its figure, its control and its bound."""
    mark = "holds " if row.holds else "BROKEN"
    return (
        f"  {mark}  {row.attack}\n"
        f"          {row.figure}; control: {row.control}; bound: {row.bound}"
    )


if __name__ == "__main__":
    main()
