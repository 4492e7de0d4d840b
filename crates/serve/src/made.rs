//! The page as it was made last.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::LivePage;

/// A page is not made anew before this, nor before so many times as long as it took to make: what is measured beside it on
/// this machine loses at most a twentieth of one core.
const LEAST_AGE: Duration = Duration::from_secs(1);
const TIMES_ITS_MAKING: u32 = 20;

/// A page, and the version that was made last.
pub struct Made<P> {
    page: P,
    /// Tags of another server on the same port are others.
    nonce: u128,
    number: u64,
    last: Option<Version>,
}

/// One version of the page.
#[derive(Debug, Clone)]
pub struct Version {
    state: String,
    /// The page, or why there is none.
    pub html: Arc<Result<String, String>>,
    /// Its name, without quotes.
    pub tag: String,
    since: Instant,
    took: Duration,
}

impl<P: LivePage> Made<P> {
    pub fn new(page: P) -> Self {
        let nonce = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        Self { page, nonce, number: 0, last: None }
    }

    /// The page as it is now, or as it was a short time ago.
    pub fn now(&mut self) -> Version {
        let old = self.last.as_ref().filter(|last| last.since.elapsed() < LEAST_AGE.max(last.took * TIMES_ITS_MAKING));
        if let Some(last) = old {
            return last.clone();
        }
        let state = self.page.state();
        match &self.last {
            // What failed is tried again: a file may have been replaced between two looks at it.
            Some(last) if last.state == state && last.html.is_ok() => last.clone(),
            _ => self.anew(state),
        }
    }

    fn anew(&mut self, state: String) -> Version {
        self.number += 1;
        let tag = format!("{:x}-{}", self.nonce, self.number);
        let begun = Instant::now();
        let html = Arc::new(self.page.make(&tag));
        let version = Version { state, html, tag, since: Instant::now(), took: begun.elapsed() };
        self.last = Some(version.clone());
        version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of what it is made of; says how often it was made.
    struct Counted {
        state: u32,
        made: u32,
    }

    impl LivePage for Counted {
        fn state(&mut self) -> String {
            self.state.to_string()
        }

        fn make(&mut self, _tag: &str) -> Result<String, String> {
            self.made += 1;
            if self.state == 9 { Err("nine".into()) } else { Ok(self.state.to_string()) }
        }
    }

    /// As if the last version had been made so long ago.
    fn age(made: &mut Made<Counted>, by: Duration) {
        let last = made.last.as_mut().unwrap();
        last.since = last.since.checked_sub(by).unwrap();
    }

    #[test]
    fn it_is_made_once_for_each_state_and_not_more_often_than_each_second() {
        let mut made = Made::new(Counted { state: 1, made: 0 });
        let first = made.now();
        made.page.state = 2;
        assert_eq!(made.now().tag, first.tag);
        age(&mut made, LEAST_AGE);
        let second = made.now();
        assert_eq!((second.html.as_ref().as_deref(), made.page.made), (Ok("2"), 2));
        assert_ne!(first.tag, second.tag);
        age(&mut made, Duration::from_secs(3600));
        assert_eq!((made.now().tag, made.page.made), (second.tag, 2));
    }

    #[test]
    fn a_page_that_takes_long_is_made_seldom() {
        let mut made = Made::new(Counted { state: 1, made: 0 });
        made.now();
        made.page.state = 2;
        made.last.as_mut().unwrap().took = Duration::from_secs(2);
        age(&mut made, Duration::from_secs(39));
        assert_eq!((made.now().html.as_ref().as_deref(), made.page.made), (Ok("1"), 1));
        age(&mut made, Duration::from_secs(1));
        assert_eq!((made.now().html.as_ref().as_deref(), made.page.made), (Ok("2"), 2));
    }

    #[test]
    fn what_failed_is_tried_again() {
        let mut made = Made::new(Counted { state: 9, made: 0 });
        assert!(made.now().html.is_err());
        age(&mut made, LEAST_AGE);
        assert!(made.now().html.is_err());
        assert_eq!(made.page.made, 2);
    }
}
