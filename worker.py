"""`python worker.py`: the worker alone, which sends webhooks, runs jobs and periodic tasks."""

from app.operations import worker

if __name__ == "__main__":
    worker.run()
