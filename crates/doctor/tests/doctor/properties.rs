//! What holds for every check and every tree: what is not there is not fine.

use waykeeper_doctor::{Outcome, Smis, View, examine};
use waykeeper_linux::fixtures::{arm, epyc, hybrid, xeon};
use waykeeper_linux::{Recording, Root, format_cpulist};

use crate::both_ways;
use crate::tree::Tree;

/// A tree with its real-time cores.
pub type Case = (String, Recording, Option<&'static str>);

/// Every tree that the tests of this crate have.
pub fn trees() -> Vec<Case> {
    let made_up = [("hybrid", hybrid()), ("xeon", xeon()), ("epyc", epyc()), ("arm", arm())];
    let mut trees: Vec<Case> = made_up.map(|(name, it)| (name.to_owned(), it.recording(), None)).into();
    trees.push(("tuned".into(), Tree::tuned().recording(), Some("4-5")));
    trees.extend(both_ways::trees().into_iter().map(|(name, tree)| (name, tree.recording(), Some("4-5"))));
    trees
}

pub fn view(recording: &Recording, cores: Option<&str>) -> Option<View> {
    let view = View::new(Root::from(recording.clone()), cores).ok()?;
    Some(View { smis: Smis::NotCounted("a tree stands still".into()), ..view })
}

/// Folders whose entries are counted by what is in them.
const FOLDERS: [&str; 4] = ["/proc", "/proc/irq", "/sys/bus/pci/devices", "/sys/class/drm"];

/// Answers that a second file holds up, in trees of rows that made only the first one differ.
const HELD_UP: [(&str, &str); 2] = [
    // The policy `performance` keeps every link awake, whatever else is set.
    ("aspm", "/link/"),
    // The version stands in /proc/version too.
    ("rt-throttling", "kernel/osrelease"),
];

#[test]
fn taking_a_file_away_makes_nothing_fine() {
    let mut wrong = Vec::new();
    for (name, whole, cores) in trees() {
        let Some(before) = view(&whole, cores) else { continue };
        let rt_cores = format_cpulist(&before.rt_cores);
        let before = examine(&before);
        for (path, _) in whole.files() {
            let mut less = whole.clone();
            less.remove(path);
            // A manifest promises what is there; without the file that it promised it would be another machine's.
            if path != "manifest.toml" {
                less.remove("manifest.toml");
            }
            // A device or a process of which no file is left is none: that is another machine.
            if FOLDERS.iter().any(|folder| whole.names(folder).len() != less.names(folder).len()) {
                continue;
            }
            let Some(after) = view(&less, Some(&rt_cores)) else { continue };
            let after = examine(&after);
            let turned = before.findings.iter().zip(&after.findings).filter(|(before, after)| {
                before.outcome != Outcome::Fine
                    && after.outcome == Outcome::Fine
                    && !HELD_UP.iter().any(|(id, part)| before.id == *id && path.contains(part))
            });
            wrong.extend(turned.map(|(before, after)| {
                format!("{name}: {}: without {path}: {} -> {}", before.id, before.what, after.what)
            }));
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} answers:\n{}", wrong.len(), wrong.join("\n"));
}
