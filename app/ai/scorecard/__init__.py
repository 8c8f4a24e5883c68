"""What a scorecard is made of, and what is wrong with a document that should be one."""
