//! Heat: what slows cores down so that they do not melt.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::{Vendor, View};

const FOLDER: &str = "/sys/class/thermal";

/// So near the first trip point that a hotter day reaches it, thousandths of a degree.
const NEAR: i64 = 10_000;

pub(super) const CHECK: Check = Check {
    id: "thermal",
    subject: "frequencies that heat lowers",
    why: "Past a passive trip point the kernel or firmware lowers the cores' frequency: the same work takes longer, from one \
          moment to the next, and on the hottest day first.",
    source: "Linux Documentation/driver-api/thermal/sysfs-api.rst; Intel SDM vol. 3, Thermal Monitoring",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let devices = named(view, "cooling_device").into_iter().filter_map(|folder| cooling(view, &folder).transpose());
    let at_work = devices.collect::<Result<Vec<Seen>, NotSeen>>()?;
    if !at_work.is_empty() {
        return found(Severity::Serious, "The cores' frequency is lowered now, because of heat.", at_work, fixes());
    }
    let counts = view.rt_cores.iter().filter_map(|core| throttled(view, *core).transpose());
    let throttled = counts.collect::<Result<Vec<Seen>, NotSeen>>()?;
    if !throttled.is_empty() {
        return found(Severity::Warning, "Real-time cores were slowed down by heat since boot.", throttled, fixes());
    }
    let zones: Vec<Zone> = named(view, "thermal_zone").iter().filter_map(|folder| zone(view, folder)).collect();
    if zones.is_empty() {
        let unseen = NotSeen(format!("{FOLDER} has no zone with a temperature and a passive trip point"));
        return Err(view.hosts_affair("heat").unwrap_or(unseen));
    }
    let near: Vec<&Zone> = zones.iter().filter(|zone| zone.trip - zone.now < NEAR).collect();
    let seen = |zones: &[&Zone]| zones.iter().map(|zone| zone.seen()).collect();
    match near.as_slice() {
        [] => fine("far from every passive trip point", seen(&zones.iter().collect::<Vec<_>>())),
        near => {
            let what = format!("A zone is within {} degrees of its passive trip point.", NEAR / 1000);
            found(Severity::Warning, what, seen(near), fixes())
        }
    }
}

fn fixes() -> Vec<Fix> {
    vec![
        Fix::Other("better cooling, or a frequency that the cores can hold on the hottest day".into()),
        Fix::Other("measure at that temperature: a run on a cool day says nothing about it".into()),
    ]
}

fn named(view: &View, start: &str) -> Vec<String> {
    let names = view.root.names(FOLDER).into_iter().filter(|name| name.starts_with(start));
    names.map(|name| format!("{FOLDER}/{name}")).collect()
}

/// A device that lowers the cores' frequency, while it does.
fn cooling(view: &View, folder: &str) -> Result<Option<Seen>, NotSeen> {
    let kind = view.text(&format!("{folder}/type"))?;
    // `cpufreq-cpu0` and older `thermal-cpufreq-0` of cpufreq, `Processor` of ACPI; others are fans and chargers.
    if !kind.contains("cpufreq") && kind != "Processor" {
        return Ok(None);
    }
    let file = format!("{folder}/cur_state");
    let state = view.root.number(&file).ok_or_else(|| NotSeen(view.root.absence(&file)))?;
    Ok((state > 0).then(|| Seen::new(file, format!("{state} ({kind})"))))
}

/// How often a core of Intel's slowed down; others have no such count.
fn throttled(view: &View, core: u32) -> Result<Option<Seen>, NotSeen> {
    if !matches!(view.vendor(), Ok(Vendor::Intel)) {
        return Ok(None);
    }
    let file = format!("/sys/devices/system/cpu/cpu{core}/thermal_throttle/core_throttle_count");
    let absent = || view.hosts_affair("heat").unwrap_or_else(|| NotSeen(view.root.absence(&file)));
    let count = view.root.number(&file).ok_or_else(absent)?;
    Ok((count > 0).then(|| Seen::new(file.clone(), format!("{count} times"))))
}

/// A zone with its lowest passive trip point, in thousandths of a degree.
struct Zone {
    folder: String,
    kind: String,
    now: i64,
    trip: i64,
}

impl Zone {
    fn seen(&self) -> Seen {
        let degrees = |thousandths: i64| thousandths as f64 / 1000.0;
        let value =
            format!("{:.1} degrees, slowed down from {:.1} ({})", degrees(self.now), degrees(self.trip), self.kind);
        Seen::new(format!("{}/temp", self.folder), value)
    }
}

fn zone(view: &View, folder: &str) -> Option<Zone> {
    let number = |file: &str| view.root.text(&format!("{folder}/{file}"))?.parse::<i64>().ok();
    let is_passive = |index: &u32| {
        view.root.text(&format!("{folder}/trip_point_{index}_type")).is_some_and(|kind| kind == "passive")
    };
    let trips = (0..64).filter(is_passive).filter_map(|index| number(&format!("trip_point_{index}_temp")));
    Some(Zone {
        kind: view.root.text(&format!("{folder}/type")).unwrap_or_default(),
        now: number("temp")?,
        // 0 and less stand for a trip point that is not set.
        trip: trips.filter(|trip| *trip > 0).min()?,
        folder: folder.to_owned(),
    })
}
