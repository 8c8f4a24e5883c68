"""Operations: starting, supervising, checking and backing up the service."""
