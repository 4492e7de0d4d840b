//! Prefetches, by single-stepping the process and decoding each instruction.

use std::ffi::c_void;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::ptr;

use libc::{pid_t, user_regs_struct};
use waykeeper_workload::Pattern;

use crate::observed::Role;
use crate::places::Places;
use crate::touch;

/// The offsets in the buffer that the release object code prefetches into the first level (`prefetcht0`).
pub fn by_single_steps(pattern: &Pattern, seed: u64, accesses: u64, role: Role) -> Vec<u64> {
    let mut command = Command::new(touch::binary());
    command.args([&serde_json::to_string(pattern).unwrap(), &seed.to_string(), &accesses.to_string()]);
    command.args([role.name(), "signal"]).stdout(Stdio::piped());
    // SAFETY: the one call in the child is a system call.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    #[expect(clippy::zombie_processes, reason = "`follow` waits for its end")]
    let mut child = command.spawn().expect("the example starts");
    let addresses = follow(child.id() as pid_t);
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    let places = Places::parse(&printed);
    let in_data =
        |address| places.data.offset(address).unwrap_or_else(|| panic!("prefetch of {address:#x}, {places:?}"));
    addresses.into_iter().map(in_data).collect()
}

/// Steps from one SIGUSR1 to the next, lets the process run between the pairs, until it ends.
fn follow(child: pid_t) -> Vec<u64> {
    let mut prefetched = Vec::new();
    let mut stepping = false;
    loop {
        let mut status = 0;
        // SAFETY: waits for our own child.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        if libc::WIFEXITED(status) {
            assert_eq!(libc::WEXITSTATUS(status), 0, "the example failed");
            return prefetched;
        }
        assert!(libc::WIFSTOPPED(status), "the example was killed: {status:#x}");
        match libc::WSTOPSIG(status) {
            libc::SIGUSR1 => stepping = !stepping,
            libc::SIGTRAP => {}
            signal => panic!("the example got signal {signal}"),
        }
        if stepping {
            prefetched.extend(prefetch_about_to_run(child));
        }
        let request = if stepping { libc::PTRACE_SINGLESTEP } else { libc::PTRACE_CONT };
        // SAFETY: the child is stopped; no memory of ours is involved.
        assert_eq!(unsafe { libc::ptrace(request, child, 0, 0) }, 0);
    }
}

/// The address that the next instruction prefetches, if it is a prefetch.
fn prefetch_about_to_run(child: pid_t) -> Option<u64> {
    // SAFETY: plain data that the call fills in.
    let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the child is stopped; `registers` is valid for writing.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_GETREGS, child, 0, &mut registers) }, 0);
    // SAFETY: the child is stopped; the word is returned.
    let [low, high] = [0, 8].map(|offset| unsafe {
        libc::ptrace(libc::PTRACE_PEEKTEXT, child, (registers.rip + offset) as *mut c_void, ptr::null_mut::<c_void>())
    });
    let mut code = [0; 16];
    code[..8].copy_from_slice(&low.to_le_bytes());
    code[8..].copy_from_slice(&high.to_le_bytes());
    decode(&code, &registers)
}

/// `[REX] 0F 18 /r` with a memory operand (Intel SDM 2, PREFETCHh and 2.1.5, table 2-2 and 2-3).
fn decode(code: &[u8; 16], registers: &user_regs_struct) -> Option<u64> {
    let (rex, code) = match code[0] {
        rex @ 0x40..=0x4f => (rex, &code[1..]),
        _ => (0, &code[..]),
    };
    if code[..2] != [0x0f, 0x18] {
        return None;
    }
    let (mode, hint, base) = (code[2] >> 6, (code[2] >> 3) & 7, code[2] & 7);
    assert_eq!(hint, 1, "a prefetch that is not prefetcht0");
    assert!(mode < 3 && base != 4 && (mode != 0 || base != 5), "an operand that this decoder does not know: {code:x?}");
    let displacement = match mode {
        0 => 0,
        1 => i64::from(code[3] as i8),
        _ => i64::from(i32::from_le_bytes(code[3..7].try_into().unwrap())),
    };
    let r = registers;
    let numbered =
        [r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15];
    Some(numbered[usize::from(base | ((rex & 1) << 3))].wrapping_add_signed(displacement))
}
