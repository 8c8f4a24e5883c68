"""Erasure of what people have said, on request and when its time is over; numbers stay."""
