"""The threads of a synthesis."""

from concurrent.futures import Executor, ThreadPoolExecutor

import torch


class Workers:
    """The threads of one synthesis: the caller's and one beside it, each computing its half alone.

    Halves that meet once a step of the flow share two cores better than torch's own teams, which meet at every product
    and lose most of their speed as soon as anything else runs. More than two threads make each half a team.
    """

    def __init__(self, num_threads: int) -> None:
        self._team = max(1, num_threads // 2)
        self.second: Executor | None = None
        if num_threads > 1:
            self.second = ThreadPoolExecutor(1, "synthesis", initializer=torch.set_num_threads, initargs=(self._team,))

    def enter(self) -> None:
        """Make the calling thread one of them."""
        torch.set_num_threads(self._team)

    def close(self) -> None:
        """End the second thread; blocks while it works."""
        if self.second is not None:
            self.second.shutdown()
