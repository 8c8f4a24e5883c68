"""Analytics: summaries, leaderboards, trends and exports of what was evaluated."""
