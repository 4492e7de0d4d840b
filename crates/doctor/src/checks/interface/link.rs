//! Whether packets can pass.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "if-link",
    subject: "the link of the interface",
    why: "Without a link no packet passes. With half duplex a packet waits while the other end sends, and is repeated after a \
          collision.",
    source: "Linux Documentation/ABI/testing/sysfs-class-net; IEEE 802.3",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let interface = view.named_interface()?;
    let (state_file, duplex_file) = (interface.file("operstate"), interface.file("duplex"));
    let state = view.text(&state_file)?;
    let seen = vec![Seen::new(state_file, state.clone())];
    match state.as_str() {
        "up" => {}
        // A driver that does not say, such as that of loopback: the carrier is what is left.
        "unknown" if view.root.text(&interface.file("carrier")).as_deref() == Some("1") => {}
        "unknown" => return not_seen(format!("the driver does not say whether {} has a link", interface.name)),
        _ => {
            let fixes = vec![
                Fix::Command(format!("ip link set {} up", interface.name)),
                Fix::Other("check the cable and the other end".into()),
            ];
            return found(Severity::Serious, format!("{} has no link ({state}).", interface.name), seen, fixes);
        }
    }
    match view.root.text(&duplex_file).as_deref() {
        Some("half") => {
            let seen = vec![Seen::new(duplex_file, "half")];
            let fixes = vec![Fix::Other("let both ends negotiate: ethtool -s IF autoneg on, on either".into())];
            found(Severity::Serious, format!("{} runs with half duplex.", interface.name), seen, fixes)
        }
        duplex => {
            let speed = view.root.number(&interface.file("speed")).map(|speed| format!(", {speed} Mbit/s"));
            let duplex = duplex.filter(|duplex| *duplex == "full").map_or("", |_| ", full duplex");
            fine(format!("up{}{duplex}", speed.unwrap_or_default()), seen)
        }
    }
}
