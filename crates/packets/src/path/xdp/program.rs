//! The program that redirects packets: 19 instructions of eBPF (one of them two places long), written out here and loaded with bpf(2).
//!
//! It is attached by a link (`BPF_LINK_CREATE`): the kernel detaches it when the last descriptor of the link is closed, also where
//! this process is killed.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use libc::c_int;

use crate::frame::{ETHERTYPE, VLAN_ETHERTYPE};
use crate::interface::NetInterface;
use crate::path::{PathError, XdpMode, refusal};
use crate::sys;

// Of `linux/bpf.h`.
const MAP_CREATE: c_int = 0;
const MAP_UPDATE_ELEM: c_int = 2;
const PROG_LOAD: c_int = 5;
const LINK_CREATE: c_int = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;
const FUNC_REDIRECT_MAP: i32 = 51;
const PSEUDO_MAP_FD: u8 = 1;
const XDP_PASS: i32 = 2;
// Of `linux/if_link.h`.
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Instruction {
    code: u8,
    /// Destination in the low half, source in the high one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, destination: u8, source: u8, offset: i16, immediate: i32) -> Instruction {
    // A bit field: the first field is the low half on a little-endian machine.
    let registers = if cfg!(target_endian = "little") { source << 4 | destination } else { destination << 4 | source };
    Instruction { code, registers, offset, immediate }
}

// Codes of `Documentation/bpf/standardization/instruction-set.rst`.
const LOAD_U16: u8 = 0x69;
const LOAD_U32: u8 = 0x61;
const MOVE: u8 = 0xbf;
const MOVE_CONSTANT: u8 = 0xb7;
const ADD_CONSTANT: u8 = 0x07;
const JUMP_IF_GREATER: u8 = 0x2d;
const JUMP_IF_EQUAL_CONSTANT: u8 = 0x15;
const JUMP_UNLESS_EQUAL_CONSTANT: u8 = 0x55;
const LOAD_CONSTANT_64: u8 = 0x18;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

const LENGTH: usize = 20;

/// Frames of our EtherType, plain or behind one tag, go to the socket of their queue; all others, and those of a queue without a
/// socket, go on to the network stack.
fn redirect(map: RawFd) -> [Instruction; LENGTH] {
    // Fields of a frame are big-endian, and loads take them as they stand.
    let ours = i32::from(ETHERTYPE.to_be());
    let vlan = i32::from(VLAN_ETHERTYPE.to_be());
    [
        // r2 = context->data: where the frame begins
        instruction(LOAD_U32, 2, 1, 0, 0),
        // r3 = context->data_end: where it ends
        instruction(LOAD_U32, 3, 1, 4, 0),
        // r4 = r2
        instruction(MOVE, 4, 2, 0, 0),
        // r4 += 14: the end of an Ethernet header
        instruction(ADD_CONSTANT, 4, 0, 0, 14),
        // if r4 > r3 goto pass: the frame is shorter
        instruction(JUMP_IF_GREATER, 4, 3, 13, 0),
        // r5 = the EtherType
        instruction(LOAD_U16, 5, 2, 12, 0),
        // if r5 == ours goto redirect
        instruction(JUMP_IF_EQUAL_CONSTANT, 5, 0, 5, ours),
        // if r5 != vlan goto pass
        instruction(JUMP_UNLESS_EQUAL_CONSTANT, 5, 0, 10, vlan),
        // r4 += 4: the end of a header with a tag
        instruction(ADD_CONSTANT, 4, 0, 0, 4),
        // if r4 > r3 goto pass
        instruction(JUMP_IF_GREATER, 4, 3, 8, 0),
        // r5 = the EtherType behind the tag
        instruction(LOAD_U16, 5, 2, 16, 0),
        // if r5 != ours goto pass
        instruction(JUMP_UNLESS_EQUAL_CONSTANT, 5, 0, 6, ours),
        // redirect: r2 = context->rx_queue_index
        instruction(LOAD_U32, 2, 1, 16, 0),
        // r1 = the map of sockets, two places long
        instruction(LOAD_CONSTANT_64, 1, PSEUDO_MAP_FD, 0, map),
        instruction(0, 0, 0, 0, 0),
        // r3 = XDP_PASS: what to do where the map has no socket for the queue
        instruction(MOVE_CONSTANT, 3, 0, 0, XDP_PASS),
        // r0 = bpf_redirect_map(r1, r2, r3)
        instruction(CALL, 0, 0, 0, FUNC_REDIRECT_MAP),
        // return r0
        instruction(EXIT, 0, 0, 0, 0),
        // pass: r0 = XDP_PASS
        instruction(MOVE_CONSTANT, 0, 0, 0, XDP_PASS),
        // return r0
        instruction(EXIT, 0, 0, 0, 0),
    ]
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
struct MapUpdate {
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

/// The attached program. Dropping it detaches it.
pub struct Redirect {
    /// Where it runs.
    pub mode: XdpMode,
    _link: OwnedFd,
    _map: OwnedFd,
}

impl Redirect {
    /// Attaches the program to an interface, for a socket on one of its queues.
    pub fn attach(interface: &NetInterface, queue: u32, socket: RawFd) -> Result<Self, PathError> {
        let refused = |what| move |error| refusal(what, "CAP_BPF and CAP_NET_ADMIN", interface, error);
        let map = create_map(queue + 1).map_err(refused("a map of AF_XDP sockets"))?;
        put_socket(&map, queue, socket).map_err(refused("entering an AF_XDP socket into its map"))?;
        let program = load(&redirect(map.as_raw_fd())).map_err(refused("loading the XDP program"))?;
        let (mode, link) = match link(interface, &program, XDP_FLAGS_DRV_MODE) {
            Ok(link) => (XdpMode::Driver, link),
            Err(error) if is_without_driver(&error) => {
                let link =
                    link(interface, &program, XDP_FLAGS_SKB_MODE).map_err(|error| not_attached(interface, error))?;
                (XdpMode::Generic, link)
            }
            Err(error) => return Err(not_attached(interface, error)),
        };
        Ok(Self { mode, _link: link, _map: map })
    }
}

fn is_without_driver(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EOPNOTSUPP)
}

fn not_attached(interface: &NetInterface, error: io::Error) -> PathError {
    let name = interface.name.clone();
    match error.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => PathError::HasProgram(name),
        Some(libc::ERANGE | libc::EINVAL) if interface.mtu > 1500 => {
            PathError::MtuTooLarge { name, mtu: interface.mtu, error }
        }
        Some(libc::EINVAL) => PathError::NoSupport {
            what: "links of XDP programs",
            error,
            instead: "Linux 5.9 has them, and --path packet does without",
        },
        _ => refusal("attaching the XDP program", "CAP_BPF and CAP_NET_ADMIN", interface, error),
    }
}

fn create_map(entries: u32) -> io::Result<OwnedFd> {
    let mut attributes =
        MapCreate { map_type: MAP_TYPE_XSKMAP, key_size: 4, value_size: 4, max_entries: entries, map_flags: 0 };
    // SAFETY: there are no pointers in them.
    unsafe { sys::bpf(MAP_CREATE, &mut attributes) }
}

fn put_socket(map: &OwnedFd, queue: u32, socket: RawFd) -> io::Result<()> {
    let (key, value) = (&raw const queue, &raw const socket);
    let mut attributes = MapUpdate {
        map_fd: map.as_raw_fd() as u32,
        _gap: 0,
        key: key.expose_provenance() as u64,
        value: value.expose_provenance() as u64,
        flags: 0,
    };
    // SAFETY: key and value have the sizes of the map and outlive the call.
    unsafe { sys::bpf_call(MAP_UPDATE_ELEM, &mut attributes) }.map(drop)
}

fn load(instructions: &[Instruction]) -> io::Result<OwnedFd> {
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
    unsafe { sys::bpf(PROG_LOAD, &mut attributes) }
}

fn link(interface: &NetInterface, program: &OwnedFd, flags: u32) -> io::Result<OwnedFd> {
    let mut attributes = LinkCreate {
        prog_fd: program.as_raw_fd() as u32,
        target_ifindex: interface.index,
        attach_type: ATTACH_TYPE_XDP,
        flags,
    };
    // SAFETY: there are no pointers in them.
    unsafe { sys::bpf(LINK_CREATE, &mut attributes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASS: usize = 18;
    const REDIRECT: usize = 12;

    #[test]
    fn every_jump_lands_where_its_comment_says() {
        let program = redirect(7);
        // Index of the jump, and of its target; an offset counts from the instruction after the jump.
        for (jump, target) in [(4, PASS), (6, REDIRECT), (7, PASS), (9, PASS), (11, PASS)] {
            assert_eq!(jump + 1 + program[jump].offset as usize, target, "instruction {jump}");
        }
        assert_eq!(program[PASS], instruction(MOVE_CONSTANT, 0, 0, 0, XDP_PASS));
        assert_eq!(program[REDIRECT], instruction(LOAD_U32, 2, 1, 16, 0));
    }
}
