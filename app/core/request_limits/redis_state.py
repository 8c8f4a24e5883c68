"""Request state in Redis: one Lua script, one round trip."""

from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

from redis.exceptions import BusyLoadingError, RedisError, ResponseError

from app.core.queue import connect
from app.core.request_limits.values import Admission, CallCount, CountBatch, Visit, status_of

_VERSION, _COUNTS, _LAST_USED, _BATCH = (
    "cqe:key-version",
    "cqe:calls",
    "cqe:last-used",
    "cqe:calls-batch",
)

# ARGV: now, fresh version, nonce life, count field, key id, then limit, window of each policy.
# KEYS: version, counts, last used, nonce (or version again), then one key a policy.
_VISIT = """
local version = redis.call('GET', KEYS[1])
if not version then
  version = ARGV[2]
  redis.call('SET', KEYS[1], version)
end
if tonumber(ARGV[3]) > 0 and
    not redis.call('SET', KEYS[4], '1', 'NX', 'EX', ARGV[3]) then
  return {version, 0}
end
local now = tonumber(ARGV[1])
local denied = false
local arrivals = {}
local answer = {version, 1}
for i = 5, #KEYS do
  local spent = tonumber(ARGV[6 + (i - 5) * 2])
  local window = tonumber(ARGV[7 + (i - 5) * 2])
  local before = math.max(now, tonumber(redis.call('GET', KEYS[i]) or now))
  local after = before + spent
  local over = after - now > window + 1e-6
  denied = denied or over
  arrivals[i] = after
  answer[#answer + 1] = string.format('%.6f', before)
  answer[#answer + 1] = string.format('%.6f', after)
  answer[#answer + 1] = over and 1 or 0
end
if not denied then
  for i = 5, #KEYS do
    local life = math.ceil(arrivals[i] - now) + 1
    redis.call('SET', KEYS[i], string.format('%.6f', arrivals[i]), 'EX', life)
  end
  if ARGV[4] ~= '' then
    redis.call('HINCRBY', KEYS[2], ARGV[4], 1)
    redis.call('HSET', KEYS[3], ARGV[5], ARGV[1])
  end
end
return answer
"""


# Sets the open counts aside under a new id, unless an earlier batch still waits to be applied.
_TAKE = """
local pending = redis.call('GET', KEYS[2])
if pending then return pending end
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
redis.call('RENAME', KEYS[1], KEYS[1] .. ':' .. ARGV[1])
redis.call('SET', KEYS[2], ARGV[1])
return ARGV[1]
"""


# Ends a batch; a late second end must not remove the mark of the next batch.
_DROP = """
redis.call('DEL', KEYS[1] .. ':' .. ARGV[1])
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
"""


class RedisState:
    """Request state in Redis; errors of Redis reach the caller, which falls back to the file."""

    def __init__(self, url: str) -> None:
        self._client = connect(url)
        self._visit = self._client.register_script(_VISIT)
        self._take = self._client.register_script(_TAKE)
        self._drop = self._client.register_script(_DROP)

    def visit(self, visit: Visit) -> Admission:
        """Run the script and parse its flat answer."""
        count = visit.count
        keys = [_VERSION, _COUNTS, _LAST_USED, f"cqe:nonce:{visit.nonce}"]
        keys += [f"cqe:limit:{limit.stored_name}" for limit in visit.limits]
        now_s = visit.now.timestamp()
        arguments: list[Any] = [f"{now_s:.6f}", token_hex(8)]
        arguments += [visit.nonce_life_s if visit.nonce else 0]
        arguments += [_field(count) if count else "", count.key_id if count else ""]
        for limit in visit.limits:
            arguments += [f"{limit.spent_s:.6f}", limit.window_s]
        answer: list[Any] = self._visit(keys=keys, args=arguments)
        triples = [answer[i : i + 3] for i in range(2, len(answer), 3)]
        any_denied = any(over for _, _, over in triples)
        statuses = [
            status_of(limit, now_s, float(before if any_denied else after), denied=bool(over))
            for limit, (before, after, over) in zip(visit.limits, triples, strict=False)
        ]
        return Admission(bool(answer[1]), statuses, _text(answer[0]))

    def uncount(self, count: CallCount) -> None:
        """Take one call back; a count may go below 0 when its batch has been drained meanwhile."""
        self._client.hincrby(_COUNTS, _field(count), -1)

    def new_key_version(self) -> None:
        """Replace the version by a fresh random one."""
        self._client.set(_VERSION, token_hex(8))

    def take_counts(self, batch_id: str) -> CountBatch | None:
        """Set the counts aside under an id, or return the last batch if it was not dropped."""
        pending = self._take(keys=[_COUNTS, _BATCH], args=[batch_id])
        if pending is None:
            return None
        taken = _text(pending)
        calls = {
            _count(_text(name)): int(number)
            for name, number in self._client.hgetall(f"{_COUNTS}:{taken}").items()
        }
        seen = {
            _text(key_id): datetime.fromtimestamp(float(moment), UTC)
            for key_id, moment in self._client.hgetall(_LAST_USED).items()
        }
        return CountBatch(taken, calls, seen)

    def drop_counts(self, batch_id: str) -> None:
        """Delete a batch that the database has stored."""
        self._drop(keys=[_COUNTS, _BATCH], args=[batch_id])


def may_have_run(error: RedisError) -> bool:
    """Return whether a script may have run although its answer did not come.

    False where Redis refused it or was never reached; only the message shows the latter.
    """
    refused = isinstance(error, ResponseError | BusyLoadingError)
    return not refused and "connecting to" not in str(error)


def _field(count: CallCount) -> str:
    return f"{count.date}|{count.key_id}|{count.operation}"


def _count(name: str) -> CallCount:
    date, key_id, operation = name.split("|", 2)
    return CallCount(key_id, date, operation)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
