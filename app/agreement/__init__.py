"""How well raters agree: the statistics of it, over plain values and without any table."""
