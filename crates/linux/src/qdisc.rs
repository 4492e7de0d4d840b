//! Queueing disciplines of a network interface, as the kernel lists them (rtnetlink(7), `RTM_GETQDISC`), in the network namespace of this
//! process. Nothing is changed, and no rights are needed.

use std::ffi::CString;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

// Of `linux/pkt_sched.h` and `linux/rtnetlink.h`.
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_ETF_PARMS: u16 = 1;
const TCA_TAPRIO_CLOCK: u16 = 5;
const TCA_TAPRIO_CYCLE: u16 = 8;
const TCA_TAPRIO_FLAGS: u16 = 10;
const ETF_DEADLINE: u32 = 1 << 0;
const ETF_OFFLOAD: u32 = 1 << 1;
const ETF_SKIP_CHECK: u32 = 1 << 2;
const TAPRIO_ASSISTED: u32 = 1 << 0;
const TAPRIO_OFFLOAD: u32 = 1 << 1;
/// The low 14 bits of an attribute's type; the others are flags.
const TYPE_MASK: u16 = 0x3fff;

/// Bytes of the headers of a message and of a queueing discipline in it.
const MESSAGE: usize = 16;
const DISCIPLINE: usize = 20;

/// A queueing discipline of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueingDiscipline {
    /// What it is called: `pfifo_fast`, `mqprio`, `etf`.
    pub kind: String,
    /// Its number, as `tc` prints it in hexadecimal before the colon.
    pub handle: u32,
    /// What it hangs on.
    pub parent: u32,
    /// How it keeps launch times, where it does.
    pub timing: Option<PacketTiming>,
}

/// How a queueing discipline decides when a packet leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketTiming {
    /// Earliest TxTime First: each packet has a launch time.
    Etf {
        /// The clock of launch times (`CLOCK_TAI` is 11).
        clock: i32,
        /// It wakes up so many nanoseconds before a launch time.
        delta_ns: i32,
        /// The interface keeps the launch time; else the kernel sends within `delta_ns` before it.
        offload: bool,
        /// The time of a packet is a deadline: it leaves as soon as possible.
        deadline: bool,
        /// Packets of sockets without launch times are not refused.
        skip_check: bool,
    },
    /// Time-aware priorities (IEEE 802.1Qbv): gates that open in a cycle. A value that the kernel does not list is absent.
    Taprio {
        /// The clock of the cycle.
        clock: Option<i32>,
        /// The length of the cycle in force, nanoseconds.
        cycle_ns: Option<i64>,
        /// The kernel sets each packet's launch time.
        assisted: bool,
        /// The interface keeps the gates.
        offload: bool,
    },
}

impl fmt::Display for QueueingDiscipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        match self.timing {
            None => Ok(()),
            Some(PacketTiming::Etf { clock, delta_ns, offload, deadline, skip_check }) => {
                write!(f, " on {}, delta {delta_ns} ns", clock_name(clock))?;
                f.write_str(if offload { ", offload" } else { ", in software" })?;
                f.write_str(if deadline { ", deadline_mode" } else { "" })?;
                f.write_str(if skip_check { ", skip_sock_check" } else { "" })
            }
            Some(PacketTiming::Taprio { clock, cycle_ns, assisted, offload }) => {
                let clock = clock.map(|clock| format!(" on {}", clock_name(clock)));
                let cycle = cycle_ns.map(|ns| format!(", cycle {ns} ns"));
                f.write_str(&clock.unwrap_or_default())?;
                f.write_str(&cycle.unwrap_or_default())?;
                f.write_str(match (offload, assisted) {
                    (true, _) => ", offload",
                    (false, true) => ", txtime-assist",
                    (false, false) => ", in software",
                })
            }
        }
    }
}

/// The name of a clock's number.
pub fn clock_name(clock: i32) -> String {
    match clock {
        libc::CLOCK_REALTIME => "CLOCK_REALTIME".into(),
        libc::CLOCK_MONOTONIC => "CLOCK_MONOTONIC".into(),
        libc::CLOCK_BOOTTIME => "CLOCK_BOOTTIME".into(),
        libc::CLOCK_TAI => "CLOCK_TAI".into(),
        other => format!("clock {other}"),
    }
}

/// The queueing disciplines of an interface, the kernel's order.
///
/// # Errors
/// `ENODEV` for an interface that is not there; a kernel without queueing disciplines, or one whose answer is not understood.
pub fn queueing_disciplines(interface: &str) -> io::Result<Vec<QueueingDiscipline>> {
    let name = CString::new(interface).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
    // SAFETY: the name ends with a NUL.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    let socket = ask()?;
    let (mut found, mut bytes) = (Vec::new(), vec![0_u8; 64 << 10]);
    loop {
        // SAFETY: the kernel writes at most so many bytes.
        let length = unsafe { libc::recv(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        if length == 0 || take(&bytes[..length], index, &mut found)? {
            return Ok(found);
        }
    }
}

/// A socket on which the disciplines of all interfaces were asked for.
fn ask() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is passed.
    let socket = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned a new descriptor, which nobody else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut request = [0_u8; MESSAGE + DISCIPLINE];
    request[..4].copy_from_slice(&((MESSAGE + DISCIPLINE) as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&libc::RTM_GETQDISC.to_ne_bytes());
    request[6..8].copy_from_slice(&((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
    // SAFETY: the kernel reads the bytes of the array. Without an address a message goes to the kernel.
    let sent = unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(socket) }
}

fn not_understood() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the kernel's list of queueing disciplines is not understood")
}

/// Takes the disciplines of an interface from some messages. True after the last one.
fn take(mut bytes: &[u8], index: u32, found: &mut Vec<QueueingDiscipline>) -> io::Result<bool> {
    while !bytes.is_empty() {
        let length = number(bytes, 0).ok_or_else(not_understood)? as usize;
        let message = bytes.get(..length).filter(|_| length >= MESSAGE).ok_or_else(not_understood)?;
        match i32::from(u16::from_ne_bytes([message[4], message[5]])) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => {
                let error = number(message, MESSAGE).ok_or_else(not_understood)? as i32;
                return Err(io::Error::from_raw_os_error(error.saturating_neg()));
            }
            kind if kind == i32::from(libc::RTM_NEWQDISC) => {
                let (of, handle, parent) = header(message).ok_or_else(not_understood)?;
                if of == index {
                    found.push(discipline(&message[MESSAGE + DISCIPLINE..], handle, parent));
                }
            }
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// The interface, the handle and the parent of `struct tcmsg`.
fn header(message: &[u8]) -> Option<(u32, u32, u32)> {
    // All of the structure is there; its last word counts references.
    number(message, MESSAGE + 16)?;
    Some((number(message, MESSAGE + 4)?, number(message, MESSAGE + 8)?, number(message, MESSAGE + 12)?))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn discipline(attributes: &[u8], handle: u32, parent: u32) -> QueueingDiscipline {
    let kind = value_of(attributes, TCA_KIND).unwrap_or_default();
    let kind = String::from_utf8_lossy(kind.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned();
    let options = value_of(attributes, TCA_OPTIONS).unwrap_or_default();
    let timing = match kind.as_str() {
        "etf" => etf(options),
        "taprio" => Some(taprio(options)),
        _ => None,
    };
    QueueingDiscipline { kind, handle, parent, timing }
}

/// `struct tc_etf_qopt`.
fn etf(options: &[u8]) -> Option<PacketTiming> {
    let value = value_of(options, TCA_ETF_PARMS)?;
    let flags = number(value, 8)?;
    Some(PacketTiming::Etf {
        delta_ns: number(value, 0)? as i32,
        clock: number(value, 4)? as i32,
        deadline: flags & ETF_DEADLINE != 0,
        offload: flags & ETF_OFFLOAD != 0,
        skip_check: flags & ETF_SKIP_CHECK != 0,
    })
}

fn taprio(options: &[u8]) -> PacketTiming {
    let of = |wanted| value_of(options, wanted);
    let flags = of(TCA_TAPRIO_FLAGS).and_then(|value| number(value, 0)).unwrap_or(0);
    let cycle = of(TCA_TAPRIO_CYCLE).and_then(|value| Some(i64::from_ne_bytes(value.get(..8)?.try_into().ok()?)));
    PacketTiming::Taprio {
        clock: of(TCA_TAPRIO_CLOCK).and_then(|value| number(value, 0)).map(|clock| clock as i32),
        cycle_ns: cycle.filter(|ns| *ns > 0),
        assisted: flags & TAPRIO_ASSISTED != 0,
        offload: flags & TAPRIO_OFFLOAD != 0,
    }
}

/// The value of the first attribute of a type.
fn value_of(attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    Attributes(attributes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

/// Type and value of one attribute after the other, up to the first one that is cut off.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.0;
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(4..length)?;
        self.0 = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & TYPE_MASK, value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = 4 + value.len();
        let mut bytes = [(length as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(length.next_multiple_of(4), 0);
        bytes
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((MESSAGE + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(MESSAGE, 0);
        bytes.extend(body);
        bytes
    }

    fn listed(index: u32, handle: u32, parent: u32, attributes: &[Vec<u8>]) -> Vec<u8> {
        let words = [0, index, handle, parent, 2];
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).chain(attributes.concat()).collect();
        message(libc::RTM_NEWQDISC, &body)
    }

    #[test]
    fn disciplines_of_one_interface_are_read_with_their_timing() {
        let parms: Vec<u8> = [200_000, 11, 2].iter().flat_map(|word: &u32| word.to_ne_bytes()).collect();
        let etf = attribute(TCA_OPTIONS | 0x8000, &attribute(TCA_ETF_PARMS, &parms));
        let gates = [
            attribute(TCA_TAPRIO_CLOCK, &11_u32.to_ne_bytes()),
            attribute(TCA_TAPRIO_CYCLE, &500_000_i64.to_ne_bytes()),
            attribute(TCA_TAPRIO_FLAGS, &1_u32.to_ne_bytes()),
        ];
        let bytes = [
            listed(
                3,
                0x8001_0000,
                u32::MAX,
                &[attribute(TCA_KIND, b"taprio\0"), attribute(TCA_OPTIONS, &gates.concat())],
            ),
            listed(4, 0, u32::MAX, &[attribute(TCA_KIND, b"noqueue\0")]),
            listed(3, 0x8002_0000, 0x8001_0001, &[attribute(TCA_KIND, b"etf\0"), etf]),
            message(libc::NLMSG_DONE as u16, &[0; 4]),
        ];
        let mut found = Vec::new();
        assert!(take(&bytes.concat(), 3, &mut found).unwrap());
        let texts: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            ["taprio on CLOCK_TAI, cycle 500000 ns, txtime-assist", "etf on CLOCK_TAI, delta 200000 ns, offload"]
        );
        assert_eq!((found[1].handle, found[1].parent), (0x8002_0000, 0x8001_0001));
    }

    #[test]
    fn an_error_of_the_kernel_is_passed_on_and_a_cut_message_is_one() {
        let refused = message(libc::NLMSG_ERROR as u16, &(-libc::EOPNOTSUPP).to_ne_bytes());
        let error = take(&refused, 1, &mut Vec::new()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
        let whole = listed(1, 0, 0, &[]);
        for length in 1..whole.len() {
            assert!(take(&whole[..length], 1, &mut Vec::new()).is_err(), "{length}");
        }
    }

    #[test]
    fn loopback_has_one_and_nobody_has_none() {
        let found = queueing_disciplines("lo").unwrap();
        assert!(found.iter().all(|discipline| !discipline.kind.is_empty() && discipline.timing.is_none()), "{found:?}");
        assert_eq!(queueing_disciplines("wk-nobody").unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = take(&bytes, 0, &mut Vec::new());
            let _ = etf(&bytes);
            let _ = taprio(&bytes);
        }
    }
}
