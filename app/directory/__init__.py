"""The directory: call centres, and the executives who handle contacts."""
