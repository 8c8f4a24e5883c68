"""Name of the command line, as messages tell people to type it."""

from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[3]

# Only a checkout contains the script `run`.
COMMAND = "./run" if (_CHECKOUT / "run").is_file() else "cqe"
