//! The guardian: a small process between the caller and an external program. All descendants of the program become its
//! children when their own parents end (a subreaper). When the caller's end of the line closes, however the caller
//! ended, it kills them all. It is a fork that never calls `exec`, so it makes system calls only and allocates nothing.

use std::ffi::CString;
use std::os::fd::RawFd;

use waykeeper_kernels::clock;
use waykeeper_linux::schedule;

/// What the guardian needs, allocated before the fork.
#[derive(Debug)]
pub struct Orders {
    /// A list of pointers into the arguments, with a null pointer at its end.
    pub argv: Vec<*const libc::c_char>,
    /// The environment, with a null pointer at its end.
    pub environment: Vec<*const libc::c_char>,
    pub core: u32,
    /// What a target gets beside its core.
    pub target: Option<AsTarget>,
    /// A byte starts the program; the end of file ends everything.
    pub line: RawFd,
    /// Receives the wait status of the program.
    pub status: RawFd,
    /// Receives why the program does not start, or closes when it does.
    pub started: RawFd,
    /// Standard error of the program.
    pub errors: RawFd,
    /// Standard output of the program, or -1 for none.
    pub output: RawFd,
    /// A pidfd whose process's end also ends everything, or -1.
    pub parent: RawFd,
    /// The caller's ends of the pipes: they are closed first, whatever else stays open.
    pub callers: [RawFd; 5],
    /// No descriptor above this one is open.
    pub highest: RawFd,
    /// The program's own group.
    pub group: Option<Group>,
    pub means: Means,
}

/// What a target gets beside its core, as far as it can be given from outside.
#[derive(Debug, Clone, Copy)]
pub struct AsTarget {
    /// A descriptor that the program inherits, or -1.
    pub inherits: RawFd,
    /// Priority under SCHED_FIFO, and the longest time in microseconds that it may run without sleeping.
    pub realtime: Option<(i32, u64)>,
    /// No transparent huge pages, whatever the machine's setting.
    pub small_pages: bool,
    /// The guardian stays on the target's core, above the program: it sleeps while the program runs and sees its end at
    /// once. On another core it would wait behind a neighbour, and that wait would count as the program's.
    pub timed: bool,
}

/// How the program ended, as the guardian writes it: the wait status, the counter when it was forked, and when its end was
/// seen.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProgramExit {
    pub status: i32,
    pub reserved: u32,
    pub begun: u64,
    pub ended: u64,
}

/// Paths of a control group.
#[derive(Debug)]
pub struct Group {
    pub directory: CString,
    /// `cgroup.procs`
    pub processes: CString,
    /// `cgroup.kill`, from Linux 5.14.
    pub kill: CString,
    /// `cgroup.freeze`
    pub freeze: CString,
}

/// What the guardian may use. Everything by default; tests take single means away, as old kernels do.
#[derive(Debug, Clone, Copy)]
pub struct Means {
    /// A control group of the program's own.
    pub group: bool,
    /// `cgroup.kill`, from Linux 5.14.
    pub group_kill: bool,
    /// `close_range`, from Linux 5.9.
    pub close_range: bool,
    /// `/proc/thread-self/children`, a build option of the kernel.
    pub children: bool,
}

impl Default for Means {
    fn default() -> Self {
        Self { group: true, group_kill: true, close_range: true, children: true }
    }
}

/// The program could not join its group.
pub static NO_GROUP: u8 = b'g';
/// The program could not be started; the error's number follows.
pub static NOT_STARTED: u8 = b'e';

/// Runs the guardian in a process that was just forked.
///
/// # Safety
/// Only in the child of a fork; the pointers of `orders` are valid.
pub unsafe fn guard(orders: &Orders) -> ! {
    // SAFETY: system calls with buffers of this stack; the caller vouches for the pointers.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        libc::setsid();
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        // Its own copy of the line's other end would hide the end of file from it.
        for own in orders.callers {
            libc::close(own);
        }
        // Lines of other guardians would keep those alive; so would the caller's standard output keep its reader.
        let inherited = orders.target.map_or(-1, |target| target.inherits);
        let own = [orders.line, orders.status, orders.started, orders.errors, orders.output, orders.parent, inherited];
        close_all_but(own, orders);
        if let Some(target) = &orders.target {
            if target.timed {
                stay(orders.core, target);
            } else {
                // The target's core is its own; where there is no other, the guardian stays.
                let _ = schedule::leave(orders.core);
            }
        }
        let mut child: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut child);
        libc::sigaddset(&mut child, libc::SIGCHLD);
        let children = libc::signalfd(-1, &child, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        let mut byte = 0_u8;
        if libc::read(orders.line, (&raw mut byte).cast(), 1) != 1 {
            end(0, orders);
        }
        let begun = clock::now();
        let program = libc::fork();
        if program == 0 {
            begin(orders);
        }
        libc::close(orders.started);
        libc::close(orders.errors);
        libc::close(orders.output);
        loop {
            let mut ready = [
                libc::pollfd { fd: orders.line, events: libc::POLLIN, revents: 0 },
                libc::pollfd { fd: children, events: libc::POLLIN, revents: 0 },
                libc::pollfd { fd: orders.parent, events: libc::POLLIN, revents: 0 },
            ];
            libc::poll(ready.as_mut_ptr(), 3, -1);
            let mut seen = [0_u8; 128];
            while libc::read(children, seen.as_mut_ptr().cast(), seen.len()) > 0 {}
            let mut status = 0_i32;
            loop {
                let child = libc::waitpid(-1, &mut status, libc::WNOHANG);
                if child <= 0 {
                    break;
                }
                if child == program {
                    let ended = ProgramExit { status, reserved: 0, begun, ended: clock::now() };
                    libc::write(orders.status, (&raw const ended).cast(), size_of::<ProgramExit>());
                }
            }
            if ready[2].revents != 0 {
                // A stopped caller cannot act on the signal that it got when its parent ended.
                libc::kill(libc::getppid(), libc::SIGCONT);
            }
            if ready[0].revents != 0 || ready[2].revents != 0 {
                end(program, orders);
            }
        }
    }
}

/// Stays on the target's core. Above a program under SCHED_FIFO, so that it can be timed and ended; what is forked does
/// not inherit that.
fn stay(core: u32, target: &AsTarget) {
    let _ = schedule::pin(core);
    if let Some((priority, _)) = target.realtime {
        let _ = schedule::fifo_without_children(priority + 1);
    }
}

/// Becomes the program.
unsafe fn begin(orders: &Orders) -> ! {
    // SAFETY: as of the caller.
    unsafe {
        let _ = schedule::die_with_parent();
        libc::setpgid(0, 0);
        if let Some(group) = &orders.group {
            let file = libc::open(group.processes.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            if libc::write(file, c"0".as_ptr().cast(), 1) != 1 {
                libc::write(orders.started, (&raw const NO_GROUP).cast(), 1);
            }
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        libc::dup2(null, 0);
        libc::dup2(if orders.output >= 0 { orders.output } else { null }, 1);
        libc::dup2(orders.errors, 2);
        for signal in [libc::SIGPIPE, libc::SIGINT, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        let why = match schedule::pin(orders.core) {
            Err(error) => error.raw_os_error().unwrap_or(libc::EINVAL),
            Ok(()) => {
                if let Some(target) = &orders.target {
                    prepare_target(target);
                }
                libc::execvpe(orders.argv[0], orders.argv.as_ptr(), orders.environment.as_ptr());
                *libc::__errno_location()
            }
        };
        libc::write(orders.started, (&raw const NOT_STARTED).cast(), 1);
        libc::write(orders.started, (&raw const why).cast(), 4);
        libc::_exit(127)
    }
}

/// What is refused here shows when the caller looks at the program.
unsafe fn prepare_target(target: &AsTarget) {
    // SAFETY: the parameter blocks outlive the calls.
    unsafe {
        if target.inherits >= 0 {
            libc::fcntl(target.inherits, libc::F_SETFD, 0);
        }
        if target.small_pages {
            libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0);
        }
        if let Some((priority, longest_us)) = target.realtime
            && schedule::limit_realtime(longest_us).is_ok()
        {
            let _ = schedule::fifo(priority);
        }
    }
}

/// Kills the group and all descendants, removes the group, and ends.
unsafe fn end(program: libc::pid_t, orders: &Orders) -> ! {
    // SAFETY: as of the caller.
    unsafe {
        if let Some(group) = &orders.group {
            kill_group(group, orders.means);
        }
        if program > 0 {
            libc::kill(-program, libc::SIGKILL);
            // Orphans become children of this process: when it has none left, nobody is.
            while kill_children(orders.means) && libc::waitpid(-1, std::ptr::null_mut(), 0) > 0 {}
        }
        if let Some(group) = &orders.group {
            libc::rmdir(group.directory.as_ptr());
        }
        libc::_exit(0)
    }
}

/// Kills all processes of a group at once; frozen and one by one where the kernel has no `cgroup.kill`, so that none
/// can fork meanwhile.
pub(super) unsafe fn kill_group(group: &Group, means: Means) {
    // SAFETY: the paths end with a null byte, and buffers outlive the calls.
    unsafe {
        if means.group_kill && write_to(&group.kill, c"1") {
            return;
        }
        let frozen = write_to(&group.freeze, c"1");
        let file = libc::open(group.processes.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        each_number(file, |process| libc::kill(process, libc::SIGKILL) == 0);
        libc::close(file);
        if frozen {
            write_to(&group.freeze, c"0");
        }
    }
}

unsafe fn write_to(path: &CString, text: &std::ffi::CStr) -> bool {
    // SAFETY: the texts end with a null byte, and outlive the calls.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        let length = text.count_bytes();
        let written = libc::write(file, text.as_ptr().cast(), length);
        libc::close(file);
        written == length as isize
    }
}

/// Kills the direct children; whether there was one that could be killed.
unsafe fn kill_children(means: Means) -> bool {
    // SAFETY: no memory is passed but a constant path.
    unsafe {
        let file = if means.children {
            libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC)
        } else {
            -1
        };
        if file < 0 {
            return kill_children_by_parent();
        }
        let any = each_number(file, |child| libc::kill(child, libc::SIGKILL) == 0);
        libc::close(file);
        any
    }
}

/// Calls `act` with each positive number of a file; whether one of the calls returned true. A number may lie across two
/// reads.
unsafe fn each_number(file: RawFd, mut act: impl FnMut(i32) -> bool) -> bool {
    let mut text = [0_u8; 4096];
    let (mut number, mut any) = (0_i32, false);
    loop {
        // SAFETY: the buffer outlives the call.
        let length = unsafe { libc::read(file, text.as_mut_ptr().cast(), text.len()) };
        let read = &text[..length.max(0) as usize];
        for byte in read {
            if byte.is_ascii_digit() {
                number = number.wrapping_mul(10).wrapping_add(i32::from(byte - b'0'));
            } else {
                any |= number > 0 && act(number);
                number = 0;
            }
        }
        if read.is_empty() {
            return any | (number > 0 && act(number));
        }
    }
}

/// As [`kill_children`], by the parents that all of `/proc` names.
unsafe fn kill_children_by_parent() -> bool {
    let mut entries = [0_u8; 8192];
    let mut any = false;
    // SAFETY: the buffers outlive the calls.
    unsafe {
        let (own, all) = (libc::getpid(), libc::open(c"/proc".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC));
        loop {
            let length = libc::syscall(libc::SYS_getdents64, all, entries.as_mut_ptr(), entries.len());
            let mut rest = &entries[..length.max(0) as usize];
            if rest.is_empty() {
                break;
            }
            // An entry: inode (8 bytes), offset (8), its own length (2), kind (1), name up to a null byte.
            while rest.len() > 19 {
                let size = usize::from(u16::from_ne_bytes([rest[16], rest[17]])).clamp(19, rest.len());
                let name = rest[19..size].split(|byte| *byte == 0).next().unwrap_or_default();
                if let Some(process) = number_of(name)
                    && parent_of(all, name) == Some(own)
                {
                    any |= libc::kill(process, libc::SIGKILL) == 0;
                }
                rest = &rest[size..];
            }
        }
        libc::close(all);
    }
    any
}

fn number_of(text: &[u8]) -> Option<i32> {
    let digits = !text.is_empty() && text.len() < 10 && text.iter().all(u8::is_ascii_digit);
    digits.then(|| text.iter().fold(0, |number, byte| number * 10 + i32::from(byte - b'0')))
}

/// The parent of a process that can still be killed, by its directory in `/proc`.
unsafe fn parent_of(all: RawFd, process: &[u8]) -> Option<i32> {
    let mut path = [0_u8; 16];
    path[..process.len()].copy_from_slice(process);
    path[process.len()..process.len() + 5].copy_from_slice(b"/stat");
    let mut text = [0_u8; 512];
    // SAFETY: the path ends with a null byte, and the buffer outlives the call.
    let length = unsafe {
        let file = libc::openat(all, path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        length.max(0) as usize
    };
    // After the name, which ends with the last parenthesis: the state and the parent.
    let text = &text[..length];
    let name = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = text[name + 1..].split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    fields.next()?;
    number_of(fields.next()?)
}

unsafe fn close_all_but(mut kept: [RawFd; 7], orders: &Orders) {
    kept.sort_unstable();
    let mut from = 0;
    for keep in kept {
        // SAFETY: no memory is passed; the descriptors are those of the forked process.
        unsafe { close_from(from, keep - 1, orders.means) };
        from = keep + 1;
    }
    // SAFETY: as above.
    unsafe { close_from(from, orders.highest, orders.means) };
}

/// Closes the descriptors `from` to `to`, one by one where the kernel cannot close them at once.
unsafe fn close_from(from: RawFd, to: RawFd, means: Means) {
    if from > to {
        return;
    }
    // SAFETY: as of the caller.
    unsafe {
        if !means.close_range || libc::syscall(libc::SYS_close_range, from as u32, to as u32, 0) != 0 {
            for file in from..=to {
                libc::close(file);
            }
        }
    }
}
