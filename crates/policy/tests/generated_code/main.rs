//! The code that plans are written as is compiled by the compilers of its machines, and run on models of them.

mod cluster;
mod compiler;
mod component;
mod lockdown;
mod pl310;
mod uboot;

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_policy::{Form, LoadedPolicy, Membership, Offer, lower, plan};

fn offer(platform: &str) -> Offer {
    Offer::of_platform(&Platform::from_toml(find_bundled(platform).unwrap().text, platform).unwrap())
}

/// The text of a bundled policy, or of one in TOML.
fn text(policy: &str, platform: &str, form: Form) -> String {
    let loaded = match LoadedPolicy::open(policy) {
        Ok(loaded) => loaded,
        Err(_) => LoadedPolicy::from_text("my", "my.toml", &format!("title = 'x'\n{policy}")).unwrap(),
    };
    let offer = offer(platform);
    let assignment = plan(&loaded, &offer, &Membership::unread(&loaded.policy)).unwrap();
    lower(&assignment, &offer, form).unwrap().script(&assignment)
}
