"""CQE, the Conversation Quality Evaluation Service."""

__version__ = "0.1.0"
