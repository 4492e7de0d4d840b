//! Loads: workloads that run in a room from the start, and the sleeping processes that stand for them.

use std::path::Path;

use waykeeper_experiment::site::cache_shapes;
use waykeeper_platform::explain::read_toml_text;
use waykeeper_platform::{CoreId, Platform, parse_cpulist, read_text};
use waykeeper_workload::{Pattern, Workload, find_bundled};

/// A load as it is written: `[target:]WORKLOAD@CORES`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// A bundled workload's name, or a file.
    pub workload: String,
    /// The cores, each with its own copy.
    pub cores: Vec<CoreId>,
    /// Whether its latency is what counts.
    pub target: bool,
}

/// A load on one core of a platform, with its sizes resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedLoad {
    /// The workload's name.
    pub name: String,
    /// The core.
    pub core: CoreId,
    /// What it does.
    pub pattern: Pattern,
    /// Whether its latency is what counts.
    pub target: bool,
}

/// What is wrong with a load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found `{load}` as a load, but {why}")]
pub struct BadLoad {
    /// The load as it was written.
    pub load: String,
    /// What is wrong, and what would do.
    pub why: String,
}

impl Load {
    /// Reads a load.
    ///
    /// # Errors
    /// What is not of the form.
    pub fn parse(text: &str) -> Result<Self, BadLoad> {
        let bad = |why: &str| BadLoad { load: text.into(), why: why.into() };
        let (target, rest) = match text.strip_prefix("target:") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (workload, cores) = rest
            .rsplit_once('@')
            .ok_or_else(|| bad("it names no cores; expected [target:]WORKLOAD@CORES, such as cache_stressor@1-3"))?;
        let cores = parse_cpulist(cores).filter(|cores| !cores.is_empty());
        let cores = cores.ok_or_else(|| bad("its cores are no list of cores; expected one such as 1-3 or 0,2"))?;
        if workload.is_empty() {
            return Err(bad("it names no workload; `waykeeper list` shows those that there are"));
        }
        if target && cores.len() != 1 {
            return Err(bad("a target runs on one core"));
        }
        Ok(Self { workload: workload.into(), cores, target })
    }

    /// Puts it on a platform's cores.
    ///
    /// # Errors
    /// Workloads that there are not, that cannot run here, and cores that the platform does not have.
    pub fn place(&self, platform: &Platform) -> Result<Vec<PlacedLoad>, BadLoad> {
        let cores = waykeeper_platform::format_cpulist(&self.cores);
        let bad = |why: String| BadLoad { load: format!("{}@{cores}", self.workload), why };
        let (name, text) = match find_bundled(&self.workload) {
            Some(bundled) => (bundled.name.to_owned(), bundled.text.to_owned()),
            None => {
                let text = read_text(&self.workload).map_err(|error| {
                    bad(format!(
                        "`{}` is neither a bundled workload (`waykeeper list` shows them) nor a file that can be read \
                         ({error})",
                        self.workload
                    ))
                })?;
                let name = Path::new(&self.workload).file_stem().unwrap_or_default().to_string_lossy().into_owned();
                (name, text)
            }
        };
        let workload: Workload = read_toml_text(&text).map_err(|why| bad(format!("{}: {why}", self.workload)))?;
        let place = |core: &CoreId| {
            if platform.core_kind(*core).is_none() {
                let there = waykeeper_platform::format_cpulist(&platform.core_ids());
                return Err(bad(format!("platform {} has no core {core}; it has {there}", platform.name)));
            }
            let pattern = resolve(&workload, platform, *core).map_err(bad)?;
            Ok(PlacedLoad { name: name.clone(), core: *core, pattern, target: self.target })
        };
        self.cores.iter().map(place).collect()
    }
}

/// A workload with the sizes that it has on a core, if it can be simulated there.
pub(crate) fn resolve(workload: &Workload, platform: &Platform, core: CoreId) -> Result<Pattern, String> {
    let pattern = workload.resolve(&cache_shapes(platform, core)).map_err(|refused| refused.to_string())?;
    waykeeper_simulator::can_run(platform, &pattern).map_err(|refused| refused.to_string())?;
    Ok(pattern)
}

/// Starts a process that sleeps until its parent ends, called `wk-load-CORE-NAME` as far as the kernel's 15 characters
/// go. It is to be called before any thread is started: the child runs on without exec.
///
/// # Errors
/// When no process can be made.
pub fn placeholder(load: &PlacedLoad) -> std::io::Result<i32> {
    let name: Vec<u8> = format!("wk-load-{}-{}", load.core, load.name).bytes().take(15).chain([0]).collect();
    // SAFETY: the process has one thread, so the child is a whole copy of it; it calls only prctl, pause and _exit.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()),
        0 => {
            // SAFETY: plain system calls; the name ends with a NUL.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::prctl(libc::PR_SET_NAME, name.as_ptr());
                for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP] {
                    libc::signal(signal, libc::SIG_DFL);
                }
                loop {
                    libc::pause();
                }
            }
        }
        pid => Ok(pid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_a_workload_on_cores() {
        let load = Load::parse("target:latency_loop@0").unwrap();
        assert_eq!((load.workload.as_str(), load.cores, load.target), ("latency_loop", vec![0], true));
        assert_eq!(Load::parse("a@b@1-3").unwrap().workload, "a@b");
        for bad in ["latency_loop", "x@", "@1", "x@1-", "target:x@0-1"] {
            Load::parse(bad).unwrap_err();
        }
    }

    #[test]
    fn a_core_that_is_not_there_is_named() {
        let text = waykeeper_platform::find_bundled("apollo-lake-e3950").unwrap().text;
        let platform = Platform::from_toml(text, "x").unwrap();
        let error = Load::parse("latency_loop@4").unwrap().place(&platform).unwrap_err().to_string();
        assert!(error.contains("no core 4; it has 0-3"), "{error}");
        assert_eq!(Load::parse("latency_loop@1,2").unwrap().place(&platform).unwrap().len(), 2);
    }
}
