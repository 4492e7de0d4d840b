//! What both roles need: a thread that is set up, and why one ends.

use std::io;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_linux::{memory, schedule, thread};

use crate::frame::MacAddress;
use crate::interface::{InterfaceError, NetInterface};
use crate::path::launch::{LaunchError, LaunchQueue};
use crate::path::{self, DataPath, PacketWait, PathError, PathKind};

/// A thread that waits for packets looks at its stop flag this often.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// What a role runs on.
#[derive(Debug, Clone)]
pub struct RoleOptions {
    /// The interface's name.
    pub interface: String,
    /// The path of its packets.
    pub path: PathKind,
    /// The receive queue of AF_XDP.
    pub queue: Option<u32>,
    /// How it learns of packets.
    pub wait: PacketWait,
    /// Bytes of a packet after its Ethernet header.
    pub payload: usize,
    /// The core of its thread.
    pub core: Option<u32>,
    /// The priority of its thread under SCHED_FIFO.
    pub fifo: Option<u8>,
    /// Each sensor packet has a launch time, and is handed to the kernel so many nanoseconds before it.
    pub launch_lead_ns: Option<i64>,
}

/// How the thread of a role ran.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoleThread {
    /// Its core; absent where the scheduler chose.
    pub core: Option<u32>,
    /// Its scheduling policy, as the kernel reports it.
    pub scheduler: String,
    /// Its priority, under SCHED_FIFO.
    pub priority: Option<u8>,
    /// Whether the process's memory was locked.
    pub memory_locked: bool,
}

/// Why a role ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// The interface cannot be used.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// The path cannot be opened.
    #[error(transparent)]
    Path(#[from] PathError),
    /// No launch times are kept.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The thread cannot be set up.
    #[error("{0}")]
    Thread(String),
    /// What is to be computed cannot be.
    #[error("{0}")]
    Computation(String),
    /// No responder answered.
    #[error(
        "no responder answered at {peer} on `{interface}` within {}s; `waykeeper rtcp respond --if IF` must run there, on the same \
         network, VLAN and with the same version, and serve no other generator",
        within.as_secs()
    )]
    NoResponder {
        /// The interface.
        interface: String,
        /// Who was asked.
        peer: MacAddress,
        /// How long.
        within: Duration,
    },
    /// Several did.
    #[error("two responders answered on `{interface}`: {first} and {second}; name one of them with --peer")]
    SeveralResponders {
        /// The interface.
        interface: String,
        /// The first.
        first: MacAddress,
        /// Another.
        second: MacAddress,
    },
    /// The interface went away before anything was measured.
    #[error("`{interface}` takes no packets any more: {error}")]
    Gone {
        /// The interface.
        interface: String,
        /// The system's answer.
        error: io::Error,
    },
    /// Ctrl-C before anything was measured.
    #[error("interrupted before anything was measured")]
    Stopped,
}

/// A role that is ready: its interface, path and thread.
pub(crate) struct Ready {
    pub interface: NetInterface,
    pub path: Box<dyn DataPath>,
    pub thread: RoleThread,
    pub launch: Option<LaunchQueue>,
}

impl RoleOptions {
    /// Sets the calling thread up and opens the path.
    pub(crate) fn ready(&self) -> Result<Ready, RoleError> {
        let interface = NetInterface::find(&self.interface)?;
        if let Some(core) = self.core {
            let cores = waykeeper_linux::format_cpulist(&schedule::allowed());
            schedule::pin(core).map_err(|error| {
                RoleError::Thread(format!("core {core} cannot be used: {error}; expected one of {cores}"))
            })?;
        }
        // Timers of ordinary threads are late by up to 50 us otherwise.
        let _ = schedule::least_timer_slack();
        let launch = self.launch_lead_ns.map(|lead_ns| LaunchQueue::find(&interface, lead_ns)).transpose()?;
        let path = match launch {
            Some(_) => path::open_launching(&interface, self.wait, self.payload)?,
            None => path::open(&interface, self.path, self.queue, self.wait, self.payload)?,
        };
        let memory_locked = memory::lock_all().is_ok();
        if let Some(priority) = self.fifo {
            schedule::fifo(priority.into()).map_err(|error| {
                RoleError::Thread(format!(
                    "SCHED_FIFO {priority} needs CAP_SYS_NICE: {error}; without --fifo it runs with ordinary priority"
                ))
            })?;
        }
        let thread =
            RoleThread { core: self.core, scheduler: schedule::policy().into(), priority: self.fifo, memory_locked };
        Ok(Ready { interface, path, thread, launch })
    }
}

/// Runs a role in a thread of its own, so that the caller keeps its core and its scheduling.
pub(crate) fn apart<T: Send>(name: &str, role: impl FnOnce() -> Result<T, RoleError> + Send) -> Result<T, RoleError> {
    let ended = thread::apart(name, role).map_err(|error| RoleError::Thread(error.to_string()))?;
    ended.unwrap_or_else(|| Err(RoleError::Thread(format!("the thread of `{name}` ended by itself"))))
}
