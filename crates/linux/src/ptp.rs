//! What keeps the clocks of a machine in step with others: the programs of linuxptp, and the clocks of devices.

use crate::Root;

/// The folder of clocks of devices.
const CLOCKS: &str = "/sys/class/ptp";

/// What is known of time from the network. Each answer is absent with its reason, as half a sentence, where it cannot be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtpState {
    /// Whether `ptp4l` runs, which keeps a device's clock, or the system's, in step with another machine's.
    pub ptp4l: Result<bool, String>,
    /// Whether `phc2sys` runs, which keeps the system's clock and those of devices in step with each other.
    pub phc2sys: Result<bool, String>,
    /// The clocks of devices.
    pub clocks: Result<Vec<DeviceClock>, String>,
}

/// The clock of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceClock {
    /// Its number: `/dev/ptpN`.
    pub number: u32,
    /// What its driver calls it.
    pub name: Option<String>,
}

impl PtpState {
    /// Reads the state of a machine.
    pub fn read(root: &Root) -> Self {
        let programs = programs(root);
        let runs = |name: &str| programs.as_ref().map(|all| all.iter().any(|one| one == name)).map_err(Clone::clone);
        Self { ptp4l: runs("ptp4l"), phc2sys: runs("phc2sys"), clocks: clocks(root) }
    }
}

/// The names of all processes that run.
fn programs(root: &Root) -> Result<Vec<String>, String> {
    // Who may not see the first process sees its own alone.
    if root.text("/proc/1/comm").is_none() {
        return Err(root.absence("/proc/1/comm"));
    }
    Ok(root.processes().filter_map(|process| root.text(&format!("/proc/{process}/comm"))).collect())
}

fn clocks(root: &Root) -> Result<Vec<DeviceClock>, String> {
    let names = root.names(CLOCKS);
    if names.is_empty() && root.names("/sys/class").is_empty() {
        return Err(root.absence(CLOCKS));
    }
    let number = |name: &String| name.strip_prefix("ptp")?.parse().ok();
    let clock = |number| DeviceClock { number, name: root.text(&format!("{CLOCKS}/ptp{number}/clock_name")) };
    Ok(names.iter().filter_map(number).map(clock).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn programs_and_clocks_are_there_or_not_there_or_not_seen() {
        let (_folder, root) = machine(&[
            ("proc/1/comm", "init\n"),
            ("proc/700/comm", "ptp4l\n"),
            ("proc/self/comm", "phc2sys\n"),
            ("sys/class/ptp/ptp1/clock_name", "igc-0000:01:00.0\n"),
        ]);
        let state = PtpState::read(&root);
        assert_eq!((&state.ptp4l, &state.phc2sys), (&Ok(true), &Ok(false)));
        assert_eq!(state.clocks, Ok(vec![DeviceClock { number: 1, name: Some("igc-0000:01:00.0".into()) }]));
        let (_folder, root) = machine(&[("proc/700/comm", "ptp4l\n"), ("sys/class/net/lo/mtu", "1")]);
        let state = PtpState::read(&root);
        assert!(state.ptp4l.unwrap_err().contains("/proc/1/comm"));
        assert_eq!(state.clocks, Ok(vec![]));
        let (_folder, root) = machine(&[("proc/1/comm", "init\n")]);
        assert!(PtpState::read(&root).clocks.unwrap_err().contains("/sys/class/ptp"));
    }
}
