//! The packets: Ethernet frames of an EtherType for local experiments, with a version, a session and a number.
//!
//! ```text
//! 0  destination   6    14 "WKPR"     4    22 session     8
//! 6  source        6    18 version    1    30 cycle       8
//! 12 0x88b5        2    19 kind       1    38 turnaround  8
//!                       20 0          2    46 instructions 8, 54 bytes 8, 62 path 1, zeros
//! ```
//!
//! Numbers are big-endian. With a VLAN tag everything after the source stands four bytes later.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// IEEE 802 local experimental EtherType 1 (IEEE 802-2014, 9.2.4): no protocol owns it.
pub const ETHERTYPE: u16 = 0x88b5;
/// IEEE 802.1Q.
pub(crate) const VLAN_ETHERTYPE: u16 = 0x8100;
/// The version of the format that this program writes, and the only one that it reads.
pub const VERSION: u8 = 1;
/// The fewest bytes after the EtherType.
pub const LEAST_PAYLOAD: usize = 64;
/// The most bytes after the EtherType: a frame fits half a page with the headroom that XDP keeps.
pub const MOST_PAYLOAD: usize = 1500;

const MAGIC: [u8; 4] = *b"WKPR";
const ADDRESSES: usize = 12;
const TAG: usize = 4;
const MOST_FRAME: usize = ADDRESSES + TAG + 2 + MOST_PAYLOAD;

/// The address of a network interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Every interface of the network.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether it names several interfaces.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no address of one interface.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not the address of an interface; expected six bytes such as `02:00:00:00:00:01`, and no group address"
)]
pub struct BadMac(String);

impl FromStr for MacAddress {
    type Err = BadMac;

    fn from_str(text: &str) -> Result<Self, BadMac> {
        let bad = || BadMac(text.into());
        let two_digits = |part: &str| match part.len() {
            1 | 2 if part.bytes().all(|digit| digit.is_ascii_hexdigit()) => u8::from_str_radix(part, 16).ok(),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.split([':', '-']).map(two_digits).collect();
        let address = Self(bytes.ok_or_else(bad)?.try_into().map_err(|_| bad())?);
        if address.is_group() || address == Self([0; 6]) { Err(bad()) } else { Ok(address) }
    }
}

/// The tag of IEEE 802.1Q.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct VlanTag {
    /// The number of the VLAN, 0 (priority only) to 4094.
    pub id: u16,
    /// The priority code point, 0 to 7.
    pub priority: u8,
}

impl VlanTag {
    pub(crate) fn to_tci(self) -> u16 {
        u16::from(self.priority) << 13 | self.id
    }

    pub(crate) fn from_tci(tci: u16) -> Self {
        Self { id: tci & 0xfff, priority: (tci >> 13) as u8 }
    }
}

/// A text that is no tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a VLAN tag; expected ID:PRIORITY with an ID of 0 to 4094 and a priority of 0 to 7, such as `100:6`"
)]
pub struct BadTag(String);

impl FromStr for VlanTag {
    type Err = BadTag;

    fn from_str(text: &str) -> Result<Self, BadTag> {
        let parsed = text.split_once(':').and_then(|(id, priority)| Some((id.parse().ok()?, priority.parse().ok()?)));
        match parsed {
            Some((id @ 0..=4094, priority @ 0..=7)) => Ok(Self { id, priority }),
            _ => Err(BadTag(text.into())),
        }
    }
}

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    /// From the generator: begin a cycle.
    Sensor,
    /// From the responder: the cycle has been computed.
    Actuator,
    /// From the generator: is there a responder?
    Hello,
    /// From the responder: here, and what it does.
    Here,
}

impl PacketKind {
    fn number(self) -> u8 {
        match self {
            Self::Sensor => 1,
            Self::Actuator => 2,
            Self::Hello => 3,
            Self::Here => 4,
        }
    }

    fn of(number: u8) -> Option<Self> {
        [Self::Sensor, Self::Actuator, Self::Hello, Self::Here].into_iter().find(|kind| kind.number() == number)
    }
}

/// What a packet says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Where it goes.
    pub destination: MacAddress,
    /// Where it comes from.
    pub source: MacAddress,
    /// Its tag.
    pub vlan: Option<VlanTag>,
    /// What it is.
    pub kind: PacketKind,
    /// The generator's run that it belongs to.
    pub session: u64,
    /// The number of the cycle, from 1; 0 in a greeting.
    pub cycle: u64,
    /// Of an actuator packet: nanoseconds from the responder's sight of the sensor packet to the making of this one.
    pub turnaround_ns: u64,
    /// What the responder does in each cycle, in its greeting.
    pub work: WorkOfResponder,
}

/// What a responder says of itself in its greeting; zeros in other packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkOfResponder {
    /// Instructions in each cycle; 0 where they are not counted.
    pub instructions: u64,
    /// Bytes that they work in.
    pub bytes: u64,
    /// The number of its data path, see [`PathInUse::number`](crate::path::PathInUse::number).
    pub path: u8,
}

/// Why a frame is none of the packets that are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotOurs {
    /// It ends before the last field.
    Short,
    /// Another EtherType, another beginning, an unknown kind, or another destination.
    Foreign,
    /// Another version of the format.
    Version,
}

/// A frame in a buffer of its own.
#[derive(Clone)]
pub struct Frame {
    bytes: [u8; MOST_FRAME],
    length: usize,
    /// The tag, where the kernel took it out of the bytes.
    pub(crate) tag_beside: Option<VlanTag>,
    /// When the kernel saw it, nanoseconds of CLOCK_REALTIME, where that is known.
    pub(crate) kernel_ns: Option<i64>,
}

impl Default for Frame {
    fn default() -> Self {
        Self { bytes: [0; MOST_FRAME], length: 0, tag_beside: None, kernel_ns: None }
    }
}

impl Frame {
    /// Its bytes; of a longer frame those that the buffer holds.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Takes a frame that came in.
    pub fn take(&mut self, bytes: &[u8]) {
        self.length = bytes.len().min(MOST_FRAME);
        self.bytes[..self.length].copy_from_slice(&bytes[..self.length]);
        self.tag_beside = None;
        self.kernel_ns = None;
    }

    /// Writes a packet with so many bytes after its EtherType.
    pub fn write(&mut self, packet: &Packet, payload: usize) {
        let payload = payload.clamp(LEAST_PAYLOAD, MOST_PAYLOAD);
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&packet.destination.0);
        put(&packet.source.0);
        if let Some(tag) = packet.vlan {
            put(&VLAN_ETHERTYPE.to_be_bytes());
            put(&tag.to_tci().to_be_bytes());
        }
        put(&ETHERTYPE.to_be_bytes());
        put(&MAGIC);
        put(&[VERSION, packet.kind.number(), 0, 0]);
        for number in [packet.session, packet.cycle, packet.turnaround_ns, packet.work.instructions, packet.work.bytes]
        {
            put(&number.to_be_bytes());
        }
        put(&[packet.work.path]);
        let header = if packet.vlan.is_some() { ADDRESSES + TAG + 2 } else { ADDRESSES + 2 };
        self.length = header + payload;
        self.bytes[at..self.length].fill(0);
    }

    /// Reads a packet that came to `own` address or, where it is a greeting, to all.
    ///
    /// # Errors
    /// What it is instead.
    pub fn read(&self, own: MacAddress) -> Result<Packet, NotOurs> {
        let mut rest = Fields(self.bytes());
        let destination = MacAddress(rest.take()?);
        let source = MacAddress(rest.take()?);
        let mut vlan = self.tag_beside;
        let mut ethertype = u16::from_be_bytes(rest.take()?);
        if ethertype == VLAN_ETHERTYPE {
            vlan = Some(VlanTag::from_tci(u16::from_be_bytes(rest.take()?)));
            ethertype = u16::from_be_bytes(rest.take()?);
        }
        if ethertype != ETHERTYPE || rest.take::<4>()? != MAGIC {
            return Err(NotOurs::Foreign);
        }
        let [version, kind, ..] = rest.take::<4>()?;
        if version != VERSION {
            return Err(NotOurs::Version);
        }
        let kind = PacketKind::of(kind).ok_or(NotOurs::Foreign)?;
        let to_all = destination == MacAddress::BROADCAST && kind == PacketKind::Hello;
        if (destination != own && !to_all) || source.is_group() {
            return Err(NotOurs::Foreign);
        }
        let mut number = || rest.take().map(u64::from_be_bytes);
        let (session, cycle, turnaround_ns, instructions, bytes) =
            (number()?, number()?, number()?, number()?, number()?);
        let [path] = rest.take()?;
        let work = WorkOfResponder { instructions, bytes, path };
        Ok(Packet { destination, source, vlan, kind, session, cycle, turnaround_ns, work })
    }
}

/// What is left of a frame.
struct Fields<'f>(&'f [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], NotOurs> {
        let (field, rest) = self.0.split_first_chunk().ok_or(NotOurs::Short)?;
        self.0 = rest;
        Ok(*field)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OWN: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

    fn packet(vlan: Option<VlanTag>) -> Packet {
        Packet {
            destination: OWN,
            source: MacAddress([2, 0, 0, 0, 0, 2]),
            vlan,
            kind: PacketKind::Actuator,
            session: 0x1122_3344_5566_7788,
            cycle: 258,
            turnaround_ns: 70_000,
            work: WorkOfResponder { instructions: 12_000, bytes: 270_336, path: 3 },
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let mut frame = Frame::default();
        frame.write(&packet(Some(VlanTag { id: 100, priority: 6 })), LEAST_PAYLOAD);
        let bytes = frame.bytes();
        assert_eq!(bytes.len(), 18 + 64);
        // Priority 6 is 110 in the top three bits: 0xc000, and 100 is 0x64.
        assert_eq!(bytes[12..18], [0x81, 0x00, 0xc0, 0x64, 0x88, 0xb5]);
        assert_eq!(&bytes[18..22], b"WKPR");
        assert_eq!(bytes[22..26], [1, 2, 0, 0]);
        assert_eq!(bytes[34..42], [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(frame.read(OWN), Ok(packet(Some(VlanTag { id: 100, priority: 6 }))));
        frame.write(&packet(None), LEAST_PAYLOAD);
        assert_eq!(frame.bytes().len(), 14 + 64);
        assert_eq!(frame.read(OWN), Ok(packet(None)));
    }

    #[test]
    fn what_is_not_ours_is_told_apart() {
        let mut frame = Frame::default();
        frame.write(&packet(None), LEAST_PAYLOAD);
        let bytes = frame.bytes().to_vec();
        let read = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut changed = bytes.clone();
            change(&mut changed);
            let mut frame = Frame::default();
            frame.take(&changed);
            frame.read(OWN).unwrap_err()
        };
        assert_eq!(read(&|bytes| bytes.truncate(62)), NotOurs::Short);
        assert_eq!(read(&|bytes| bytes.clear()), NotOurs::Short);
        assert_eq!(read(&|bytes| bytes[18] = 2), NotOurs::Version);
        assert_eq!(read(&|bytes| bytes[19] = 9), NotOurs::Foreign);
        assert_eq!(read(&|bytes| bytes[14] = b'X'), NotOurs::Foreign);
        assert_eq!(read(&|bytes| bytes[5] = 7), NotOurs::Foreign);
        assert_eq!(read(&|bytes| bytes[..6].fill(0xff)), NotOurs::Foreign);
        assert_eq!(read(&|bytes| bytes[6] |= 1), NotOurs::Foreign);
    }

    #[test]
    fn addresses_and_tags_are_read_as_people_write_them() {
        assert_eq!("2:0:0:0:0:1".parse(), Ok(OWN));
        assert_eq!("02-00-00-00-00-01".parse(), Ok(OWN));
        for bad in
            ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "ff:ff:ff:ff:ff:ff", "0:0:0:0:0:0", "+2:0:0:0:0:1", "eth0"]
        {
            assert!(bad.parse::<MacAddress>().is_err(), "{bad}");
        }
        assert_eq!("100:6".parse(), Ok(VlanTag { id: 100, priority: 6 }));
        for bad in ["", "100", "4095:1", "1:8", "a:1", "-1:0"] {
            assert!(bad.parse::<VlanTag>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..1700)) {
            let mut frame = Frame::default();
            frame.take(&bytes);
            let _ = frame.read(OWN);
        }
    }
}
