//! A network interface, as the kernel describes it in this network namespace.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use libc::{c_char, c_int, c_ulong};
use waykeeper_linux::ethtool::Ethtool;

use crate::frame::MacAddress;
use crate::sys;

/// `struct ifreq`: a name, and a union of 24 bytes where pointers have 8.
#[repr(C, align(8))]
struct Request {
    name: [c_char; libc::IFNAMSIZ],
    value: [u8; 24],
}

/// An interface that is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetInterface {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Its address.
    pub mac: MacAddress,
    /// The most bytes after an Ethernet header.
    pub mtu: u32,
    /// How many queues receive; absent where the driver does not say.
    pub receive_queues: Option<u32>,
}

/// Why an interface cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// There is none.
    #[error("no interface is called `{name}` in this network namespace; expected one of {}", known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// It is down.
    #[error("interface `{0}` is down; `ip link set {0} up` turns it on")]
    Down(String),
    /// It has no Ethernet address.
    #[error(
        "interface `{0}` is no Ethernet interface; expected one with an address of six bytes, not a tunnel or `lo`"
    )]
    NotEthernet(String),
    /// The system refused a question.
    #[error("interface `{name}` cannot be examined: {what}: {error}")]
    System {
        /// Its name.
        name: String,
        /// The question.
        what: &'static str,
        /// The answer.
        error: io::Error,
    },
}

impl NetInterface {
    /// Looks an interface up by name.
    ///
    /// # Errors
    /// One that does not exist, is down, or is no Ethernet.
    pub fn find(name: &str) -> Result<Self, InterfaceError> {
        let system = |what| move |error| InterfaceError::System { name: name.to_owned(), what, error };
        let socket = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0).map_err(system("a socket"))?;
        let ask = Asked { socket: &socket, name };
        let unknown = || InterfaceError::Unknown { name: name.into(), known: names() };
        if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains('\0') {
            return Err(unknown());
        }
        let index = match ask.value(libc::SIOCGIFINDEX as c_ulong) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Err(unknown()),
            other => number(&other.map_err(system("its number"))?) as u32,
        };
        let flags = ask.value(libc::SIOCGIFFLAGS as c_ulong).map_err(system("its flags"))?;
        let flags = c_int::from(i16::from_ne_bytes([flags[0], flags[1]]));
        let address = ask.value(libc::SIOCGIFHWADDR as c_ulong).map_err(system("its address"))?;
        if u16::from_ne_bytes([address[0], address[1]]) != libc::ARPHRD_ETHER {
            return Err(InterfaceError::NotEthernet(name.into()));
        }
        if flags & libc::IFF_UP == 0 {
            return Err(InterfaceError::Down(name.into()));
        }
        let mac = MacAddress([address[2], address[3], address[4], address[5], address[6], address[7]]);
        let mtu = number(&ask.value(libc::SIOCGIFMTU as c_ulong).map_err(system("its MTU"))?) as u32;
        Ok(Self { name: name.into(), index, mac, mtu, receive_queues: receive_queues(name) })
    }
}

/// Questions about one interface.
struct Asked<'a> {
    socket: &'a OwnedFd,
    name: &'a str,
}

impl Asked<'_> {
    fn request(&self) -> Request {
        let mut request = Request { name: [0; libc::IFNAMSIZ], value: [0; 24] };
        for (to, from) in request.name.iter_mut().zip(self.name.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from as c_char;
        }
        request
    }

    fn value(&self, what: c_ulong) -> io::Result<[u8; 24]> {
        let mut request = self.request();
        // SAFETY: these requests take a `struct ifreq` and write into its union.
        unsafe { sys::ioctl(self.socket, what, &mut request) }?;
        Ok(request.value)
    }
}

/// How many queues receive, where the driver says so.
fn receive_queues(name: &str) -> Option<u32> {
    let queues = Ethtool::of(name).ok()?.queues().ok()?;
    Some(queues.receive).filter(|queues| *queues > 0)
}

fn number(value: &[u8; 24]) -> i32 {
    i32::from_ne_bytes([value[0], value[1], value[2], value[3]])
}

/// The names of all interfaces here.
fn names() -> Vec<String> {
    let mut names = Vec::new();
    // SAFETY: the list ends with an entry of number 0, its names are C strings, and it is freed once.
    unsafe {
        let list = libc::if_nameindex();
        let mut entry = list;
        while !entry.is_null() && (*entry).if_index != 0 {
            names.push(CStr::from_ptr((*entry).if_name).to_string_lossy().into_owned());
            entry = entry.add(1);
        }
        if !list.is_null() {
            libc::if_freenameindex(list);
        }
    }
    names
}
