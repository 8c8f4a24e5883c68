"""`python worker.py`: sends webhooks, does the queued jobs, sweeps and keeps house."""

from app.operations.worker_command import main

if __name__ == "__main__":
    main()
