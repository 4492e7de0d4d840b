//! The doctor on real kernels: what it finds is what the kernel was booted with.

use waykeeper_doctor::parameters::unknown::{UNKNOWN, Value};
use waykeeper_doctor::{Outcome, View, examine};
use waykeeper_linux::Root;

/// The core that is to answer in time.
const CORE: &str = "1";

/// What the tuned kernel is booted with in addition.
pub const TUNED: &str = "isolcpus=domain,managed_irq,1 nohz_full=1 rcu_nocbs=1 irqaffinity=0,2,3 nosoftlockup \
                         transparent_hugepage=never noht";

/// What the checks find on a kernel that was booted without [`TUNED`], and with it.
const EXPECTED: [(&str, Outcome, Outcome); 9] = [
    ("virtual-machine", Outcome::Found, Outcome::Found),
    ("isolcpus", Outcome::Found, Outcome::Fine),
    ("nohz-full", Outcome::Found, Outcome::Fine),
    ("rcu-nocbs", Outcome::Found, Outcome::Fine),
    ("irq-affinity", Outcome::Found, Outcome::Fine),
    ("soft-watchdog", Outcome::Found, Outcome::Fine),
    // `noht` is no parameter.
    ("kernel-parameters", Outcome::Fine, Outcome::Found),
    ("swap", Outcome::Fine, Outcome::Fine),
    // The rig lives in a PID namespace of its own.
    ("kernel-threads", Outcome::NotSeen, Outcome::NotSeen),
];

/// Examines the kernel that runs here, which is PREEMPT_RT or is not. Only the guest calls this.
///
/// # Errors
/// What it should have found, and did not.
pub fn run(realtime: bool) -> Result<String, String> {
    let view = View::new(Root::default(), Some(CORE)).map_err(|bad| bad.0)?;
    let tuned = view.command_line.as_ref().is_some_and(|line| line.get("isolcpus").is_some());
    let examination = examine(&view);
    // A kernel with PREEMPT_RT makes no huge pages by itself.
    let of_kind = [
        ("preemption", if realtime { Outcome::Fine } else { Outcome::Found }),
        ("transparent-hugepages", if realtime || tuned { Outcome::Fine } else { Outcome::Found }),
    ];
    let expected = EXPECTED.map(|(id, plainly, when_tuned)| (id, if tuned { when_tuned } else { plainly }));
    for (id, expected) in expected.into_iter().chain(of_kind) {
        let finding = examination.findings.iter().find(|finding| finding.id == id);
        let finding = finding.ok_or_else(|| format!("the doctor has no check {id}"))?;
        if finding.outcome != expected {
            let booted = if tuned { "tuned" } else { "plain" };
            return Err(format!("doctor, {booted}: {id} should be {expected:?}, and is {finding:?}"));
        }
    }
    let hidden = examination.findings.iter().filter(|finding| finding.outcome == Outcome::NotSeen);
    let hidden: Vec<&str> = hidden.map(|finding| finding.id.as_str()).collect();
    Ok(format!("{} findings as booted; not seen: {}", EXPECTED.len() + of_kind.len(), hidden.join(", ")))
}

/// Checks that a kernel's image has none of the parameters that the doctor's table says no kernel has.
///
/// # Errors
/// The parameters that it has.
pub fn unknown_parameters_are_unknown(image: &[u8]) -> Result<usize, String> {
    // Parameters of modules have a name of their own in the module; those that are built in stand in the image as texts: with
    // `=` where a value follows a plain name, without where the name has a point in it or takes no value.
    let built_in = |row: &&waykeeper_doctor::parameters::unknown::Unknown| {
        row.value == Value::Any && !row.name.starts_with("i915.") && !row.name.starts_with("igb.")
    };
    let rows: Vec<_> = UNKNOWN.iter().filter(built_in).collect();
    let text = |name: &str| {
        let plain = name.contains('.') || ["noht", "nopicid"].contains(&name);
        format!("\0{name}{}\0", if plain { "" } else { "=" })
    };
    let has = |name: &str| {
        let needle = text(name);
        image.windows(needle.len()).any(|window| window == needle.as_bytes())
    };
    // The search itself is checked on parameters that every kernel has.
    if let Some(missing) = ["isolcpus", "intel_idle.max_cstate"].into_iter().find(|name| !has(name)) {
        return Err(format!("{missing} is not found in the image, so the search for parameters is wrong"));
    }
    let known: Vec<&str> = rows.iter().map(|row| row.name).filter(|name| has(name)).collect();
    if known.is_empty() { Ok(rows.len()) } else { Err(format!("the image has {}", known.join(", "))) }
}
