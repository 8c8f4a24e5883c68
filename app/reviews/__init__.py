"""Reviews by people: their effect, their agreement with the judge, and the scores fitted to them."""
