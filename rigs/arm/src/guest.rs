//! The guests.

/// A guest: a processor, and how QEMU makes it.
#[derive(Debug)]
pub struct Guest {
    /// Its name, which is the folder of its kernel in the cache.
    pub name: &'static str,
    /// The C compiler for it.
    pub compiler: &'static str,
    /// The emulator.
    pub qemu: &'static str,
    /// Its machine.
    pub options: &'static [&'static str],
    /// Its network card, which a module of the kernel drives.
    pub network: &'static str,
    /// Parameters of the kernel.
    pub kernel_options: &'static str,
    /// The step of its counter, as `run` says it.
    pub counter_step: &'static str,
    /// The kind of its cores, as `machine` must name it.
    pub cores: &'static str,
    /// How `uname -m` calls the architecture.
    pub architecture: &'static str,
}

/// All guests.
pub const GUESTS: [Guest; 2] = [
    Guest {
        name: "aarch64",
        compiler: "aarch64-linux-gnu-gcc",
        qemu: "qemu-system-aarch64",
        // Nothing is booted from the network, and the firmware for that is in a package of its own.
        options: &[
            "-machine",
            "virt",
            "-cpu",
            // The counter of most boards. QEMU's own would have 62.5 MHz.
            "cortex-a76,cntfrq=24000000",
            "-smp",
            "2",
            "-m",
            "1024",
            "-global",
            "virtio-net-pci.romfile=",
        ],
        network: "virtio-net-pci",
        kernel_options: "console=ttyAMA0",
        counter_step: "41.7 ns",
        cores: "Cortex-A76",
        architecture: "aarch64",
    },
    Guest {
        name: "armv7",
        compiler: "arm-linux-gnueabihf-gcc",
        qemu: "qemu-system-arm",
        // The board always has four cores; the kernel waits long for those that are not given.
        options: &["-machine", "vexpress-a9,secure=off", "-cpu", "cortex-a9", "-smp", "4", "-m", "1024"],
        network: "lan9118",
        kernel_options: "console=ttyAMA0 nr_cpus=2",
        counter_step: "1 us",
        cores: "Cortex-A9",
        architecture: "armv7l",
    },
];
