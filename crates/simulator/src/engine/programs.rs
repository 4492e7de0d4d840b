//! Which workloads run on which cores.

use waykeeper_platform::{CoreId, Platform};
use waykeeper_workload::Pattern;

use crate::engine::build;
use crate::refused::Refused;

/// Whether a program is measured or interferes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Its latency counts; one program at most.
    Target,
    /// A target whose throughput counts: it takes no samples, and runs as neighbours do.
    Throughput,
    /// It interferes.
    Neighbour,
    /// It interferes, and its buffer is the target's: both access the same lines.
    Sharing,
}

impl Role {
    /// Whether its samples are wanted.
    pub(crate) fn takes_samples(self) -> bool {
        self == Self::Target
    }

    /// Whether it is the target: what controls tell apart from all others.
    pub fn is_target(self) -> bool {
        matches!(self, Self::Target | Self::Throughput)
    }
}

/// A workload on a core.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Where it runs.
    pub core: CoreId,
    /// What it does.
    pub pattern: Pattern,
    /// What it is there for.
    pub role: Role,
}

/// What is wrong with a list of programs on a platform, with the key of the first that is.
pub fn check_programs(platform: &Platform, programs: &[Program]) -> Result<(), Refused> {
    let key = |index: usize| {
        let program = &programs[index];
        let list = if program.role.is_target() { "targets" } else { "neighbours" };
        let place =
            programs[..index].iter().filter(|earlier| earlier.role.is_target() == program.role.is_target()).count();
        format!("{list}.{place}")
    };
    for (index, program) in programs.iter().enumerate() {
        build::kind_of(platform, program.core)
            .map_err(|refused| Refused::new(format!("{}.core", key(index)), refused.why))?;
        if programs[..index].iter().any(|earlier| earlier.core == program.core) {
            let why = format!("core {} has a workload already", program.core);
            return Err(Refused::new(format!("{}.core", key(index)), why));
        }
        if program.role.is_target() && programs[..index].iter().any(|earlier| earlier.role.is_target()) {
            return Err(Refused::new(key(index), "one target at a time can be measured"));
        }
        if program.role == Role::Sharing {
            let target = programs[..index].iter().find(|earlier| earlier.role.is_target());
            let why = match target {
                Some(target) => program.pattern.cannot_share(&target.pattern),
                None => Some("no target runs before it whose buffer it could have".into()),
            };
            why.map_or(Ok(()), |why| Err(Refused::new(format!("{}.buffer", key(index)), why)))?;
        }
        can_run(platform, &program.pattern).map_err(|refused| match refused.what.as_str() {
            "workload" => Refused::new(format!("{}.workload", key(index)), refused.why),
            _ => refused,
        })?;
    }
    Ok(())
}

/// Whether a pattern can run on a simulated platform at all.
///
/// # Errors
/// External programs, and events without any access.
pub fn can_run(platform: &Platform, pattern: &Pattern) -> Result<(), Refused> {
    let refuse = |why: String| Err(Refused::new("workload", why));
    match pattern {
        Pattern::Command { argv, .. } => {
            let program = argv.first().map(String::as_str).unwrap_or_default();
            refuse(format!("`{program}` is an external program; a simulated platform runs access patterns only"))
        }
        _ if pattern.host_only().is_some() => refuse(pattern.host_only().unwrap_or_default().into()),
        Pattern::Random {
            data_accesses: 0,
            data_modifies: 0,
            random_counts: false,
            code_calls: 0,
            event_data_lines: 0,
            event_code_lines: 0,
            event_stride_lines: 1,
            ..
        } => refuse("it makes no access at all; `data_accesses` or `event_data_lines` above 0 would do".into()),
        _ if platform.memory.is_none() => Err(Refused::new("memory", "the platform has no memory timing")),
        _ => Ok(()),
    }
}
