"""What happened: the catalogue of events, and the outbox that keeps each as it will be sent."""
