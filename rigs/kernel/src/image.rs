//! The kernels that are booted.

use waykeeper_resctrl::KernelRelease;

/// A Debian kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelImage {
    /// The generation, which the model of resctrl knows.
    pub generation: KernelRelease,
    /// Whether it is the one with PREEMPT_RT.
    pub realtime: bool,
}

impl KernelImage {
    /// The image with a name, such as `6.1` or `7.3-rt`.
    pub fn named(name: &str) -> Option<Self> {
        let (generation, realtime) = name.strip_suffix("-rt").map_or((name, false), |generation| (generation, true));
        let generation = KernelRelease::ALL.into_iter().find(|&kernel| generation_name(kernel) == generation)?;
        Some(Self { generation, realtime })
    }

    /// Its name in plans, options and the cache.
    pub fn name(self) -> String {
        format!("{}{}", self.generation_name(), if self.realtime { "-rt" } else { "" })
    }

    /// The name of its generation, with which its release begins.
    pub fn generation_name(self) -> &'static str {
        generation_name(self.generation)
    }
}

fn generation_name(kernel: KernelRelease) -> &'static str {
    match kernel {
        KernelRelease::V6_1 => "6.1",
        KernelRelease::V6_12 => "6.12",
        KernelRelease::V6_18 => "6.18",
        KernelRelease::V7_3 => "7.3",
    }
}
