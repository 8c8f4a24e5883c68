"""`python worker.py`: the worker alone, which sends webhooks, runs jobs and periodic tasks."""

from app.operations.background_work import run_worker

if __name__ == "__main__":
    run_worker()
