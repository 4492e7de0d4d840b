//! The server, asked over real connections.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use waykeeper_serve::{LivePage, PageServer};

/// A page that never changes.
struct Still(String);

impl LivePage for Still {
    fn state(&mut self) -> String {
        "still".into()
    }

    fn make(&mut self, tag: &str) -> Result<String, String> {
        Ok(format!("<p>{tag}</p>{}", self.0))
    }
}

fn served(html: &str) -> SocketAddr {
    let server = PageServer::listen(0).unwrap();
    let address = server.address();
    assert!(address.ip().is_loopback());
    server.start(Still(html.into())).unwrap();
    address
}

/// All that comes back.
fn answer(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn ask(address: SocketAddr, line: &str, more: &str) -> String {
    answer(address, format!("{line} HTTP/1.1\r\nHost: {address}\r\n{more}\r\n").as_bytes())
}

fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = answer.split_once("\r\n\r\n").unwrap();
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[test]
fn the_page_comes_whole_and_is_known_by_its_tag() {
    let body = "x".repeat(3 << 20);
    let address = served(&body);
    let page = ask(address, "GET /", "");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{}", &page[..200]);
    let (_, html) = page.split_once("\r\n\r\n").unwrap();
    let tag = header(&page, "ETag").unwrap().to_owned();
    assert_eq!(html, format!("<p>{}</p>{body}", tag.trim_matches('"')));
    assert_eq!(header(&page, "Content-Length"), Some(html.len().to_string().as_str()));
    let head = ask(address, "HEAD /", "");
    assert!(head.ends_with("\r\n\r\n") && header(&head, "Content-Length") == header(&page, "Content-Length"));
    for known in [tag.clone(), format!("\"other\", W/{tag}")] {
        let again = ask(address, "HEAD /", &format!("If-None-Match: {known}\r\n"));
        assert!(again.starts_with("HTTP/1.1 304 ") && again.ends_with("\r\n\r\n"), "{again}");
    }
    assert!(ask(address, "HEAD /", "If-None-Match: \"other\"\r\n").starts_with("HTTP/1.1 200 "));
}

#[test]
fn strangers_get_nothing_of_the_page() {
    let address = served("secret");
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: attacker.example\r\n\r\n".to_owned(), "403"),
        (format!("GET /run.json HTTP/1.1\r\nHost: {address}\r\n\r\n"), "404"),
        (format!("POST / HTTP/1.1\r\nHost: {address}\r\nContent-Length: 6\r\n\r\nsecret"), "405"),
        ("GET / HTTP/1.0\r\n\r\n".to_owned(), "400"),
        ("\u{16}\u{3}\u{1} no HTTP at all\r\n\r\n".to_owned(), "400"),
        (format!("GET / HTTP/1.1\r\nHost: {address}\r\nCookie: {}\r\n\r\n", "c".repeat(40 << 10)), "431"),
    ] {
        let answer = answer(address, request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(!answer.contains("secret"), "{answer}");
        assert_eq!(header(&answer, "Cross-Origin-Resource-Policy"), Some("same-origin"));
        // No other site may read it.
        assert_eq!(header(&answer, "Access-Control-Allow-Origin"), None);
    }
    assert!(ask(address, "POST /", "").contains("Allow: GET, HEAD\r\n"));
    assert!(ask(address, "GET /", "").ends_with("secret"));
}

#[test]
fn those_who_dawdle_hold_nobody_up_for_long() {
    let address = served("page");
    // More than the server has places for; each says a little and then nothing.
    let idle: Vec<_> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
    idle.iter().for_each(|mut stream| drop(stream.write_all(b"GET / HT")));
    let begun = Instant::now();
    let mut slow = idle.into_iter().next().unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(60));
    // Then there is room again.
    let begun = Instant::now();
    loop {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut answer = String::new();
        let asked = stream.write_all(format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes());
        if asked.and_then(|()| stream.read_to_string(&mut answer)).is_ok() && answer.ends_with("page") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn no_bytes_end_the_server() {
    let address = served("page");
    bolero::check!().with_type::<Vec<u8>>().with_iterations(200).for_each(|bytes| {
        let mut stream = TcpStream::connect(address).unwrap();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.ends_with(b"page"));
    });
    assert!(ask(address, "GET /", "").ends_with("page"));
}
