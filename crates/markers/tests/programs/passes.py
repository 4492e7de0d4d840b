import threading

import waykeeper


def second():
    for _ in range(5):
        waykeeper.begin(2)
        waykeeper.end(2)


waykeeper.name(1, "control")
for _ in range(100):
    with waykeeper.phase(1):
        pass
thread = threading.Thread(target=second)
thread.start()
thread.join()
print("done")
