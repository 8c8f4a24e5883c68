"""People in the loop: what they say of a judgement, and what it changes."""
