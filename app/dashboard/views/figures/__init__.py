"""Views of figures: means, changes, ranks and trends with the lists behind them."""
