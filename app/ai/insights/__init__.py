"""What a judgement tells beside the score: outcome, dimensions, topics and summary."""
