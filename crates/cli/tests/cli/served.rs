//! `waykeeper report --serve`: what it answers and how it ends, without a browser.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::program::Desk;

fn kept() -> Desk {
    let desk = Desk::new();
    let run = ["run", "agilex5-cluster-latency", "--set=mitigations=[]", "--duration=1ms", "--repeats=2", "--out=kept"];
    desk.run(&run).with(0);
    desk
}

/// A server, and where it listens.
fn served(desk: &Desk, more: &[&str]) -> (Child, String) {
    let mut command = desk.command(&[&["report", "--serve", "kept"], more].concat());
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").and_then(|line| line.strip_suffix('/'));
    (server, address.unwrap_or_else(|| panic!("{line}")).to_owned())
}

fn ask(address: &str, line: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{line} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_run_that_has_ended_is_served_as_its_page_and_to_its_own_address_alone() {
    let desk = kept();
    desk.run(&["report", "kept", "--out=page.html"]).with(0);
    let page = fs::read_to_string(desk.path().join("page.html")).unwrap();
    let (mut server, address) = served(&desk, &[]);
    let answer = ask(&address, "GET /", &address);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{}", &answer[..300]);
    assert!(answer.split_once("\r\n\r\n").unwrap().1 == page, "another page than that of a file");
    let port = address.strip_prefix("127.0.0.1:").unwrap();
    for (line, host, status) in [
        ("GET /", format!("attacker.example:{port}"), "403"),
        ("GET /kept/run.json", address.clone(), "404"),
        ("GET /../../etc/passwd", address.clone(), "404"),
        ("DELETE /", address.clone(), "405"),
    ] {
        let answer = ask(&address, line, &host);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.len() < 1000, "{answer}");
    }
    // Nothing but loopback: all of 127.0.0.0/8 is this machine too, and it does not listen there.
    assert!(TcpStream::connect(format!("127.0.0.2:{port}")).is_err());
    // Ctrl-C is how it ends.
    kill_process(Pid::from_child(&server), Signal::INT).unwrap();
    assert_eq!(server.wait().unwrap().code(), Some(0));
    assert_eq!(desk.names(), ["kept", "page.html"]);
}

#[test]
fn a_folder_that_goes_away_is_an_error_and_no_old_page() {
    let desk = kept();
    let (mut server, address) = served(&desk, &[]);
    assert!(ask(&address, "GET /", &address).starts_with("HTTP/1.1 200 "));
    fs::remove_dir_all(desk.path().join("kept")).unwrap();
    crate::program::eventually("an error", || {
        let answer = ask(&address, "GET /", &address);
        answer.starts_with("HTTP/1.1 500 ").then(|| assert!(answer.contains("kept: this is not a run"), "{answer}"))
    });
    kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn what_cannot_be_served_is_refused_at_once() {
    let desk = kept();
    let error = desk.run(&["report", "--serve", "nowhere"]).with(2).stderr;
    assert!(error.contains("nowhere") && error.contains("expected the folder"), "{error}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let error = desk.run(&["report", "--serve", "kept", "--port", &port]).with(3).stderr;
    assert!(error.contains(&format!("port {port} of 127.0.0.1")) && error.contains("without --port"), "{error}");
    desk.run(&["report", "kept", "--port=8080"]).with(2);
    desk.run(&["report", "--serve", "kept", "--port=0"]).with(2);
    desk.run(&["report", "--serve", "kept", "--out=page.html"]).with(2);
    let (mut server, address) = {
        drop(taken);
        served(&desk, &["--port", &port])
    };
    assert_eq!(address, format!("127.0.0.1:{port}"));
    kill_process(Pid::from_child(&server), Signal::INT).unwrap();
    server.wait().unwrap();
}
