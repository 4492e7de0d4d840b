//! Steps that lead the kernel itself astray: nothing that it says afterwards means anything. They are not carried out.
//! See docs/resctrl.md.

use waykeeper_resctrl::{FileOperation, KernelRelease, Reply};

use crate::modelled::Modelled;
use crate::step::Step;

/// Whether a step is one of them.
pub fn leads_astray(state: &Modelled, step: &Step) -> bool {
    match step {
        Step::Unmount => frees_twice(state.resctrl.machine().kernel) && !locking_groups(state).is_empty(),
        Step::Do(FileOperation::Rename { from, to }) => {
            from.starts_with(b"info/") || locking_groups(state).iter().any(|group| to.starts_with(group))
        }
        Step::Do(FileOperation::Write { path, data }) => {
            let lines = data.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count();
            let group = path.strip_suffix(b"schemata");
            group.is_some_and(|group| lines > 1 && locking_groups(state).iter().any(|locking| locking == group))
        }
        _ => false,
    }
}

/// Unmounting frees the RMID of a group in pseudo-locksetup again, which was freed when the group came there.
fn frees_twice(kernel: KernelRelease) -> bool {
    [KernelRelease::V6_1, KernelRelease::V6_12, KernelRelease::V6_18].contains(&kernel)
}

/// Groups in pseudo-locksetup or pseudo-locked, each with a slash at its end.
pub fn locking_groups(state: &Modelled) -> Vec<Vec<u8>> {
    let mut resctrl = state.resctrl.clone();
    let entries = resctrl.entries(b"").unwrap_or_default();
    let directories = entries.into_iter().filter(|entry| entry.directory).map(|entry| [&entry.name[..], b"/"].concat());
    let is_locking = |directory: &Vec<u8>| {
        let path = [directory, &b"mode"[..]].concat();
        // The file may be hidden from reading, but only here.
        let _ = resctrl.apply(&FileOperation::Chmod { path: path.clone(), mode: 0o644 });
        let mode = resctrl.apply(&FileOperation::Read { path });
        matches!(mode, Ok(Reply::Bytes(mode)) if mode.starts_with(b"pseudo-lock"))
    };
    directories.filter(is_locking).collect()
}
