//! What would do where a policy cannot be carried out: other machines, other forms.

use waykeeper_platform::{Platform, bundled};

use crate::load::LoadedPolicy;
use crate::membership::Membership;
use crate::offer::Offer;
use crate::plan::plan;
use crate::refusal::Refusal;

impl Refusal {
    /// Adds the bundled platforms that have what a policy needs, where a machine lacks it.
    pub fn with_platforms(mut self, loaded: &LoadedPolicy) -> Self {
        if !self.lacking {
            return self;
        }
        let able: Vec<_> =
            bundled().iter().filter(|file| can(file.name, file.text, loaded)).map(|it| it.name).collect();
        self.message += &match able.as_slice() {
            [] => {
                "; no bundled platform has all that this policy needs: `waykeeper list` shows other policies".to_owned()
            }
            names => format!("; `--for` a platform that has it: {}", names.join(", ")),
        };
        self
    }
}

fn can(name: &str, text: &str, loaded: &LoadedPolicy) -> bool {
    let platform = Platform::from_toml(text, name).ok();
    platform.is_some_and(|it| plan(loaded, &Offer::of_platform(&it), &Membership::unread(&loaded.policy)).is_ok())
}
