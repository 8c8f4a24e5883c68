"""From sound to text to judgement: pure functions and engines, with no table and no request."""
