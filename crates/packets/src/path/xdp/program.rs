//! The program that redirects packets: 19 instructions of eBPF (one of them two places long), written out here.

use std::io;
use std::os::fd::RawFd;

use crate::bpf::{Instruction, Map, MapKind, XdpLink, XdpProgram, code::*, instruction, load_map};
use crate::frame::{ETHERTYPE, VLAN_ETHERTYPE};
use crate::interface::NetInterface;
use crate::path::{PathError, XdpMode, refusal};

// Of `linux/bpf.h`.
const FUNC_REDIRECT_MAP: i32 = 51;
const XDP_PASS: i32 = 2;

const LENGTH: usize = 20;

/// Frames of our EtherType, plain or behind one tag, go to the socket of their queue; all others, and those of a queue without a
/// socket, go on to the network stack.
fn redirect(map: RawFd) -> [Instruction; LENGTH] {
    // Fields of a frame are big-endian, and loads take them as they stand.
    let ours = i32::from(ETHERTYPE.to_be());
    let vlan = i32::from(VLAN_ETHERTYPE.to_be());
    let [map_low, map_high] = load_map(1, map);
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
        map_low,
        map_high,
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

/// The attached program. Dropping it detaches it.
pub struct Redirect {
    /// Where it runs.
    pub mode: XdpMode,
    _link: XdpLink,
    _map: Map,
}

impl Redirect {
    /// Attaches the program to an interface, for a socket on one of its queues.
    pub fn attach(interface: &NetInterface, queue: u32, socket: RawFd) -> Result<Self, PathError> {
        let refused = |what| move |error| refusal(what, "CAP_BPF and CAP_NET_ADMIN", interface, error);
        let map = Map::new(MapKind::Sockets, queue + 1).map_err(refused("a map of AF_XDP sockets"))?;
        map.set(queue, socket as u64).map_err(refused("entering an AF_XDP socket into its map"))?;
        let program = XdpProgram::load(&redirect(map.descriptor())).map_err(refused("loading the XDP program"))?;
        let (mode, link) = match program.attach(interface, XdpMode::Driver) {
            Ok(link) => (XdpMode::Driver, link),
            Err(error) if is_without_driver(&error) => {
                let link = program.attach(interface, XdpMode::Generic);
                (XdpMode::Generic, link.map_err(|error| not_attached(interface, error))?)
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
