"""Coaching of agents: sessions with their evidence and effect, and goals."""
