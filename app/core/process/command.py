"""Name of the command line, as messages tell people to type it."""

from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[3]

# An installed package has no script `run` beside it.
COMMAND = "./run" if (_CHECKOUT / "run").is_file() else "cqe"
