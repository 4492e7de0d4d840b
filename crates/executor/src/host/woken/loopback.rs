//! From a packet's software receive time stamp on the loopback device to the return of `recvmsg`.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

use rustix::time::{ClockId, Timespec, clock_gettime};

use super::sender::Sender;
use super::source::{WakeupSource, Woken};
use super::time::{nanoseconds, now_ns};

/// A thread that receives what another one sends, on the same core.
pub struct Loopback {
    socket: UdpSocket,
    sender: Sender,
    /// Number of the packet that is expected next, once there was one.
    expected: Option<u64>,
}

/// Room for the control message of a time stamp, aligned as one.
#[repr(C, align(8))]
struct Control([u8; 64]);

impl Loopback {
    /// # Errors
    /// A loopback device that is down, or a system without time stamps of packets.
    pub fn new(period_ns: i64) -> io::Result<Self> {
        let (from, socket) = (UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?);
        from.connect(socket.local_addr()?)?;
        socket.connect(from.local_addr()?)?;
        let on: libc::c_int = 1;
        let bytes = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the value outlives the call and has the size that is given.
        let stamps = unsafe {
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, (&raw const on).cast(), bytes)
        };
        if stamps != 0 {
            return Err(io::Error::last_os_error());
        }
        // A device that is down refuses the first packet.
        from.send(&0_u64.to_ne_bytes())?;
        let mut number = 0_u64;
        let sender = Sender::start(period_ns, move || {
            number += 1;
            let _ = from.send(&number.to_ne_bytes());
        })?;
        Ok(Self { socket, sender, expected: None })
    }

    /// The next packet's number, and its time stamp in nanoseconds of CLOCK_REALTIME, where it has one.
    fn receive(&self, flags: libc::c_int) -> Option<(u64, Option<i64>)> {
        let (mut number, mut control) = ([0_u8; 8], Control([0; 64]));
        let mut part = libc::iovec { iov_base: number.as_mut_ptr().cast(), iov_len: number.len() };
        // SAFETY: the message is plain data; it points to buffers of this stack with their lengths, and control messages
        // are read within what the kernel wrote.
        unsafe {
            let mut message = std::mem::zeroed::<libc::msghdr>();
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = control.0.len() as _;
            if libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, flags) != number.len() as isize {
                return None;
            }
            let first = libc::CMSG_FIRSTHDR(&raw const message);
            let is_stamp = !first.is_null()
                && (*first).cmsg_level == libc::SOL_SOCKET
                && (*first).cmsg_type == libc::SCM_TIMESTAMPNS;
            let stamp = is_stamp.then(|| {
                let time = libc::CMSG_DATA(first).cast::<libc::timespec>().read_unaligned();
                // Seconds and nanoseconds have 32 bits on ARMv7.
                #[allow(clippy::useless_conversion)]
                let time = Timespec { tv_sec: time.tv_sec.into(), tv_nsec: time.tv_nsec.into() };
                nanoseconds(time)
            });
            Some((u64::from_ne_bytes(number), stamp))
        }
    }
}

impl WakeupSource for Loopback {
    fn begin(&mut self) {
        while self.receive(libc::MSG_DONTWAIT).is_some() {}
        self.sender.take_missed();
        self.expected = None;
    }

    fn next_ns(&self) -> i64 {
        self.sender.next_ns()
    }

    fn wait(&mut self) -> Option<Woken> {
        let (number, stamp) = self.receive(0)?;
        let seen_ns = nanoseconds(clock_gettime(ClockId::Realtime));
        let lost = self.expected.map_or(0, |expected| number.saturating_sub(expected));
        self.expected = Some(number + 1);
        Some(Woken { since_ns: stamp?, seen_ns, now_ns: now_ns(), missed: lost + self.sender.take_missed() })
    }
}
