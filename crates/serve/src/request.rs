//! Which requests are answered with the page.

/// A request's head may have so many bytes: browsers send the cookies of all other ports of this machine.
pub const LONGEST_HEAD: usize = 32 << 10;

/// And so many headers.
const MOST_HEADERS: usize = 100;

/// A request for the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// `HEAD`: the head of the answer alone.
    pub head_only: bool,
    /// The tags of versions that are there already, as `If-None-Match` has them.
    pub known: String,
}

/// Why a request is not answered with the page: status and reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// It is no HTTP/1.0 or HTTP/1.1, or names no host or two.
    Bad,
    /// It names another host: a name of somebody else that leads here (DNS rebinding).
    OtherHost,
    /// It asks for something else than `/`.
    OtherPlace,
    /// It wants to do something else than read.
    OtherMethod,
    /// It did not come in time.
    Slow,
    /// It is too long.
    Long,
    /// The page cannot be made now.
    NoPage,
}

impl Unanswered {
    /// As the first line of an answer has it.
    pub fn status(self) -> &'static str {
        match self {
            Self::Bad => "400 Bad Request",
            Self::OtherHost => "403 Forbidden",
            Self::OtherPlace => "404 Not Found",
            Self::OtherMethod => "405 Method Not Allowed",
            Self::Slow => "408 Request Timeout",
            Self::Long => "431 Request Header Fields Too Large",
            Self::NoPage => "500 Internal Server Error",
        }
    }
}

/// What a request's head asks for; none while it is not whole.
pub fn judge(head: &[u8], port: u16) -> Result<Option<PageRequest>, Unanswered> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if head.len() >= LONGEST_HEAD => return Err(Unanswered::Long),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Unanswered::Long),
        Err(_) => return Err(Unanswered::Bad),
    }
    let values = |name: &str| -> Vec<&[u8]> {
        let named = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| header.value).collect()
    };
    let [host] = values("host")[..] else { return Err(Unanswered::Bad) };
    if !is_here(host, port) {
        return Err(Unanswered::OtherHost);
    }
    let head_only = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(Unanswered::OtherMethod),
    };
    if request.path != Some("/") {
        return Err(Unanswered::OtherPlace);
    }
    let known = values("if-none-match").concat();
    Ok(Some(PageRequest { head_only, known: String::from_utf8_lossy(&known).into_owned() }))
}

/// Whether a `Host` is this machine's own name for the server. Of another site whose name was made to lead here it is that name.
fn is_here(host: &[u8], port: u16) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let (name, named_port) = host.split_once(':').unwrap_or((host, "80"));
    (name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost")) && named_port == port.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(head: &str) -> Result<Option<PageRequest>, Unanswered> {
        judge(head.as_bytes(), 8080)
    }

    #[test]
    fn the_page_is_read_by_its_own_address() {
        let wanted = |head_only, known: &str| Ok(Some(PageRequest { head_only, known: known.into() }));
        assert_eq!(judged("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"), wanted(false, ""));
        assert_eq!(
            judged("HEAD / HTTP/1.1\r\nhost: LocalHost:8080\r\nIf-None-Match: \"a\"\r\n\r\n"),
            wanted(true, "\"a\"")
        );
        assert_eq!(judge(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 80), wanted(false, ""));
    }

    #[test]
    fn other_hosts_are_refused_whatever_they_ask_for() {
        for host in [
            "attacker.example:8080",
            "attacker.example",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:8080.attacker.example",
            "127.0.0.1:08080",
            "localhost.attacker.example:8080",
            "127.0.0.1:8080:8080",
            "[::1]:8080",
            "0.0.0.0:8080",
            "127.1:8080",
            "",
        ] {
            for line in ["GET / HTTP/1.1", "POST /elsewhere HTTP/1.1"] {
                assert_eq!(judged(&format!("{line}\r\nHost: {host}\r\n\r\n")), Err(Unanswered::OtherHost), "{host}");
            }
        }
    }

    #[test]
    fn a_request_names_one_host() {
        assert_eq!(judged("GET / HTTP/1.0\r\n\r\n"), Err(Unanswered::Bad));
        let twice = "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nHost: attacker.example\r\n\r\n";
        assert_eq!(judged(twice), Err(Unanswered::Bad));
    }

    #[test]
    fn nothing_else_is_there_and_nothing_is_done() {
        let with_line = |line: &str| judged(&format!("{line} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"));
        for path in ["/run.json", "//", "/../etc/passwd", "/%2e%2e/", "/?x", "http://127.0.0.1:8080/", "*"] {
            assert_eq!(with_line(&format!("GET {path}")), Err(Unanswered::OtherPlace), "{path}");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "get"] {
            assert_eq!(with_line(&format!("{method} /")), Err(Unanswered::OtherMethod), "{method}");
        }
    }

    #[test]
    fn what_is_no_request_is_refused_and_what_is_not_whole_is_waited_for() {
        for bad in [
            "\0\r\n\r\n",
            "GET /\r\n\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "GET / HTTP/1.1\r\nA\r\n\r\n",
            "\x16\x03\x01\x02\0",
        ] {
            assert_eq!(judged(bad), Err(Unanswered::Bad), "{bad:?}");
        }
        let whole = "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
        for length in 0..whole.len() {
            assert_eq!(judged(&whole[..length]), Ok(None), "{length}");
        }
        let long = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nCookie: {}", "a".repeat(LONGEST_HEAD));
        assert_eq!(judged(&long), Err(Unanswered::Long));
        let many = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n{}\r\n", "A: b\r\n".repeat(MOST_HEADERS));
        assert_eq!(judged(&many), Err(Unanswered::Long));
    }
}
