//! The only program in the guest: process 1, which does what `/plan` says and turns the machine off.

use std::ffi::CStr;
use std::fs;

use waykeeper_kernel_rig::boot::READY;
use waykeeper_kernel_rig::plan::Plan;
use waykeeper_kernel_rig::real::Real;
use waykeeper_kernel_rig::session::Session;

fn main() {
    for (what, kind) in [(c"/proc", c"proc"), (c"/sys", c"sysfs"), (c"/dev", c"devtmpfs")] {
        mount(what, kind);
    }
    // Only the rig's own processes are visible in the namespace, so `tasks` can be compared to the last line.
    // SAFETY: there is one thread; the child does not return from `run`.
    unsafe {
        libc::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWNS);
        let child = libc::fork();
        if child == 0 {
            run();
        }
        let mut status = 0;
        libc::waitpid(child, &raw mut status, 0);
        if status != 0 {
            println!("RIG failed: the test ended with status {status:#x}");
        }
    }
    complaints();
    println!("RIG end");
    // SAFETY: the machine goes off when the console has sent everything.
    unsafe {
        libc::tcdrain(1);
        libc::reboot(libc::RB_POWER_OFF);
    }
}

fn run() -> ! {
    mount(c"/proc", c"proc");
    let result = fs::read_to_string("/plan")
        .map_err(|error| format!("/plan: {error}"))
        .and_then(|text| Plan::read(&text))
        .and_then(|plan| Real::new().map(|real| Session::new(plan, real)))
        .and_then(|session| {
            println!("RIG {READY}");
            session.run()
        });
    if let Err(why) = result {
        println!("RIG failed: {why}");
    }
    std::process::exit(0)
}

fn mount(what: &CStr, kind: &CStr) {
    // SAFETY: all texts end with a NUL.
    unsafe { libc::mount(kind.as_ptr(), what.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
}

/// Prints what the kernel complained about.
fn complaints() {
    let mut buffer = vec![0_u8; 1 << 20];
    // SAFETY: the buffer is as long as is said; 3 is SYSLOG_ACTION_READ_ALL.
    let length = unsafe { libc::klogctl(3, buffer.as_mut_ptr().cast(), buffer.len() as i32) };
    let text = String::from_utf8_lossy(&buffer[..usize::try_from(length).unwrap_or(0)]).into_owned();
    let bad = ["WARNING:", "BUG:", "Oops", "Call Trace", "KASAN", "refcount", "general protection"];
    for line in text.lines().filter(|line| bad.iter().any(|word| line.contains(word))) {
        println!("RIG kernel: {line}");
    }
}
