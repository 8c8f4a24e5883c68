"""Agreement statistics over plain values, without any table."""
