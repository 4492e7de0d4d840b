"""The states of a board: off, and booted with a shell over ssh."""

import enum
import time

import attr
from labgrid import step, target_factory
from labgrid.driver import ExecutionError
from labgrid.strategy import Strategy, StrategyError, never_retry

BOOT_S = 120


class Status(enum.Enum):
    unknown = 0
    off = 1
    shell = 2


@target_factory.reg_driver
@attr.s(eq=False)
class BoardStrategy(Strategy):
    """Switches the power, and waits for ssh."""

    bindings = {"power": "PowerProtocol", "ssh": "SSHDriver"}
    status = attr.ib(default=Status.unknown)

    @never_retry
    @step(args=["status"])
    def transition(self, status, *, step):
        status = status if isinstance(status, Status) else Status[status]
        if status == self.status:
            step.skip("nothing to do")
            return
        if status == Status.off:
            self.target.deactivate(self.ssh)
            self.target.activate(self.power)
            self.power.off()
        elif status == Status.shell:
            self.transition(Status.off)
            self.power.on()
            self._wait_for_ssh()
        else:
            raise StrategyError(f"found no way from {self.status} to {status}")
        self.status = status

    def _wait_for_ssh(self):
        until = time.monotonic() + BOOT_S
        while True:
            try:
                self.target.activate(self.ssh)
                return
            except ExecutionError as error:
                if time.monotonic() > until:
                    raise StrategyError(f"the board does not answer over ssh {BOOT_S} s after power on: {error}") from error
                time.sleep(1)
