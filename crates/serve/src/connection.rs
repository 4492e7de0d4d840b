//! One connection: one request, one answer, closed.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::LivePage;
use crate::made::{Made, Version};
use crate::request::{LONGEST_HEAD, PageRequest, Unanswered, judge};

/// A request has come by then, however slowly its bytes come.
const TO_ASK: Duration = Duration::from_secs(5);

/// An answer has gone by then.
const TO_TAKE: Duration = Duration::from_secs(20);

/// What still comes after the answer is read up to so many bytes and so long: a reset would take the answer with it.
const LEFT_OVER: usize = 64 << 10;
const TO_CLOSE: Duration = Duration::from_secs(1);

/// In every answer: nobody else frames it, reads it, keeps it, or takes it for something else.
const GUARDS: &str = "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: close\r\n";

/// Reads a request and answers it. What goes wrong on the way ends the connection and nothing else.
pub fn answer<P: LivePage>(mut stream: TcpStream, port: u16, made: &Mutex<Made<P>>) {
    let (head, body) = match asked(&mut stream, port) {
        Ok(Some(wanted)) => page(&wanted, &made.lock().unwrap_or_else(PoisonError::into_inner).now()),
        Ok(None) => return,
        Err(refusal) => refused(refusal, "", false),
    };
    let by = Instant::now() + TO_TAKE;
    if write(&mut stream, head.as_bytes(), by).and_then(|()| write(&mut stream, body.as_bytes(), by)).is_ok() {
        close(&mut stream);
    }
}

/// Head and body of the answer to a request for the page.
fn page(wanted: &PageRequest, version: &Version) -> (String, String) {
    let html = match version.html.as_ref() {
        Ok(html) => html,
        Err(why) => return refused(Unanswered::NoPage, why, wanted.head_only),
    };
    let tag = format!("\"{}\"", version.tag);
    if wanted.known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag) {
        return (format!("HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n{GUARDS}\r\n"), String::new());
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nETag: {tag}\r\n\
         Content-Security-Policy: frame-ancestors 'none'\r\n{GUARDS}\r\n",
        html.len()
    );
    (head, if wanted.head_only { String::new() } else { html.clone() })
}

/// Head and body of an answer without the page.
fn refused(refusal: Unanswered, why: &str, head_only: bool) -> (String, String) {
    let status = refusal.status();
    let why = if why.is_empty() { status } else { why };
    let body = format!("{why}\n");
    let allow = if refusal == Unanswered::OtherMethod { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n{allow}{GUARDS}\r\n",
        body.len()
    );
    (head, if head_only { String::new() } else { body })
}

/// What is asked for; none where the other side has gone.
fn asked(stream: &mut TcpStream, port: u16) -> Result<Option<PageRequest>, Unanswered> {
    let by = Instant::now() + TO_ASK;
    let mut head = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        let room = bytes.len().min(LONGEST_HEAD - head.len());
        let read = match left(by).and_then(|left| stream.set_read_timeout(Some(left))) {
            Ok(()) => stream.read(&mut bytes[..room]),
            Err(error) => Err(error),
        };
        match read {
            Ok(0) => return Ok(None),
            Ok(read) => head.extend_from_slice(&bytes[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(Unanswered::Slow);
            }
            Err(_) => return Ok(None),
        }
        if let Some(wanted) = judge(&head, port)? {
            return Ok(Some(wanted));
        }
    }
}

fn write(stream: &mut TcpStream, mut bytes: &[u8], by: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(by)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn close(stream: &mut TcpStream) {
    let by = Instant::now() + TO_CLOSE;
    let _ = stream.shutdown(Shutdown::Write);
    let mut bytes = [0; 4096];
    let mut read = 0;
    while read < LEFT_OVER {
        let more = left(by).and_then(|left| stream.set_read_timeout(Some(left))).and_then(|()| stream.read(&mut bytes));
        match more {
            Ok(0) | Err(_) => break,
            Ok(more) => read += more,
        }
    }
}

/// The time that is left; an error where there is none.
fn left(by: Instant) -> io::Result<Duration> {
    let left = by.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}
