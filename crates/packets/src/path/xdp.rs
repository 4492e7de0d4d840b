//! AF_XDP: rings that are shared with the driver, or with the kernel in front of its network stack.

mod program;
mod ring;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use libc::{c_int, xdp_desc};

use super::{DataPath, PacketWait, PathDrops, PathError, PathInUse, PathKind, refusal};
use crate::frame::Frame;
use crate::interface::NetInterface;
use crate::sys::{self, SharedMemory};
use program::Redirect;
use ring::{Consumer, Producer};

/// A chunk holds one frame. A page, as drivers with zero copy expect.
const CHUNK: usize = 4096;
/// Entries of each ring, a power of two.
const ENTRIES: u32 = 512;
/// Chunks for receiving come first, then as many for sending.
const CHUNKS: usize = 2 * ENTRIES as usize;

/// How long a full or busy queue is tried again.
const PATIENCE: Duration = Duration::from_micros(200);

/// How long a queue that is in use is tried again.
const RELEASE: Duration = Duration::from_millis(500);

/// Time and packets of one turn of the kernel's busy polling.
const BUSY_POLL_US: c_int = 20;
const BUSY_POLL_BUDGET: c_int = 16;

/// A socket with its rings, and the program that redirects packets to it. Dropping it detaches the program.
pub struct XdpSocket {
    socket: OwnedFd,
    fill: Producer<u64>,
    completion: Consumer<u64>,
    receive: Consumer<xdp_desc>,
    transmit: Producer<xdp_desc>,
    /// Chunks that may be sent from.
    free: Vec<u64>,
    in_use: PathInUse,
    chunks: SharedMemory,
    // Last, so that the program goes after the socket: packets pass on to the network stack meanwhile.
    _redirect: Redirect,
}

impl XdpSocket {
    /// Opens a socket on a queue of an interface, and attaches the program.
    ///
    /// # Errors
    /// A lack of privilege or support, an interface with a program of somebody else, several queues of which none was named.
    pub fn open(interface: &NetInterface, queue: Option<u32>, wait: PacketWait) -> Result<Self, PathError> {
        let queue = choose(interface, queue)?;
        let refused = |what| move |error| refusal(what, "CAP_NET_RAW", interface, error);
        let socket = sys::socket(libc::AF_XDP, libc::SOCK_RAW, 0).map_err(refused("an AF_XDP socket"))?;
        let chunks = SharedMemory::anonymous(CHUNKS * CHUNK).map_err(refused("the memory of AF_XDP"))?;
        register(&socket, &chunks).map_err(refused("registering the memory of AF_XDP"))?;
        // SAFETY: zeros and what the kernel writes are numbers.
        let offsets =
            unsafe { sys::get_option::<libc::xdp_mmap_offsets>(&socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS) }
                .map_err(refused("the layout of AF_XDP's rings"))?;
        let mapped = refused("mapping AF_XDP's rings");
        let rings = || {
            Ok((
                Producer::map(&socket, libc::XDP_UMEM_PGOFF_FILL_RING, &offsets.fr, ENTRIES)?,
                Consumer::map(&socket, libc::XDP_UMEM_PGOFF_COMPLETION_RING, &offsets.cr, ENTRIES)?,
                Consumer::map(&socket, libc::XDP_PGOFF_RX_RING as u64, &offsets.rx, ENTRIES)?,
                Producer::map(&socket, libc::XDP_PGOFF_TX_RING as u64, &offsets.tx, ENTRIES)?,
            ))
        };
        let (mut fill, completion, receive, transmit) = rings().map_err(mapped)?;
        for chunk in 0..ENTRIES {
            fill.push(u64::from(chunk) * CHUNK as u64);
        }
        let kernel_busy_poll = (wait == PacketWait::BusyPoll).then(|| ask_for_busy_poll(&socket));
        bind(&socket, interface, queue)?;
        // SAFETY: every bit pattern is a number.
        let options = unsafe { sys::get_option::<libc::xdp_options>(&socket, libc::SOL_XDP, libc::XDP_OPTIONS) }
            .map_err(refused("asking AF_XDP for zero copy"))?;
        let redirect = Redirect::attach(interface, queue, socket.as_raw_fd())?;
        let in_use = PathInUse {
            kind: PathKind::AfXdp,
            zero_copy: Some(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0),
            xdp: Some(redirect.mode),
            queue: Some(queue),
            wait,
            kernel_busy_poll,
        };
        let free = (u64::from(ENTRIES)..CHUNKS as u64).map(|chunk| chunk * CHUNK as u64).collect();
        Ok(Self { socket, fill, completion, receive, transmit, free, in_use, chunks, _redirect: redirect })
    }

    /// Takes back the chunks whose frames have left.
    fn reclaim(&mut self) {
        while let Some(chunk) = self.completion.pop() {
            self.free.push(chunk);
        }
    }

    /// Makes the kernel send what is in the ring. A queue that is busy is tried again for a while; what is left then goes with the next
    /// frame.
    fn kick(&mut self) -> io::Result<()> {
        if !self.transmit.needs_wakeup() {
            return Ok(());
        }
        let mut since = None::<Instant>;
        loop {
            let error = match sys::send(&self.socket, &[]) {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) => {}
                _ => return Err(error),
            }
            if since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                return Ok(());
            }
            self.reclaim();
        }
    }
}

/// The queue: the one that was named, or the only one.
fn choose(interface: &NetInterface, queue: Option<u32>) -> Result<u32, PathError> {
    let name = || interface.name.clone();
    match (queue, interface.receive_queues) {
        (Some(queue), Some(queues)) if queue >= queues => Err(PathError::NoSuchQueue { name: name(), queue, queues }),
        (Some(queue), _) => Ok(queue),
        (None, Some(queues)) if queues > 1 => Err(PathError::ManyQueues { name: name(), queues }),
        (None, _) => Ok(0),
    }
}

fn register(socket: &OwnedFd, chunks: &SharedMemory) -> io::Result<()> {
    let memory = libc::xdp_umem_reg_v1 {
        addr: chunks.at(0).expose_provenance() as u64,
        len: chunks.length() as u64,
        chunk_size: CHUNK as u32,
        headroom: 0,
    };
    sys::set_option(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &memory)?;
    for ring in [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_RX_RING, libc::XDP_TX_RING] {
        sys::set_option(socket, libc::SOL_XDP, ring, &ENTRIES)?;
    }
    Ok(())
}

/// Without flags for either, the kernel takes zero copy where the driver has it, and copies elsewhere.
fn bind(socket: &OwnedFd, interface: &NetInterface, queue: u32) -> Result<(), PathError> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: interface.index,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    let is_busy = |error: &io::Error| error.raw_os_error() == Some(libc::EBUSY);
    let mut bound = sys::bind(socket, &address);
    // The kernel releases the queue of a socket some time after its process has ended.
    let begun = Instant::now();
    while bound.as_ref().is_err_and(is_busy) && begun.elapsed() < RELEASE {
        std::thread::sleep(RELEASE / 50);
        bound = sys::bind(socket, &address);
    }
    bound.map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => PathError::QueueInUse { name: interface.name.clone(), queue },
        _ => refusal("binding an AF_XDP socket", "CAP_NET_RAW", interface, error),
    })
}

/// Asks the kernel to run the interface's queue from this thread while it polls. False where it refuses.
fn ask_for_busy_poll(socket: &OwnedFd) -> bool {
    let options = [
        (libc::SO_PREFER_BUSY_POLL, 1),
        (libc::SO_BUSY_POLL, BUSY_POLL_US),
        (libc::SO_BUSY_POLL_BUDGET, BUSY_POLL_BUDGET),
    ];
    options.iter().all(|(name, value)| sys::set_option(socket, libc::SOL_SOCKET, *name, value).is_ok())
}

impl DataPath for XdpSocket {
    fn send(&mut self, frame: &Frame) -> io::Result<()> {
        self.reclaim();
        let Some(chunk) = self.free.pop() else {
            self.kick()?;
            return Err(io::Error::from_raw_os_error(libc::ENOBUFS));
        };
        let bytes = frame.bytes();
        // SAFETY: the chunk lies within the memory, is longer than any frame, and belongs to this program until it is in the ring.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.chunks.at(chunk as usize), bytes.len()) };
        self.transmit.push(xdp_desc { addr: chunk, len: bytes.len() as u32, options: 0 });
        self.kick()
    }

    fn receive(&mut self, into: &mut Frame) -> io::Result<bool> {
        let Some(received) = self.receive.pop() else { return Ok(false) };
        let (start, length) = (received.addr as usize, received.len as usize);
        if start.checked_add(length).is_some_and(|end| end <= self.chunks.length()) && length > 0 {
            // SAFETY: within the memory, by the line above; the kernel handed the chunk over.
            into.take(unsafe { std::slice::from_raw_parts(self.chunks.at(start), length) });
        } else {
            into.take(&[]);
        }
        self.fill.push(received.addr - received.addr % CHUNK as u64);
        Ok(true)
    }

    fn pass_time(&mut self, most: Duration) -> io::Result<()> {
        match self.in_use.wait {
            PacketWait::Interrupt => sys::wait_for_packet(&self.socket, most, false),
            PacketWait::BusyPoll => {
                // Zero copy: the driver stopped where it had no chunks, or waits to be polled.
                if self.in_use.kernel_busy_poll == Some(true) || self.fill.needs_wakeup() {
                    sys::poke_receiver(&self.socket);
                } else {
                    std::hint::spin_loop();
                }
                Ok(())
            }
        }
    }

    fn in_use(&self) -> PathInUse {
        self.in_use
    }

    fn drops(&mut self) -> Option<PathDrops> {
        // SAFETY: every bit pattern is numbers.
        let counted =
            unsafe { sys::get_option::<libc::xdp_statistics>(&self.socket, libc::SOL_XDP, libc::XDP_STATISTICS) }
                .ok()?;
        Some(PathDrops { ring_full: counted.rx_ring_full, other: counted.rx_dropped })
    }
}
