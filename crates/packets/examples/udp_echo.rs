//! A plain UDP echo with the periods and the accounts of `rtcp`, for the cost of its paths: `rigs/rtcp/compare` runs both in turns.
//!
//!     udp_echo serve ADDRESS CORE FIFO
//!     udp_echo ask ADDRESS CORE FIFO PERIOD_US COUNT
//!
//! Both sides busy-poll. Prints the round trip in microseconds: n, min, p50, p99, max.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use waykeeper_linux::schedule;
use waykeeper_packets::accounts::{CycleAccount, CycleAnswer};
use waykeeper_packets::figure::CycleTimes;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| -> u64 {
        arguments
            .get(place)
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| panic!("argument {place} is no number"))
    };
    let address = arguments.get(1).expect("there is an address");
    schedule::pin(number(2) as u32)?;
    if number(3) > 0 {
        schedule::fifo(number(3) as i32)?;
    }
    match arguments[0].as_str() {
        "serve" => serve(&bound(address)?),
        "ask" => {
            let socket = bound("0.0.0.0:0")?;
            socket.connect(address)?;
            ask(&socket, number(4) as i64 * 1000, number(5))
        }
        other => panic!("`{other}` is no role"),
    }
}

fn bound(address: &str) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Answers until a packet of one byte comes.
fn serve(socket: &UdpSocket) -> std::io::Result<()> {
    let mut packet = [0; 64];
    loop {
        match socket.recv_from(&mut packet) {
            Ok((1, _)) => return Ok(()),
            Ok((length, from)) => drop(socket.send_to(&packet[..length], from)?),
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(error) => return Err(error),
        }
    }
}

fn ask(socket: &UdpSocket, period_ns: i64, count: u64) -> std::io::Result<()> {
    let begun = Instant::now();
    let now_ns = || begun.elapsed().as_nanos() as i64;
    let (mut account, mut times) = (CycleAccount::new(0, period_ns), CycleTimes::default());
    let mut packet = [0; 64];
    let mut due = period_ns;
    let mut take = |account: &mut CycleAccount| -> std::io::Result<()> {
        let mut answer = [0; 64];
        match socket.recv(&mut answer) {
            Ok(_) => {
                let now = now_ns();
                let cycle = u64::from_be_bytes(answer[..8].try_into().expect("eight bytes"));
                if let CycleAnswer::First { round_trip_ns } = account.answer(cycle, now) {
                    times.add(cycle, now - round_trip_ns, now);
                }
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    };
    for _ in 0..count {
        while now_ns() < due {
            take(&mut account)?;
        }
        let passed = (now_ns() - due) / period_ns;
        account.miss(passed as u64);
        due += period_ns * (passed + 1);
        packet[..8].copy_from_slice(&account.next_cycle().to_be_bytes());
        let sent = now_ns();
        socket.send(&packet)?;
        account.send(sent);
    }
    let end = begun.elapsed() + Duration::from_millis(250);
    while !account.is_complete() && begun.elapsed() < end {
        take(&mut account)?;
    }
    socket.send(&[0])?;
    let figure = times.figure("round trip", "UDP", "software", 0, begun.elapsed().as_secs_f64());
    let us = |ns: Option<f64>| ns.map_or("-".into(), |ns| format!("{:.1}", ns / 1e3));
    let (counts, ..) = account.finish();
    println!(
        "n={} lost={} min={} p50={} p99={} max={}",
        figure.samples,
        counts.lost,
        us(figure.min_ns),
        us(figure.p50_ns),
        us(figure.p99_ns),
        us(figure.max_ns)
    );
    Ok(())
}
