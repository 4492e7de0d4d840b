//! Programs of eBPF for packets, written out as instructions and loaded with bpf(2).
//!
//! A program is attached by a link (`BPF_LINK_CREATE`): the kernel detaches it when the last descriptor of the link is closed, also
//! where this process is killed.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use libc::c_int;

use crate::interface::NetInterface;
use crate::path::XdpMode;
use crate::sys;

// Of `linux/bpf.h`.
const MAP_CREATE: c_int = 0;
const MAP_LOOKUP_ELEM: c_int = 1;
const MAP_UPDATE_ELEM: c_int = 2;
const PROG_LOAD: c_int = 5;
const LINK_CREATE: c_int = 28;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;
const PSEUDO_MAP_FD: u8 = 1;
// Of `linux/if_link.h`.
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    code: u8,
    /// Destination in the low half, source in the high one.
    registers: u8,
    /// Of a jump: instructions to skip. Of a load or store: bytes from the address.
    pub offset: i16,
    immediate: i32,
}

/// An instruction of its fields.
pub const fn instruction(code: u8, destination: u8, source: u8, offset: i16, immediate: i32) -> Instruction {
    // A bit field: the first field is the low half on a little-endian machine.
    let registers = if cfg!(target_endian = "little") { source << 4 | destination } else { destination << 4 | source };
    Instruction { code, registers, offset, immediate }
}

/// Both places of the instruction that loads a map into a register.
pub const fn load_map(destination: u8, map: RawFd) -> [Instruction; 2] {
    [instruction(code::LOAD_CONSTANT_64, destination, PSEUDO_MAP_FD, 0, map), instruction(0, 0, 0, 0, 0)]
}

/// Codes of `Documentation/bpf/standardization/instruction-set.rst`.
pub mod code {
    /// `destination = *(u8 *)(source + offset)`.
    pub const LOAD_U8: u8 = 0x71;
    /// `destination = *(u16 *)(source + offset)`.
    pub const LOAD_U16: u8 = 0x69;
    /// `destination = *(u32 *)(source + offset)`.
    pub const LOAD_U32: u8 = 0x61;
    /// `destination = *(u64 *)(source + offset)`.
    pub const LOAD_U64: u8 = 0x79;
    /// `*(u32 *)(destination + offset) = source`.
    pub const STORE_U32: u8 = 0x63;
    /// `*(u64 *)(destination + offset) += source`, as one step (`immediate` 0).
    pub const ATOMIC_ADD_U64: u8 = 0xdb;
    /// `destination = source`.
    pub const MOVE: u8 = 0xbf;
    /// `destination = immediate`.
    pub const MOVE_CONSTANT: u8 = 0xb7;
    /// `destination += immediate`.
    pub const ADD_CONSTANT: u8 = 0x07;
    /// `destination = be64toh(destination)` with 64 as `immediate`.
    pub const BIG_ENDIAN: u8 = 0xdc;
    /// `if destination > source goto offset`.
    pub const JUMP_IF_GREATER: u8 = 0x2d;
    /// `if destination == immediate goto offset`.
    pub const JUMP_IF_EQUAL_CONSTANT: u8 = 0x15;
    /// `if destination != immediate goto offset`.
    pub const JUMP_UNLESS_EQUAL_CONSTANT: u8 = 0x55;
    /// A constant of 64 bits, two places long: see [`load_map`](super::load_map).
    pub(super) const LOAD_CONSTANT_64: u8 = 0x18;
    /// `r0 = helper(r1, ...)`, the helper's number as `immediate`.
    pub const CALL: u8 = 0x85;
    /// Returns `r0`.
    pub const EXIT: u8 = 0x95;
}

/// Kinds of maps (`enum bpf_map_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapKind {
    /// 64-bit numbers by index, zeros at first.
    Numbers,
    /// AF_XDP sockets by queue.
    Sockets,
}

/// A map of a program.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    kind: MapKind,
}

/// Beginnings of `union bpf_attr`, one a command. The kernel takes bytes that are not passed for zeros.
#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
}

#[repr(C)]
struct MapElement {
    map_fd: u32,
    _gap: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
    prog_name: [u8; 16],
    prog_ifindex: u32,
    expected_attach_type: u32,
}

#[repr(C)]
struct LinkCreate {
    prog_fd: u32,
    target_ifindex: u32,
    attach_type: u32,
    flags: u32,
}

impl Map {
    /// A map with so many entries.
    ///
    /// # Errors
    /// A lack of CAP_BPF or of memory.
    pub fn new(kind: MapKind, entries: u32) -> io::Result<Self> {
        let (map_type, value_size) = match kind {
            MapKind::Numbers => (2, 8),
            MapKind::Sockets => (17, 4),
        };
        let mut attributes = MapCreate { map_type, key_size: 4, value_size, max_entries: entries, map_flags: 0 };
        // SAFETY: there are no pointers in them.
        let descriptor = unsafe { sys::bpf(MAP_CREATE, &mut attributes) }?;
        Ok(Self { descriptor, kind })
    }

    /// The descriptor that instructions name it by.
    pub fn descriptor(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Sets an entry: a number, or the descriptor of a socket.
    ///
    /// # Errors
    /// An index beyond the map; a socket that is bound to another queue.
    pub fn set(&self, index: u32, value: u64) -> io::Result<()> {
        let (socket, number) = (value as u32, value);
        let value = match self.kind {
            MapKind::Numbers => (&raw const number).expose_provenance(),
            MapKind::Sockets => (&raw const socket).expose_provenance(),
        };
        let mut attributes = self.element(&index, value as u64);
        // SAFETY: key and value have the sizes of the map and outlive the call, which only reads them.
        unsafe { sys::bpf_call(MAP_UPDATE_ELEM, &mut attributes) }.map(drop)
    }

    /// An entry of a map of numbers.
    ///
    /// # Errors
    /// An index beyond the map; `EOPNOTSUPP` for a map of sockets.
    pub fn get(&self, index: u32) -> io::Result<u64> {
        if self.kind != MapKind::Numbers {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let mut value = 0_u64;
        let mut attributes = self.element(&index, (&raw mut value).expose_provenance() as u64);
        // SAFETY: key and value have the sizes of the map and outlive the call.
        unsafe { sys::bpf_call(MAP_LOOKUP_ELEM, &mut attributes) }?;
        Ok(value)
    }

    fn element(&self, index: &u32, value: u64) -> MapElement {
        let key = std::ptr::from_ref(index).expose_provenance() as u64;
        MapElement { map_fd: self.descriptor() as u32, _gap: 0, key, value, flags: 0 }
    }
}

/// A program that the kernel has verified.
#[derive(Debug)]
pub struct XdpProgram(OwnedFd);

/// An attached program. Dropping it detaches the program.
#[derive(Debug)]
pub struct XdpLink(#[expect(dead_code, reason = "open as long as the program is attached")] OwnedFd);

impl XdpProgram {
    /// Loads a program.
    ///
    /// # Errors
    /// A lack of CAP_BPF, or instructions that the kernel's verifier refuses.
    pub fn load(instructions: &[Instruction]) -> io::Result<Self> {
        let mut name = [0; 16];
        name[..9].copy_from_slice(b"waykeeper");
        let mut attributes = ProgLoad {
            prog_type: PROG_TYPE_XDP,
            insn_cnt: instructions.len() as u32,
            insns: instructions.as_ptr().expose_provenance() as u64,
            license: c"Dual MIT/GPL".as_ptr().expose_provenance() as u64,
            log_level: 0,
            log_size: 0,
            log_buf: 0,
            kern_version: 0,
            prog_flags: 0,
            prog_name: name,
            prog_ifindex: 0,
            expected_attach_type: ATTACH_TYPE_XDP,
        };
        // SAFETY: the instructions and the licence outlive the call.
        unsafe { sys::bpf(PROG_LOAD, &mut attributes) }.map(Self)
    }

    /// Attaches it to an interface.
    ///
    /// # Errors
    /// A lack of CAP_NET_ADMIN; an interface with a program; `EOPNOTSUPP` where the driver has no such mode.
    pub fn attach(&self, interface: &NetInterface, mode: XdpMode) -> io::Result<XdpLink> {
        let flags = match mode {
            XdpMode::Driver => XDP_FLAGS_DRV_MODE,
            XdpMode::Generic => XDP_FLAGS_SKB_MODE,
        };
        let mut attributes = LinkCreate {
            prog_fd: self.0.as_raw_fd() as u32,
            target_ifindex: interface.index,
            attach_type: ATTACH_TYPE_XDP,
            flags,
        };
        // SAFETY: there are no pointers in them.
        unsafe { sys::bpf(LINK_CREATE, &mut attributes) }.map(XdpLink)
    }
}
