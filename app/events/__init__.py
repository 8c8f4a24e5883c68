"""Events: their catalogue, and the outbox that stores each one as it is sent."""
