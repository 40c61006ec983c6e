"""Peak memory of a stretch of code."""

import resource
import threading


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


class Peak:
    """The highest resident memory while inside: looked at every millisecond, and never below what the kernel saw."""

    def __enter__(self) -> "Peak":
        self.highest, self._before = resident(), _high_water()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if _high_water() > self._before:
            self.highest = max(self.highest, _high_water())

    def _watch(self) -> None:
        while not self._stop.wait(0.001):
            self.highest = max(self.highest, resident())


def _high_water() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
