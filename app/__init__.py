"""CQE, the Conversation Quality Evaluation Service."""

__version__ = "1.0.0"
