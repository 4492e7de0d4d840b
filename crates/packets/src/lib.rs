//! Packet in, compute, packet out: the data paths, the two roles on them, and their accounts.
//!
//! A generator sends a sensor packet once every period, a responder computes and answers with an actuator packet. Both are
//! ordinary Ethernet frames of a local experimental EtherType ([`frame`]), over AF_XDP or AF_PACKET ([`path`]).

pub mod accounts;
pub mod bpf;
pub mod compute;
pub mod control_loop;
pub mod figure;
pub mod frame;
pub mod generate;
pub mod interface;
mod launches;
pub mod path;
pub mod record;
pub mod respond;
pub mod role;
mod sys;
mod time;
