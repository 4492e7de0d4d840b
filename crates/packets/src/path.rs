//! Data paths: how packets come from an interface to this program, and back.

pub mod launch;
mod packet;
mod xdp;

use std::fmt;
use std::io;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::frame::Frame;
use crate::interface::NetInterface;
use launch::Departure;

pub use packet::PacketSocket;
pub use waykeeper_workload::{PacketWait, PathKind};
pub use xdp::XdpSocket;

/// Where an XDP program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum XdpMode {
    /// In the driver, before the kernel's own structures exist.
    Driver,
    /// Behind the driver, in the network stack: any interface can do this.
    Generic,
}

/// The path that packets in fact take, as the kernel reports it.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathInUse {
    /// Which.
    pub kind: PathKind,
    /// Whether the interface writes into this program's memory (`XDP_OPTIONS`); absent for AF_PACKET.
    pub zero_copy: Option<bool>,
    /// Where the XDP program runs; absent for AF_PACKET.
    pub xdp: Option<XdpMode>,
    /// The queue; absent for AF_PACKET, which takes all.
    pub queue: Option<u32>,
    /// How the thread learns of a packet.
    pub wait: PacketWait,
    /// Whether the kernel lets this thread run the interface's queue while it polls (`SO_PREFER_BUSY_POLL`); absent where it
    /// was not asked.
    pub kernel_busy_poll: Option<bool>,
}

impl PathInUse {
    /// A number for a greeting: 0 unknown, 1 AF_PACKET, 2 AF_XDP copying, 3 AF_XDP zero copy; 4 more for busy polling.
    pub fn number(&self) -> u8 {
        let path = match (self.kind, self.zero_copy) {
            (PathKind::AfPacket, _) => 1,
            (PathKind::AfXdp, Some(true)) => 3,
            (PathKind::AfXdp, _) => 2,
        };
        if self.wait == PacketWait::BusyPoll { path + 4 } else { path }
    }
}

/// The path of a greeting's number in words.
pub fn words_of_number(number: u8) -> String {
    let path = match number & 3 {
        1 => "AF_PACKET",
        2 => "AF_XDP copy",
        3 => "AF_XDP zero copy",
        _ => return "an unknown path".into(),
    };
    let wait = if number & 4 != 0 { "busy poll" } else { "interrupt" };
    format!("{path}, {wait}")
}

/// What stands beside every figure: never only "XDP".
impl fmt::Display for PathInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            PathKind::AfPacket => f.write_str("AF_PACKET (TPACKET_V2)")?,
            PathKind::AfXdp => {
                f.write_str(if self.zero_copy == Some(true) { "AF_XDP zero copy" } else { "AF_XDP copy" })?;
                f.write_str(match self.xdp {
                    Some(XdpMode::Driver) => ", driver XDP",
                    _ => ", generic XDP",
                })?;
            }
        }
        if let Some(queue) = self.queue {
            write!(f, ", queue {queue}")?;
        }
        f.write_str(match self.wait {
            PacketWait::BusyPoll => ", busy poll",
            PacketWait::Interrupt => ", interrupt",
        })
    }
}

/// Why a path cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The privilege is lacking.
    #[error("{what} needs {capability}: {error}; run it as root")]
    NotPermitted {
        /// The step.
        what: &'static str,
        /// The capability.
        capability: &'static str,
        /// The system's answer.
        error: io::Error,
    },
    /// The kernel has no such path.
    #[error("this kernel has no {what}: {error}; {instead}")]
    NoSupport {
        /// The part that is missing.
        what: &'static str,
        /// The system's answer.
        error: io::Error,
        /// What would do.
        instead: &'static str,
    },
    /// Another XDP program is attached.
    #[error(
        "interface `{0}` already has an XDP program; it was left alone. `ip link set {0} xdp off` detaches one without a \
         link, its owner one with a link; or use --path packet"
    )]
    HasProgram(String),
    /// The queue is in use.
    #[error("queue {queue} of `{name}` already has an AF_XDP socket; another --queue or --path packet would do")]
    QueueInUse {
        /// The interface.
        name: String,
        /// The queue.
        queue: u32,
    },
    /// Packets may come to any of several queues.
    #[error(
        "`{name}` has {queues} receive queues, and packets may come to any of them. Steer them to one and name it, such as \
         `ethtool -N {name} flow-type ether proto 0x88b5 action 1` and --queue 1; or `ethtool -L {name} combined 1`; or use \
         --path packet"
    )]
    ManyQueues {
        /// The interface.
        name: String,
        /// Its queues.
        queues: u32,
    },
    /// There is no such queue.
    #[error("`{name}` has no queue {queue}; expected one below {queues}")]
    NoSuchQueue {
        /// The interface.
        name: String,
        /// What was asked for.
        queue: u32,
        /// How many there are.
        queues: u32,
    },
    /// The MTU is too small.
    #[error(
        "the MTU of `{name}` is {mtu} bytes and the packets have {needed} after the Ethernet header; a smaller --size (64 or \
         more), or `ip link set {name} mtu {needed}` would do"
    )]
    MtuTooSmall {
        /// The interface.
        name: String,
        /// Its MTU.
        mtu: u32,
        /// What is needed.
        needed: usize,
    },
    /// The MTU is too large for XDP.
    #[error(
        "`{name}` refuses an XDP program with an MTU of {mtu}: {error}; `ip link set {name} mtu 1500` or --path packet would do"
    )]
    MtuTooLarge {
        /// The interface.
        name: String,
        /// Its MTU.
        mtu: u32,
        /// The system's answer.
        error: io::Error,
    },
    /// Something else was refused.
    #[error("{what} on `{name}`: {error}")]
    Refused {
        /// The step.
        what: &'static str,
        /// The interface.
        name: String,
        /// The system's answer.
        error: io::Error,
    },
}

/// Turns the system's answer to a step into what a user can do about it.
fn refusal(what: &'static str, capability: &'static str, interface: &NetInterface, error: io::Error) -> PathError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => PathError::NotPermitted { what, capability, error },
        Some(libc::EAFNOSUPPORT) => PathError::NoSupport {
            what,
            error,
            instead: "one with CONFIG_XDP_SOCKETS and CONFIG_PACKET would do; where only one of them is there, --path packet or \
                      --path xdp",
        },
        _ => PathError::Refused { what, name: interface.name.clone(), error },
    }
}

/// What the kernel dropped in front of a path, where it counts that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathDrops {
    /// Packets for which the ring had no room.
    pub ring_full: u64,
    /// Packets that were dropped for another reason: longer than a place of the ring, no memory.
    pub other: u64,
}

/// A way to send frames and to receive those of [`ETHERTYPE`](crate::frame::ETHERTYPE).
pub trait DataPath {
    /// Hands a frame to the interface.
    ///
    /// # Errors
    /// Where it takes none: it is down, gone, or its queue is full.
    fn send(&mut self, frame: &Frame) -> io::Result<()>;

    /// Hands a frame to the kernel, to leave at a time of CLOCK_TAI, nanoseconds.
    ///
    /// # Errors
    /// As for sending; `EOPNOTSUPP` where the path has no launch times.
    fn launch(&mut self, _frame: &Frame, _at_tai_ns: i64) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
    }

    /// What became of one more frame that had a launch time, and that frame. Never blocks.
    ///
    /// # Errors
    /// Where the interface is gone.
    fn departure(&mut self, _into: &mut Frame) -> io::Result<Option<Departure>> {
        Ok(None)
    }

    /// Takes the next frame that has come. False where there is none. Never blocks.
    ///
    /// # Errors
    /// Where the interface is gone.
    fn receive(&mut self, into: &mut Frame) -> io::Result<bool>;

    /// Passes the time until a frame comes, at most so long: sleeps, or returns at once to be called again.
    ///
    /// # Errors
    /// Where the interface went down, or away.
    fn pass_time(&mut self, most: Duration) -> io::Result<()>;

    /// What packets in fact pass through.
    fn in_use(&self) -> PathInUse;

    /// What was dropped in front of it so far; `None` where it cannot be read.
    fn drops(&mut self) -> Option<PathDrops>;
}

/// Whether the interface has no room at present.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN | libc::EBUSY))
}

/// Opens a path.
///
/// # Errors
/// See [`PathError`].
pub fn open(
    interface: &NetInterface,
    kind: PathKind,
    queue: Option<u32>,
    wait: PacketWait,
    payload: usize,
) -> Result<Box<dyn DataPath>, PathError> {
    check_mtu(interface, payload)?;
    Ok(match kind {
        PathKind::AfPacket => Box::new(PacketSocket::open(interface, wait)?),
        PathKind::AfXdp => Box::new(XdpSocket::open(interface, queue, wait)?),
    })
}

/// Opens AF_PACKET with launch times.
///
/// # Errors
/// See [`PathError`].
pub fn open_launching(
    interface: &NetInterface,
    wait: PacketWait,
    payload: usize,
) -> Result<Box<dyn DataPath>, PathError> {
    check_mtu(interface, payload)?;
    Ok(Box::new(PacketSocket::launching(interface, wait)?))
}

fn check_mtu(interface: &NetInterface, payload: usize) -> Result<(), PathError> {
    match payload > interface.mtu as usize {
        true => Err(PathError::MtuTooSmall { name: interface.name.clone(), mtu: interface.mtu, needed: payload }),
        false => Ok(()),
    }
}
