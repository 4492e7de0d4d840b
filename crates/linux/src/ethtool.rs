//! What the driver of a network interface says of its settings: the requests of `ethtool` (`linux/ethtool.h`), in the network
//! namespace of this process. Nothing is changed, and no rights are needed.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_char, c_ulong};

const SIOCETHTOOL: c_ulong = 0x8946;
const GET_COALESCING: u32 = 0x0e;
const GET_PAUSE: u32 = 0x12;
const GET_CHANNELS: u32 = 0x3c;
const GET_TIME_STAMPS: u32 = 0x41;
const GET_EEE: u32 = 0x44;

/// Bits of `so_timestamping` (`linux/net_tstamp.h`).
const TRANSMIT_BY_HARDWARE: u32 = 1 << 0;
const RECEIVE_BY_HARDWARE: u32 = 1 << 2;
const RAW_CLOCK_OF_HARDWARE: u32 = 1 << 6;

/// Queues of an interface, with interrupts of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queues {
    /// Queues that receive.
    pub receive: u32,
    /// Queues that transmit.
    pub transmit: u32,
    /// Queues that receive, at most.
    pub most_receive: u32,
}

/// How long an interface waits for more packets before it interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coalescing {
    /// After a packet was received, in microseconds.
    pub receive_us: u32,
    /// Packets received after which it waits no longer; 0 where only the time counts.
    pub receive_packets: u32,
    /// After a packet was transmitted, in microseconds.
    pub transmit_us: u32,
    /// Whether the driver changes the times for receiving with the load.
    pub adapts_receive: bool,
    /// Whether it changes the times for transmitting.
    pub adapts_transmit: bool,
}

/// Energy-Efficient Ethernet (IEEE 802.3az).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EnergyEfficient {
    /// Whether it is switched on here.
    pub enabled: bool,
    /// Whether both ends of the link agreed on it.
    pub active: bool,
}

/// Frames by which one end of a link stops the other (IEEE 802.3x).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pause {
    /// Whether the ends agree on them.
    pub negotiated: bool,
    /// Whether this end obeys them.
    pub obeys: bool,
    /// Whether this end sends them.
    pub sends: bool,
}

/// By which clock packets are stamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeStamps {
    /// Received packets by the interface.
    pub receive: bool,
    /// Transmitted packets by the interface.
    pub transmit: bool,
    /// The number of its clock, `/dev/ptpN`.
    pub clock: Option<u32>,
}

/// An interface that can be asked.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
    name: [c_char; libc::IFNAMSIZ],
}

/// `struct ifreq`, with a pointer to what is asked.
#[repr(C, align(8))]
struct Request {
    name: [c_char; libc::IFNAMSIZ],
    value: [u8; 24],
}

impl Ethtool {
    /// An interface by its name. Whether there is one shows with the first question.
    ///
    /// # Errors
    /// A name that none can have; a system without sockets.
    pub fn of(name: &str) -> io::Result<Self> {
        let mut own = [0; libc::IFNAMSIZ];
        if name.is_empty() || name.len() >= own.len() || name.contains('\0') {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        own.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from as c_char);
        // SAFETY: no memory is passed.
        let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call returned a new descriptor, which nobody else owns.
        Ok(Self { socket: unsafe { OwnedFd::from_raw_fd(socket) }, name: own })
    }

    /// Its queues.
    ///
    /// # Errors
    /// `EOPNOTSUPP` where the driver does not show them; an interface that is gone.
    pub fn queues(&self) -> io::Result<Queues> {
        // struct ethtool_channels: max_rx, max_tx, max_other, max_combined, and the same four as they are.
        let [most_receive, _, _, most_both, receive, transmit, _, both] = self.ask::<8>(GET_CHANNELS)?;
        Ok(Queues {
            receive: receive.saturating_add(both),
            transmit: transmit.saturating_add(both),
            most_receive: most_receive.saturating_add(most_both),
        })
    }

    /// How its interrupts are held back.
    ///
    /// # Errors
    /// As for queues.
    pub fn coalescing(&self) -> io::Result<Coalescing> {
        // struct ethtool_coalesce.
        let words = self.ask::<22>(GET_COALESCING)?;
        Ok(Coalescing {
            receive_us: words[0],
            receive_packets: words[1],
            transmit_us: words[4],
            adapts_receive: words[9] != 0,
            adapts_transmit: words[10] != 0,
        })
    }

    /// Energy-Efficient Ethernet.
    ///
    /// # Errors
    /// As for queues.
    pub fn energy_efficient(&self) -> io::Result<EnergyEfficient> {
        // struct ethtool_eee: supported, advertised, lp_advertised, eee_active, eee_enabled, and more.
        let words = self.ask::<9>(GET_EEE)?;
        Ok(EnergyEfficient { active: words[3] != 0, enabled: words[4] != 0 })
    }

    /// Pause frames.
    ///
    /// # Errors
    /// As for queues.
    pub fn pause(&self) -> io::Result<Pause> {
        let [negotiated, obeys, sends] = self.ask::<3>(GET_PAUSE)?;
        Ok(Pause { negotiated: negotiated != 0, obeys: obeys != 0, sends: sends != 0 })
    }

    /// Time stamps.
    ///
    /// # Errors
    /// As for queues.
    pub fn time_stamps(&self) -> io::Result<TimeStamps> {
        // struct ethtool_ts_info: so_timestamping, phc_index, and more.
        let words = self.ask::<10>(GET_TIME_STAMPS)?;
        let by_hardware = |bit| words[0] & (bit | RAW_CLOCK_OF_HARDWARE) == bit | RAW_CLOCK_OF_HARDWARE;
        Ok(TimeStamps {
            receive: by_hardware(RECEIVE_BY_HARDWARE),
            transmit: by_hardware(TRANSMIT_BY_HARDWARE),
            // It is -1 where there is none.
            clock: u32::try_from(words[1] as i32).ok(),
        })
    }

    /// The words of an answer, behind the command. Every structure that is asked for here is made of words of 32 bits alone.
    fn ask<const WORDS: usize>(&self, command: u32) -> io::Result<[u32; WORDS]> {
        // Room behind the structure, should a kernel's be longer than it was when this was written.
        let mut answer = [0_u32; 64];
        answer[0] = command;
        let mut request = Request { name: self.name, value: [0; 24] };
        let pointer = answer.as_mut_ptr().expose_provenance().to_ne_bytes();
        request.value[..pointer.len()].copy_from_slice(&pointer);
        // SAFETY: the union holds a pointer to words that outlive the call, with room for the structure that the command names.
        let failed = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) } < 0;
        if failed {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as written by the kernel, behind the compiler's back.
        let answer = unsafe { (&raw const answer).read_volatile() };
        Ok(std::array::from_fn(|word| answer[1 + word]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_cannot_be_is_none() {
        for name in ["", "a-name-that-is-too-long", "a\0b"] {
            assert_eq!(Ethtool::of(name).unwrap_err().raw_os_error(), Some(libc::ENODEV), "{name}");
        }
        let nobody = Ethtool::of("wk-nobody").unwrap();
        assert_eq!(nobody.queues().unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }

    /// Every system has this one, and the kernel stamps its packets itself.
    #[test]
    fn loopback_has_no_clock_of_its_own() {
        let loopback = Ethtool::of("lo").unwrap();
        let stamps = loopback.time_stamps().unwrap();
        assert_eq!((stamps.receive, stamps.transmit), (false, false));
        assert_eq!(loopback.energy_efficient().unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    }
}
