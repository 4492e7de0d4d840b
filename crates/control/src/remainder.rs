//! What a restore leaves, because others have changed it since.

use serde::{Deserialize, Serialize};

use crate::schemata::DomainShare;
use crate::settings::{CpuRegister, Settings};

/// What happens to settings that others have changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OthersChanges {
    /// They stay, and so does the journal, with what was there before.
    Leave,
    /// They stay, and the journal is cleared.
    Accept,
    /// They are put back too, and what cannot be put back is given up.
    Overwrite,
}

/// What can be done about settings that others have changed, once they were left.
pub const WAYS_ON: &str =
    "`waykeeper restore --force` puts back what was there before, `waykeeper restore --keep` accepts it as it is";

/// A setting that can be left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Setting {
    Register(CpuRegister),
    Cpu(u32),
    Task(i32),
    RootShare(DomainShare),
    Mount,
}

/// A setting that was left, and how it reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remainder {
    pub setting: Setting,
    pub text: String,
}

impl Remainder {
    /// What a restore says of it.
    pub fn stays(&self) -> String {
        format!("{}; it stays so", self.text)
    }
}

impl Settings {
    /// These settings, without those that are none of `remains`. The groups of the plan are gone by then.
    pub fn only(mut self, remains: &[Setting]) -> Self {
        let is_left = |setting: Setting| remains.contains(&setting);
        self.mount = self.mount.filter(|_| is_left(Setting::Mount));
        self.groups.clear();
        self.modes.clear();
        self.cgroups.clear();
        self.shares.retain(|group, _| group.is_empty());
        for shares in self.shares.values_mut() {
            shares.retain(|domain, _| is_left(Setting::RootShare(domain.clone())));
        }
        self.cpus.retain(|cpu, _| is_left(Setting::Cpu(*cpu)));
        self.tasks.retain(|tid, _| is_left(Setting::Task(*tid)));
        self.registers.retain(|place, _| is_left(Setting::Register(*place)));
        self.register_order.retain(|place| is_left(Setting::Register(*place)));
        self
    }
}
