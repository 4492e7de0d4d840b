//! The workloads that come with Waykeeper: `workloads/*.toml`, compiled in.

/// A bundled file: its name and its text.
#[derive(Debug, Clone, Copy)]
pub struct Bundled {
    /// The name that experiments use.
    pub name: &'static str,
    /// The TOML text.
    pub text: &'static str,
}

macro_rules! bundle {
    ($($name:literal),* $(,)?) => {
        &[$(Bundled { name: $name, text: include_str!(concat!("../../../workloads/", $name, ".toml")) }),*]
    };
}

static BUNDLED: &[Bundled] = bundle![
    "chase_llc",
    "interrupt_handler",
    "latency_loop",
    "latency_loop_2ki",
    "latency_loop_2kl",
    "rta_128k",
    "set_crawler",
    "stream_modify",
    "stream_prefetch",
    "stream_read",
    "stream_write",
    "stress_ng_cache",
    "way_hammer",
    "way_hammer_16",
];

/// All bundled workloads, by name.
pub fn bundled() -> &'static [Bundled] {
    BUNDLED
}

/// The bundled workload of that name.
pub fn find_bundled(name: &str) -> Option<Bundled> {
    BUNDLED.iter().find(|bundled| bundled.name == name).copied()
}
