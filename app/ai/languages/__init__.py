"""What is known of each language: its words, its phrases, and how it is told from others."""
