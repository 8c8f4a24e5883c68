"""Directory: call centres and the executives who handle contacts."""
