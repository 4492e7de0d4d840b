//! `rtcp` as a user has it: two network namespaces joined by a virtual cable. These tests need root, and `ip`, `nsenter`,
//! `setpriv` and `unshare`.

mod doctor;
mod dropped;
mod hostile;
mod killed;
mod kpi;
mod network;
mod paths;
mod refused;
mod relay;
