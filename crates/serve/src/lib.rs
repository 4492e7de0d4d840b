//! One page over HTTP, on the loopback address: `GET /` and `HEAD /`, and nothing else.
//!
//! Whatever a browser has open can send requests to this port, and so can every program of the machine. So a request is held
//! against a short list before anything is done for it (`request.rs`), no part of it names a file, its size, its time and the
//! number of connections are limited (`connection.rs`), and however often it is asked for, the page is made only when it would
//! be another one (`made.rs`).

mod connection;
mod made;
mod request;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use made::Made;

/// So many connections are open at once; more are closed unanswered.
const MOST_CONNECTIONS: usize = 16;

/// After an error of `accept`, such as no free descriptor, it is tried again after this.
const PAUSE: Duration = Duration::from_millis(100);

/// What is served.
pub trait LivePage: Send + 'static {
    /// What the page would be made of now: as long as this is equal, so is the page.
    fn state(&mut self) -> String;

    /// The page as HTML. The tag names this version of it, as the `ETag` of its answer does.
    ///
    /// # Errors
    /// Why it cannot be made now, in words.
    fn make(&mut self, tag: &str) -> Result<String, String>;
}

/// A socket that listens on 127.0.0.1.
#[derive(Debug)]
pub struct PageServer {
    listener: TcpListener,
    address: SocketAddr,
}

impl PageServer {
    /// Listens on a port of 127.0.0.1; of port 0 on a free one.
    ///
    /// # Errors
    /// A port that is taken or not permitted.
    pub fn listen(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests on threads of its own, until the program ends.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(self, page: impl LivePage) -> io::Result<()> {
        let made = Arc::new(Mutex::new(Made::new(page)));
        thread::Builder::new().name("serve".into()).spawn(move || self.accept(&made))?;
        Ok(())
    }

    fn accept<P: LivePage>(&self, made: &Arc<Mutex<Made<P>>>) {
        let open = Arc::new(AtomicUsize::new(0));
        loop {
            let Ok((stream, _)) = self.listener.accept() else {
                thread::sleep(PAUSE);
                continue;
            };
            if open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
                continue;
            }
            let place = Place::taken(&open);
            let (made, port) = (Arc::clone(made), self.address.port());
            // Without a thread the connection is closed.
            let _ = thread::Builder::new().name("answer".into()).spawn(move || {
                let _place = place;
                connection::answer(stream, port, &made);
            });
        }
    }
}

/// One of the connections that may be open at once; free again when this goes.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn taken(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
