"""How often one client may ask: Flask-Limiter, fixed windows, counted in this process's memory.

Each route is counted by itself, per client (see proxies.client_bucket), whatever the answer was. The count is exact
because there is one worker process. When counting fails, requests pass: a broken counter must not silence the service.
"""

import math
import threading
import time

import limits
from flask import Blueprint, Flask, Response, request
from flask_limiter import Limiter
from limits.storage import Storage

from cosyvoice_web.errors import RateLimited
from cosyvoice_web.web.proxies import client_bucket

PRUNE_SECONDS = 60.0


class ExactCounters(Storage):
    """Fixed-window counters under one lock.

    Differs: the library's own memory storage can lose a count when two threads open a window at once, and starts a
    timer thread for every hit.
    """

    STORAGE_SCHEME = ["exact-memory"]  # noqa: RUF012 - the library's registry wants a plain list

    def __init__(self, uri: str | None = None, wrap_exceptions: bool = False, **_options: float | str | bool) -> None:
        super().__init__(uri, wrap_exceptions)
        self._lock = threading.Lock()
        self._windows: dict[str, tuple[float, int]] = {}  # key -> end of its window, hits in it
        self._pruned_at = time.time()

    @property
    def base_exceptions(self) -> type[Exception] | tuple[type[Exception], ...]:
        """Errors of the storage itself: a dictionary has none."""
        return ()

    def _window(self, key: str, now: float) -> tuple[float, int]:
        end, count = self._windows.get(key, (now, 0))
        return (end, count) if end > now else (now, 0)

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Count `amount` hits, opening a window of `expiry` seconds when none is open."""
        with self._lock:
            now = time.time()
            if abs(now - self._pruned_at) > PRUNE_SECONDS:
                self._windows = {name: window for name, window in self._windows.items() if window[0] > now}
                self._pruned_at = now
            end, count = self._window(key, now)
            if not now < end <= now + expiry:  # no window is open, or the clock was set back since
                end, count = now + expiry, 0
            self._windows[key] = (end, count + amount)
            return count + amount

    def get(self, key: str) -> int:
        """Hits in the open window."""
        with self._lock:
            return self._window(key, time.time())[1]

    def get_expiry(self, key: str) -> float:
        """End of the open window, in seconds since the epoch."""
        with self._lock:
            return self._window(key, time.time())[0]

    def check(self) -> bool:
        """Memory is always reachable."""
        return True

    def reset(self) -> int:
        """Forget everything; returns how many windows there were."""
        with self._lock:
            count = len(self._windows)
            self._windows.clear()
            return count

    def clear(self, key: str) -> None:
        """Forget one key."""
        with self._lock:
            self._windows.pop(key, None)


class RateLimits:
    """The limits of one application: `default` for every route, unless `limit` or `exempt` says otherwise."""

    def __init__(self, app: Flask, default: str) -> None:
        self._app = app
        self._windows = limits.parse_many(default)
        self._limiter = Limiter(
            key_func=lambda: client_bucket(request.remote_addr),
            default_limits=[default],
            storage_uri="exact-memory://",
            strategy="fixed-window",
            swallow_errors=True,
            app=app,
        )
        app.after_request(self._add_headers)

    def limit(self, blueprint: Blueprint, text: str) -> None:
        """Give the routes of a blueprint their own limit."""
        self._windows += limits.parse_many(text)
        self._limiter.limit(text)(blueprint)

    def exempt(self, blueprint: Blueprint) -> None:
        """Never count the routes of a blueprint; static files are never counted anyway."""
        self._limiter.exempt(blueprint)

    def error(self) -> RateLimited:
        """The error for the current request, which is over its limit.

        Its time is the latest end of all windows that are full, so obeying it is enough.
        """
        breached = self._limiter.current_limit
        assert breached is not None  # noqa: S101 - only called for RateLimitExceeded
        ends = [breached.reset_at]
        for window in self._windows:
            end, remaining = self._limiter.limiter.get_window_stats(window, *breached.request_args)
            if remaining == 0:
                ends.append(int(end) + 1)
        wait_seconds = math.ceil(max(ends) - time.time())
        message = f"Too many requests: {breached.limit} is the allowance. Try again in {wait_seconds} s."
        return RateLimited(message, wait_seconds)

    def _add_headers(self, response: Response) -> Response:
        try:
            seen = [(limit.remaining, limit.reset_at, limit.limit.amount) for limit in self._limiter.current_limits]
        except Exception:  # whatever a storage may raise
            self._app.logger.exception("Rate limits cannot be read: answering without their headers.")
            return response
        if seen:
            remaining, reset_at, amount = min(seen)  # the limit that will be reached first
            response.headers["RateLimit-Limit"] = str(amount)
            response.headers["RateLimit-Remaining"] = str(remaining)
            response.headers["RateLimit-Reset"] = str(max(0, math.ceil(reset_at - time.time())))
        return response
