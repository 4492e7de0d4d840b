//! External programs as neighbours: pinned, in a process group of their own, killed at the end.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use waykeeper_linux::schedule;

use super::signals;

/// A running program; dropping it kills it and everything that it started in its group.
#[derive(Debug)]
pub struct External(Child);

impl External {
    /// Starts `argv` on a core.
    pub fn start(argv: &[String], core: u32) -> Result<Self, String> {
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        // SAFETY: between fork and exec only two system calls are made, both safe there.
        unsafe {
            command.pre_exec(move || {
                schedule::die_with_parent()?;
                schedule::pin(core)
            });
        }
        let start = command.spawn().map_err(|error| {
            format!("the program `{}` cannot be started: {error}; install it, or use another neighbour", argv[0])
        });
        start.map(Self)
    }

    /// Whether it has ended by itself, and how.
    pub fn ended(&mut self) -> Option<String> {
        self.0.try_wait().ok().flatten().map(|status| status.to_string())
    }
}

impl Drop for External {
    fn drop(&mut self) {
        signals::kill_group(self.0.id());
        let _ = self.0.wait();
    }
}
