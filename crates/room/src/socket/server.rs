//! The room's end of its socket.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use hdrhistogram::Histogram;

use waykeeper_platform::explain::read_json_text;

use super::protocol::{
    Latency, LoadStatus, RoomAnswer, RoomOutcome, RoomQuestion, RoomRequest, RoomStatus, Start, VERSION,
    WorkloadCounts, WorkloadSamples,
};
use crate::backing::{BufferMemory, CoreCounts, Work};
use crate::load::resolve;
use crate::machine::name;
use crate::room::Shared;
use crate::runner::Ask as Runner;

/// The longest line that is taken. A workload is far shorter.
const LINE_MAX: u64 = 1 << 20;
/// How often a waiting client's time is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// The thread that takes connections. The socket goes with it.
#[derive(Debug)]
pub struct Listening {
    at: PathBuf,
    /// The device and number of the socket in its folder: another file at its place is somebody else's. None where something that is
    /// no socket stood there already when it was looked at.
    made: Option<(u64, u64)>,
    /// Shutting it down wakes the thread up, also where nobody can connect any more.
    waker: UnixListener,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    /// Listens at a path. Only the owner may connect.
    pub(crate) fn new(shared: Arc<Shared>, at: &Path) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("the socket `{}`: {error}", at.display()));
        let listener = bound(at).map_err(named)?;
        let made = identity(at);
        let waker = listener.try_clone()?;
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let take = move || {
            for stream in listener.incoming() {
                if seen.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else {
                    // Too many open files, say: it is tried again, and not as fast as can be.
                    std::thread::sleep(LOOK);
                    continue;
                };
                let (shared, seen) = (Arc::clone(&shared), Arc::clone(&seen));
                // Without a thread the client sees its connection close.
                let _ = std::thread::Builder::new().name("client".into()).spawn(move || talk(&shared, &seen, stream));
            }
        };
        let thread = std::thread::Builder::new().name("socket".into()).spawn(take)?;
        Ok(Self { at: at.to_owned(), made, waker, ended, thread: Some(thread) })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // SAFETY: a plain call on a descriptor that is open.
        unsafe { libc::shutdown(self.waker.as_raw_fd(), libc::SHUT_RDWR) };
        if self.made.is_some() && identity(&self.at) == self.made {
            let _ = std::fs::remove_file(&self.at);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A socket at a path where nothing is yet. It has its permissions before anybody can see it, and no path is changed later.
fn bound(at: &Path) -> io::Result<UnixListener> {
    use std::os::fd::{FromRawFd, OwnedFd};
    // SAFETY: a plain call; what it returns is new and nobody else's.
    let socket = unsafe {
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(socket)
    };
    // bind(2) takes the permissions of the new file from the socket's own.
    rustix::fs::fchmod(&socket, rustix::fs::Mode::from_raw_mode(0o600))?;
    let (address, length) = address(at)?;
    // SAFETY: the address is whole, and of that length.
    let listens = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) == 0
            && libc::listen(socket.as_raw_fd(), libc::SOMAXCONN) == 0
    };
    if listens { Ok(socket.into()) } else { Err(io::Error::last_os_error()) }
}

fn address(at: &Path) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: all fields may be zero.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let path = at.as_os_str().as_bytes();
    if path.len() >= address.sun_path.len() || path.contains(&0) {
        let longest = address.sun_path.len() - 1;
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("a path of a socket has at most {longest} bytes"),
        ));
    }
    for (to, from) in address.sun_path.iter_mut().zip(path) {
        *to = *from as libc::c_char;
    }
    Ok((address, size_of::<libc::sockaddr_un>() as libc::socklen_t))
}

/// The device and number of the socket that a path names itself; none where there is none. Between the call that makes it and this
/// one, somebody who may write to its folder may have put something else there.
fn identity(at: &Path) -> Option<(u64, u64)> {
    let seen = at.symlink_metadata().ok().filter(|seen| seen.file_type().is_socket())?;
    Some((seen.dev(), seen.ino()))
}

/// What ends with a connection.
#[derive(Default)]
struct Held {
    workloads: Vec<u64>,
    memories: Vec<u64>,
}

/// Answers one client until it goes. What it started ends with it, unless it is to stay.
fn talk(shared: &Shared, ended: &AtomicBool, stream: UnixStream) {
    let mut held = Held::default();
    converse(shared, ended, stream, &mut held);
    for id in held.workloads {
        // It may have ended already.
        let _ = shared.stop(id);
    }
    for memory in held.memories {
        let _ = shared.runner.ask_for(|answer| Runner::TakeBack(memory, answer));
    }
}

fn converse(shared: &Shared, ended: &AtomicBool, stream: UnixStream, held: &mut Held) {
    let Ok(mut back) = stream.try_clone() else { return };
    let mut lines = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        match lines.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(length) if length > 0 && line.ends_with(b"\n") => {}
            _ => return,
        }
        let answer = answer_until(shared, ended, &line, held);
        let Ok(mut text) = serde_json::to_vec(&answer) else { return };
        text.push(b'\n');
        if back.write_all(&text).is_err() {
            return;
        }
    }
}

/// Answers a line.
pub(crate) fn answer(shared: &Shared, line: &[u8]) -> RoomAnswer {
    answer_until(shared, &AtomicBool::new(false), line, &mut Held::default())
}

fn answer_until(shared: &Shared, ended: &AtomicBool, line: &[u8], held: &mut Held) -> RoomAnswer {
    let outcome = match read_json_text::<RoomRequest>(line) {
        Ok(request) if request.version == VERSION => carry_out(shared, ended, request.ask, held),
        Ok(request) => RoomOutcome::Refused {
            why: format!("found version {}; this room speaks version {VERSION}", request.version),
        },
        Err(error) => RoomOutcome::Refused { why: format!("the request is not one: {error}") },
    };
    RoomAnswer { version: VERSION, outcome }
}

fn carry_out(shared: &Shared, ended: &AtomicBool, ask: RoomQuestion, held: &mut Held) -> RoomOutcome {
    let refused = |why: String| RoomOutcome::Refused { why };
    match ask {
        RoomQuestion::Status => RoomOutcome::Status(status(shared)),
        RoomQuestion::Start(ask) => match start(shared, &ask) {
            Ok(id) => {
                held.workloads.extend(Some(id).filter(|_| !ask.stay));
                RoomOutcome::Started { id }
            }
            Err(why) => refused(why),
        },
        RoomQuestion::Stop { id } => shared.stop(id).map_or_else(refused, |()| RoomOutcome::Stopped),
        RoomQuestion::Samples { id } => samples(shared, id).map_or_else(refused, RoomOutcome::Samples),
        RoomQuestion::Memory { core, bytes } => {
            let given = shared.runner.ask_for(|answer| Runner::Give { core, bytes, answer });
            match given {
                Ok(memory) => {
                    held.memories.push(memory);
                    RoomOutcome::Given { memory }
                }
                Err(why) => refused(why),
            }
        }
        RoomQuestion::Free { memory } => {
            let freed = shared.runner.ask_for(|answer| Runner::TakeBack(memory, answer));
            freed.map_or_else(refused, |()| RoomOutcome::Freed)
        }
        RoomQuestion::Until { id, samples } => {
            let enough = || {
                let collected = shared.runner.published.collected();
                collected.get(&id).map(|one| one.ended_ps.is_some() || one.samples.len() >= samples)
            };
            loop {
                match enough() {
                    None => return refused(format!("there was no workload {id}")),
                    Some(true) => break,
                    Some(false) if ended.load(Ordering::Relaxed) => break,
                    Some(false) => std::thread::sleep(LOOK),
                }
            }
            RoomOutcome::Waited { now_ns: shared.runner.published.snapshot().now_ps as f64 / 1000.0 }
        }
        RoomQuestion::Wait { ns } => {
            let now = || shared.runner.published.snapshot().now_ps;
            let until = now().saturating_add(ns.saturating_mul(1000));
            while now() < until && !ended.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK);
            }
            RoomOutcome::Waited { now_ns: now() as f64 / 1000.0 }
        }
    }
}

fn start(shared: &Shared, ask: &Start) -> Result<u64, String> {
    let platform = &shared.platform;
    if platform.core_kind(ask.core).is_none() {
        let there = waykeeper_platform::format_cpulist(&platform.core_ids());
        return Err(format!("there is no core {}; the cores are {there}", ask.core));
    }
    let pattern = match (&ask.workload, &ask.pattern) {
        (Some(workload), None) => resolve(workload, platform, ask.core)?,
        (None, Some(pattern)) => {
            waykeeper_simulator::can_run(platform, pattern).map_err(|refused| refused.to_string())?;
            pattern.clone()
        }
        _ => return Err("expected one of workload and pattern".into()),
    };
    let buffer = match (&ask.region, ask.memory) {
        (Some(_), Some(_)) => return Err("a buffer is in a region or in memory; found both".into()),
        (Some(name), None) => {
            let number = shared.state().region(name);
            BufferMemory::Region(number.ok_or_else(|| format!("there is no locked region `{name}`"))?)
        }
        (None, Some(memory)) => BufferMemory::Memory(memory),
        (None, None) => BufferMemory::Own,
    };
    let work = Work { core: ask.core, pattern, watched: ask.target, buffer, samples: ask.samples };
    shared.start(&ask.name, work, ask.pid.unwrap_or(0), ask.target)
}

fn counted(counts: CoreCounts) -> WorkloadCounts {
    let CoreCounts { accesses, memory_reads, sample_reads } = counts;
    WorkloadCounts { accesses, memory_reads, sample_reads }
}

fn latency(samples: &Histogram<u64>) -> Option<Latency> {
    (!samples.is_empty()).then(|| Latency {
        count: samples.len(),
        min: samples.min(),
        max: samples.max(),
        mean: samples.mean(),
    })
}

fn status(shared: &Shared) -> RoomStatus {
    let loads = shared.state().loads.clone();
    let snapshot = shared.runner.published.snapshot().clone();
    let mut collected = shared.runner.published.collected();
    let loads = loads.into_iter().filter_map(|load| {
        let one = collected.get_mut(&load.id)?;
        let status = LoadStatus {
            id: load.id,
            name: load.name,
            core: load.core,
            target: load.target,
            pid: Some(load.tid).filter(|tid| *tid > 0),
            counted: counted(one.counts),
            latency: latency(&one.recent),
        };
        one.recent.reset();
        Some(status)
    });
    RoomStatus {
        platform: shared.platform.name.clone(),
        kernel: name(shared.kernel).into(),
        now_ns: snapshot.now_ps as f64 / 1000.0,
        speed: snapshot.speed,
        tick_ns: shared.runner.published.tick_ns,
        loads: loads.collect(),
        not_simulated: snapshot.refused,
    }
}

fn samples(shared: &Shared, id: u64) -> Result<WorkloadSamples, String> {
    let now_ps = shared.runner.published.snapshot().now_ps;
    let collected = shared.runner.published.collected();
    let one = collected.get(&id).ok_or_else(|| format!("there was no workload {id}"))?;
    let buckets = one.samples.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()));
    Ok(WorkloadSamples {
        ran_ns: one.ended_ps.unwrap_or(now_ps).saturating_sub(one.started_ps) as f64 / 1000.0,
        tick_ns: shared.runner.published.tick_ns,
        counted: counted(one.counts),
        latency: latency(&one.samples),
        buckets: buckets.collect(),
    })
}
