//! AF_PACKET: a ring of frames that the kernel's network stack fills.
//!
//! TPACKET_V2 hands over each frame by itself. TPACKET_V3 hands over blocks, when they are full or some milliseconds old, which
//! a cycle of 125 us cannot wait for.

use std::io;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use libc::{c_int, tpacket2_hdr};

use super::launch::Departure;
use super::{DataPath, PacketWait, PathDrops, PathError, PathInUse, PathKind, refusal};
use crate::frame::{ETHERTYPE, Frame, VlanTag};
use crate::interface::NetInterface;
use crate::sys::{self, SharedMemory};

/// A place of the ring holds the header, and a frame of the usual MTU with its tag.
const PLACE: usize = 2048;
const PLACES: usize = 1024;
/// Places of a block: two pages of 4 KiB, or one of 8 KiB and more.
const BLOCK: usize = 64 << 10;

/// Nanoseconds of a second.
const NS_PER_S: i64 = 1_000_000_000;

/// A packet socket with a ring.
pub struct PacketSocket {
    socket: OwnedFd,
    ring: SharedMemory,
    next: usize,
    wait: PacketWait,
    /// Its frames have launch times.
    launches: bool,
    /// The frame of a report.
    reported: Box<[u8; PLACE]>,
    drops: PathDrops,
}

impl PacketSocket {
    /// Opens a socket on an interface.
    ///
    /// # Errors
    /// A lack of CAP_NET_RAW, of AF_PACKET, or of memory.
    pub fn open(interface: &NetInterface, wait: PacketWait) -> Result<Self, PathError> {
        Self::with(interface, wait, false)
    }

    /// Opens a socket whose frames have launch times.
    ///
    /// # Errors
    /// As above; a lack of CAP_NET_ADMIN, or of launch times in the kernel.
    pub fn launching(interface: &NetInterface, wait: PacketWait) -> Result<Self, PathError> {
        Self::with(interface, wait, true)
    }

    fn with(interface: &NetInterface, wait: PacketWait, launches: bool) -> Result<Self, PathError> {
        let refused = |what| move |error| refusal(what, "CAP_NET_RAW", interface, error);
        // Without a protocol nothing is received before it is bound.
        let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW, 0).map_err(refused("an AF_PACKET socket"))?;
        let version = libc::tpacket_versions::TPACKET_V2 as c_int;
        sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version).map_err(refused("TPACKET_V2"))?;
        ask_for_time_stamps(&socket, launches);
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (PLACES * PLACE / BLOCK) as u32,
            tp_frame_size: PLACE as u32,
            tp_frame_nr: PLACES as u32,
        };
        sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
            .map_err(refused("a ring of AF_PACKET"))?;
        let ring = SharedMemory::of(&socket, PLACES * PLACE, 0).map_err(refused("the mapping of a ring"))?;
        if launches {
            let launch = libc::sock_txtime { clockid: libc::CLOCK_TAI, flags: libc::SOF_TXTIME_REPORT_ERRORS };
            sys::set_option(&socket, libc::SOL_SOCKET, sys::SO_TXTIME, &launch)
                .map_err(|error| refusal("launch times (SO_TXTIME)", "CAP_NET_ADMIN", interface, error))?;
        } else {
            // No queueing discipline between this program and the driver. Refused nowhere since Linux 3.14.
            let _ = sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1);
        }
        // SAFETY: zeros are an address of the structure.
        let mut address = unsafe { std::mem::zeroed::<libc::sockaddr_ll>() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ETHERTYPE.to_be();
        address.sll_ifindex = interface.index as c_int;
        sys::bind(&socket, &address).map_err(refused("binding an AF_PACKET socket"))?;
        let reported = Box::new([0; PLACE]);
        Ok(Self { socket, ring, next: 0, wait, launches, reported, drops: PathDrops::default() })
    }

    fn header(&self) -> *mut tpacket2_hdr {
        self.ring.at(self.next * PLACE).cast()
    }

    fn status(&self) -> &AtomicU32 {
        let status = self.ring.at(self.next * PLACE + offset_of!(tpacket2_hdr, tp_status));
        // SAFETY: the ring begins on a page and places are 2048 bytes apart; the kernel and this program change the word as
        // an atomic one.
        unsafe { AtomicU32::from_ptr(status.cast()) }
    }
}

/// Asks for the time at which the kernel first sees a packet, and with launch times for that at which one leaves. Where that is
/// refused, frames carry none.
fn ask_for_time_stamps(socket: &OwnedFd, launches: bool) {
    let sent = if launches { libc::SOF_TIMESTAMPING_TX_SOFTWARE } else { 0 };
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE | sent;
    let _ = sys::set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags);
    let _ =
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_TIMESTAMP, &(libc::SOF_TIMESTAMPING_SOFTWARE as c_int));
}

impl DataPath for PacketSocket {
    fn send(&mut self, frame: &Frame) -> io::Result<()> {
        sys::send(&self.socket, frame.bytes()).map(drop)
    }

    fn launch(&mut self, frame: &Frame, at_tai_ns: i64) -> io::Result<()> {
        if !self.launches {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        sys::send_at(&self.socket, frame.bytes(), at_tai_ns.max(0) as u64).map(drop)
    }

    fn departure(&mut self, into: &mut Frame) -> io::Result<Option<Departure>> {
        while self.launches {
            let Some(report) = sys::take_report(&self.socket, self.reported.as_mut_slice())? else { break };
            into.take(&self.reported[..report.length]);
            match report.origin {
                sys::ORIGIN_TIME_STAMP => return Ok(Some(Departure::Left { realtime_ns: report.realtime_ns })),
                sys::ORIGIN_LAUNCH if report.code == sys::LAUNCH_MISSED => return Ok(Some(Departure::Missed)),
                sys::ORIGIN_LAUNCH => return Ok(Some(Departure::Refused)),
                _ => {}
            }
        }
        Ok(None)
    }

    fn receive(&mut self, into: &mut Frame) -> io::Result<bool> {
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return Ok(false);
        }
        // SAFETY: the place is this program's while the status says so.
        let header = unsafe { self.header().read() };
        let (start, length) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        let within = start + length <= PLACE;
        if within && length > 0 {
            // SAFETY: within the place, by the line above.
            into.take(unsafe { std::slice::from_raw_parts(self.ring.at(self.next * PLACE + start), length) });
        } else {
            into.take(&[]);
        }
        into.tag_beside = (status & libc::TP_STATUS_VLAN_VALID != 0).then(|| VlanTag::from_tci(header.tp_vlan_tci));
        // Without the flag it is the time at which the frame was copied into the ring.
        into.kernel_ns = (status & libc::TP_STATUS_TS_SOFTWARE != 0)
            .then(|| i64::from(header.tp_sec) * NS_PER_S + i64::from(header.tp_nsec));
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % PLACES;
        Ok(true)
    }

    fn pass_time(&mut self, most: Duration) -> io::Result<()> {
        match self.wait {
            PacketWait::BusyPoll => std::hint::spin_loop(),
            PacketWait::Interrupt => sys::wait_for_packet(&self.socket, most, self.launches)?,
        }
        Ok(())
    }

    fn in_use(&self) -> PathInUse {
        PathInUse {
            kind: PathKind::AfPacket,
            zero_copy: None,
            xdp: None,
            queue: None,
            wait: self.wait,
            kernel_busy_poll: None,
        }
    }

    fn drops(&mut self) -> Option<PathDrops> {
        // The kernel forgets its counts when they are read.
        // SAFETY: every bit pattern is two numbers.
        let counted =
            unsafe { sys::get_option::<[u32; 2]>(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS) }.ok()?;
        self.drops.ring_full += u64::from(counted[1]);
        Some(self.drops)
    }
}
