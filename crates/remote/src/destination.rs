//! Where a board is.

use std::fmt;
use std::str::FromStr;

/// Where a board is: `[USER@]BOARD[:PORT]`, where BOARD may be a name of the user's `ssh` configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    typed: String,
    host: String,
    port: Option<u16>,
}

impl Destination {
    /// User and host as `ssh` takes them.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, where one was typed.
    pub fn port(&self) -> Option<u16> {
        self.port
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed)
    }
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let expected = "expected [USER@]BOARD[:PORT], such as `root@rk3588.local` or `root@[fe80::1%eth0]:22`";
        let (user, rest) = match typed.rsplit_once('@') {
            Some((user, rest)) => (Some(user), rest),
            None => (None, typed),
        };
        let (host, port) = match rest.strip_prefix('[') {
            Some(inner) => {
                let (host, after) = inner.split_once(']').ok_or(expected)?;
                let port = after.strip_prefix(':');
                if !after.is_empty() && port.is_none() {
                    return Err(expected.into());
                }
                (host, port)
            }
            // Several colons without brackets are an IPv6 address without a port.
            None if rest.matches(':').count() == 1 => rest.split_once(':').map_or((rest, None), |(h, p)| (h, Some(p))),
            None => (rest, None),
        };
        let is_plain = |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control());
        // What begins with `-` would be an option of ssh.
        if !is_plain(host) || host.starts_with('-') || user.is_some_and(|user| !is_plain(user) || user.starts_with('-'))
        {
            return Err(expected.into());
        }
        let number = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
        let port = match port {
            Some(text) => Some(number(text).ok_or("the port is a number from 1 to 65535")?),
            None => None,
        };
        let host = user.map_or_else(|| host.to_owned(), |user| format!("{user}@{host}"));
        Ok(Self { typed: typed.to_owned(), host, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(typed: &str) -> (String, Option<u16>) {
        let destination: Destination = typed.parse().unwrap();
        assert_eq!(destination.to_string(), typed);
        (destination.host().to_owned(), destination.port())
    }

    #[test]
    fn user_host_and_port_are_told_apart() {
        assert_eq!(parsed("board"), ("board".into(), None));
        assert_eq!(parsed("root@board:2222"), ("root@board".into(), Some(2222)));
        assert_eq!(parsed("root@fe80::1%eth0"), ("root@fe80::1%eth0".into(), None));
        assert_eq!(parsed("root@[fe80::1]:22"), ("root@fe80::1".into(), Some(22)));
        assert_eq!(parsed("[::1]"), ("::1".into(), None));
    }

    #[test]
    fn what_ssh_would_take_for_an_option_is_refused() {
        for bad in
            ["", "-oProxyCommand=x", "root@-x", "-l@b", "a b", "@b", "u@", "b:", "b:0", "b:70000", "[::1", "[::1]22"]
        {
            assert!(bad.parse::<Destination>().is_err(), "{bad}");
        }
    }
}
