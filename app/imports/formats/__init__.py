"""Formats: what each kind of file says, in the words of the native form; pure and streaming."""
