"""Capacity model: what a load of recorded calls needs, from the costs of one call.

`python -m bench.capacity [--calls 2500,25000] [--call-minutes 5] …` prints the costs of one call and
the table of docs/scaling.md, in Markdown. Each cost is an option; `--help` lists them.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

CALLS = (2_500, 25_000, 250_000, 2_500_000, 10_000_000)
DAY_S = 86_400


def cost(default: float, unit: str, meaning: str, source: str) -> Any:
    """Declare a cost with its unit and where its number comes from."""
    return field(default=default, metadata={"unit": unit, "meaning": meaning, "source": source})


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of one recorded call; an option replaces each of them with your own measurement."""

    call_minutes: float = cost(5, "minutes", "length of a call", "assumed")
    recording_kbit_s: float = cost(48, "kbit/s", "both channels of a recording", "assumed")
    speech_cpu_s: float = cost(
        3.5, "s of a core", "transcribing a minute, packaged model", "measured: bench.speech_parts"
    )
    gpu_speed: float = cost(
        100, "times real time", "transcribing on one GPU", "published: 11 to 600"
    )
    requests: float = cost(8, "", "requests for a call", "assumed")
    request_ms: float = cost(
        2.5, "ms of a core", "a signed request, PostgreSQL", "measured: bench.api"
    )
    judge_ms: float = cost(
        75, "ms of a core", "evaluating a transcript and storing it", "measured: bench.intake"
    )
    events: float = cost(3, "", "webhook deliveries for a call", "assumed")
    delivery_ms: float = cost(0.7, "ms of a core", "a delivery", "measured: bench.webhooks")
    commits: float = cost(20, "", "transactions that write, without progress", "counted")
    commit_ms: float = cost(
        1, "ms of a core", "such a transaction, service and database", "assumed"
    )
    progress_s: float = cost(
        0.5, "s", "between two writes of a job's progress", "app/core/jobs/runner.py"
    )
    wal_kb: float = cost(90, "kB", "write-ahead log of PostgreSQL", "counted")
    database_kb: float = cost(60, "kB", "rows and indexes of PostgreSQL", "counted")
    fact_row_bytes: float = cost(
        685, "bytes", "a fact of analytics in PostgreSQL", "measured: bench.analytics_size"
    )
    fact_file_bytes: float = cost(
        49, "bytes", "a fact of analytics in its file", "measured: bench.analytics_size"
    )
    hot_days: float = cost(90, "days", "kept in the database", "assumed")
    peak: float = cost(3, "times", "busiest hour over the mean", "assumed")
    utilization: float = cost(0.6, "", "share of a core that is used at the peak", "assumed")
    night_utilization: float = cost(0.85, "", "the same, where a queue may last a night", "assumed")
    core_price: float = cost(25, "USD a month", "a core with 4 GB of memory", "assumed")
    gpu_price: float = cost(500, "USD a month", "a GPU", "assumed")
    disk_price: float = cost(0.1, "USD a month", "a GB of the database's disk, twice", "assumed")
    blob_price: float = cost(0.02, "USD a month", "a GB of object storage", "assumed")


@dataclass(frozen=True, slots=True)
class Load:
    """Needs of a number of calls a day."""

    calls: float
    costs: Costs

    @property
    def _call_s(self) -> float:
        return self.costs.call_minutes * 60

    @property
    def _speech_s(self) -> float:
        return self.costs.call_minutes * self.costs.speech_cpu_s

    @property
    def _commits_of_call(self) -> float:
        return self.costs.commits + self._speech_s / self.costs.progress_s

    def _mean(self, per_call: float) -> float:
        return self.calls * per_call / DAY_S

    def _sized(self, per_call_s: float) -> float:
        """Return the processors for so many seconds of one for each call, at the peak."""
        return self._mean(per_call_s) * self.costs.peak / self.costs.utilization

    def _over_night(self, per_call_s: float) -> float:
        return self._mean(per_call_s) / self.costs.night_utilization

    def recorded_hours(self) -> float:
        return self.calls * self.costs.call_minutes / 60

    def speech_cores(self) -> float:
        return self._sized(self._speech_s)

    def speech_gpus(self) -> float:
        return self._sized(self._call_s / self.costs.gpu_speed)

    def night_cores(self) -> float:
        return self._over_night(self._speech_s)

    def night_gpus(self) -> float:
        return self._over_night(self._call_s / self.costs.gpu_speed)

    def other_cores(self) -> float:
        costs = self.costs
        requests_ms = costs.requests * costs.request_ms
        deliveries_ms = costs.events * costs.delivery_ms
        commits_ms = self._commits_of_call * costs.commit_ms
        return self._sized((requests_ms + costs.judge_ms + deliveries_ms + commits_ms) / 1000)

    def requests(self) -> float:
        return self._mean(self.costs.requests) * self.costs.peak

    def deliveries(self) -> float:
        return self._mean(self.costs.events) * self.costs.peak

    def commits(self) -> float:
        return self._mean(self._commits_of_call) * self.costs.peak

    def wal_bytes_s(self) -> float:
        return self._mean(self.costs.wal_kb * 1e3) * self.costs.peak

    def database_bytes(self) -> float:
        return self.calls * self.costs.database_kb * 1e3

    def hot_bytes(self) -> float:
        return self.database_bytes() * self.costs.hot_days

    def recording_bytes(self) -> float:
        return self.calls * self._call_s * self.costs.recording_kbit_s * 1e3 / 8

    def facts(self) -> float:
        return self.calls * 365

    def fact_row_bytes(self) -> float:
        return self.facts() * self.costs.fact_row_bytes

    def fact_file_bytes(self) -> float:
        return self.facts() * self.costs.fact_file_bytes

    def monthly_price(self) -> float:
        """Return the price with the cheaper speech, and recordings kept as long as the rest."""
        costs = self.costs
        speech = min(
            self.speech_cores() * costs.core_price, max(1, self.speech_gpus()) * costs.gpu_price
        )
        disks = (self.hot_bytes() + self.fact_row_bytes()) / 1e9 * costs.disk_price
        blobs = self.recording_bytes() * costs.hot_days / 1e9 * costs.blob_price
        return speech + max(1, self.other_cores()) * costs.core_price + disks + blobs


def number(value: float) -> str:
    """Write a number with two significant digits."""
    if value >= 1e9:
        return f"{rounded(value / 1e9)} G"
    if value >= 1e6:
        return f"{rounded(value / 1e6)} M"
    return "< 1" if value < 1 else rounded(value)


def rounded(value: float) -> str:
    """Write a number with two significant digits, without unit."""
    return f"{value:.1f}" if value < 10 else f"{float(f'{value:.2g}'):,.0f}"


def size(value: float) -> str:
    """Write a number of bytes."""
    units = (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
    unit, divisor = next((unit for unit in units if value >= unit[1]), units[-1])
    return f"{rounded(value / divisor)} {unit}"


ROWS: Sequence[tuple[str, Callable[[Load], float], Callable[[float], str]]] = (
    ("recorded hours a day", Load.recorded_hours, number),
    ("cores for speech", Load.speech_cores, number),
    ("or GPUs for speech", Load.speech_gpus, number),
    ("cores for speech, if results may wait overnight", Load.night_cores, number),
    ("or GPUs, if results may wait overnight", Load.night_gpus, number),
    ("cores for all the rest", Load.other_cores, number),
    ("requests/s, peak", Load.requests, number),
    ("webhook deliveries/s, peak", Load.deliveries, number),
    ("commits/s, peak", Load.commits, number),
    ("write-ahead log a second, peak", Load.wal_bytes_s, size),
    ("database, growth a day", Load.database_bytes, size),
    ("database, as long as it is kept", Load.hot_bytes, size),
    ("recordings a day", Load.recording_bytes, size),
    ("facts of analytics a year", Load.facts, number),
    ("the same in PostgreSQL", Load.fact_row_bytes, size),
    ("the same in files", Load.fact_file_bytes, size),
    ("USD a month", Load.monthly_price, number),
)


def load_table(costs: Costs, calls: Sequence[int] = CALLS) -> str:
    """Return what each number of calls a day needs."""
    loads = [Load(count, costs) for count in calls]
    lines = ["| Calls a day | " + " | ".join(f"{count:,}" for count in calls) + " |"]
    lines.append("|---|" + "--:|" * len(calls))
    for name, needed, write in ROWS:
        lines.append(f"| {name} | " + " | ".join(write(needed(load)) for load in loads) + " |")
    return "\n".join(lines)


def cost_table(costs: Costs) -> str:
    """Return the costs of one call and their sources."""
    lines = ["| Option | Cost | Of | Source |", "|---|--:|---|---|"]
    for each in fields(costs):
        option = each.name.replace("_", "-")
        amount = f"{getattr(costs, each.name):g} {each.metadata['unit']}".strip()
        meaning, source = each.metadata["meaning"], each.metadata["source"]
        lines.append(f"| `--{option}` | {amount} | {meaning} | {source} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Print what a load of recorded calls needs.")
    parser.add_argument("--calls", help="numbers of calls a day, separated by commas")
    for each in fields(Costs):
        parser.add_argument(
            f"--{each.name.replace('_', '-')}",
            type=float,
            default=each.default,
            help=f"{each.metadata['meaning']} ({each.metadata['unit']})",
        )
    chosen = vars(parser.parse_args())
    calls = chosen.pop("calls")
    costs = Costs(**chosen)
    print(cost_table(costs), end="\n\n")
    print(load_table(costs, [*map(int, calls.split(","))] if calls else CALLS))


if __name__ == "__main__":
    main()
