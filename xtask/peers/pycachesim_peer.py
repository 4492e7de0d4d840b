"""pycachesim as the other side of `cargo xtask bench-peers`.

Reads the addresses of each case from FOLDER, and answers lines of standard input: `run CASE FORM` with the processor
seconds of one run, `counts CASE FORM` with the counts of all levels since the start. The form is the other side's matter.

Every case is handed over in the form in which this program found it to be fastest: a list of integers, a `range` where
the addresses are evenly spaced, or an array.
"""

import array
import pathlib
import sys
import time

from cachesim import Cache, CacheSimulator, MainMemory

STORE = 1 << 63


def hierarchy():
    """32 KiB of 4 ways, 256 KiB of 8, 2 MiB of 16; lines of 64 bytes, LRU, write-back, write-allocate."""
    memory = MainMemory()
    l3 = Cache("L3", 2048, 16, 64, "LRU")
    memory.load_to(l3)
    memory.store_from(l3)
    l2 = Cache("L2", 512, 8, 64, "LRU", store_to=l3, load_from=l3)
    l1 = Cache("L1", 128, 4, 64, "LRU", store_to=l2, load_from=l2)
    return CacheSimulator(l1, memory)


def runs_of(raw):
    """The accesses as (is a store, addresses), one for each stretch of loads or of stores."""
    stretches = []
    for value in raw:
        store, address = value >= STORE, value & ~STORE
        if not stretches or stretches[-1][0] != store:
            stretches.append((store, []))
        stretches[-1][1].append(address)
    return stretches


def ranges_of(stretches):
    """The same with ranges in the place of evenly spaced addresses, or None if there are many short ones."""
    made = []
    for store, addresses in stretches:
        at = 0
        while at < len(addresses):
            step = addresses[at + 1] - addresses[at] if at + 1 < len(addresses) else 1
            end = at + 1
            while end < len(addresses) and step and addresses[end] - addresses[end - 1] == step:
                end += 1
            made.append((store, range(addresses[at], addresses[end - 1] + (1 if step > 0 else -1), step or 1)))
            at = end
    accesses = sum(len(addresses) for _, addresses in stretches)
    return made if len(made) * 16 < accesses else None


class Case:
    def __init__(self, folder, name):
        raw = array.array("Q", (folder / name).read_bytes())
        if sys.byteorder == "big":
            raw.byteswap()
        self.repeats = int((folder / name).with_suffix(".repeats").read_text())
        lists = runs_of(raw)
        arrays = [(store, array.array("q", addresses)) for store, addresses in lists]
        forms = [form for form in (lists, ranges_of(lists), arrays) if form]
        self.caches = hierarchy()
        self.form = min(forms, key=self.time_of)

    def time_of(self, form):
        caches = hierarchy()
        return min(self.time(caches, form) for _ in range(3))

    def time(self, caches, form):
        # The first level's own calls: the simulator's `load` would only choose between them, call by call.
        first = caches.first_level.backend
        calls = [(first.iterstore if store else first.iterload, addresses) for store, addresses in form]
        begun = time.thread_time()
        for _ in range(self.repeats):
            for call, addresses in calls:
                call(addresses)
        return time.thread_time() - begun

    def run(self):
        return self.time(self.caches, self.form)

    def counts(self):
        levels = [self.caches.first_level]
        while levels[-1].load_from is not None:
            levels.append(levels[-1].load_from)
        names = ("LOAD", "HIT", "MISS", "STORE", "EVICT")
        return [getattr(level.backend, name + "_count") for level in levels for name in names]


def main():
    folder = pathlib.Path(sys.argv[1])
    cases = {}
    for line in sys.stdin:
        verb, name, _ = line.split()
        if name not in cases:
            cases[name] = Case(folder, name)
        if verb == "run":
            print(cases[name].run(), flush=True)
        else:
            print(*cases[name].counts(), flush=True)


main()
