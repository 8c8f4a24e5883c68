"""Cryptography: encryption of stored secrets, signed URLs and request signatures."""
