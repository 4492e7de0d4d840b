//! Functional mode beside pycachesim: the same addresses through the same caches, in turns, in one run.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::step::{cargo, root, run, target};

/// The peer, as pip names it.
const PEER: &str = "pycachesim==0.3.1";

/// Timed runs of each side, unless set otherwise.
const ROUNDS: usize = 15;

/// Each level has five counts.
const LEVELS: usize = 3;

/// Builds both sides, runs them in turns, prints the rates and their ratios.
///
/// # Errors
/// A side that cannot be built or run, and counts that differ.
pub fn compare(rounds: Option<String>) -> Result<(), String> {
    let rounds = match rounds {
        None => ROUNDS,
        Some(text) => {
            text.parse().ok().filter(|rounds| *rounds > 0).ok_or(format!("`{text}` is no number of rounds"))?
        }
    };
    let folder = target().join("peers");
    let addresses = folder.join("addresses");
    std::fs::create_dir_all(&addresses).map_err(|error| format!("{}: {error}", addresses.display()))?;
    let python = peer_python(&folder)?;
    run("build", &mut cargo("build --release --locked -p waykeeper-functional --example functional_peer"))?;
    let ours = target().join("release/examples/functional_peer");
    let made = Command::new(&ours).arg("make").arg(&addresses).output().map_err(|error| format!("make: {error}"))?;
    let listed = String::from_utf8_lossy(&made.stdout).into_owned();
    if !made.status.success() {
        return Err(format!("make: {}", String::from_utf8_lossy(&made.stderr)));
    }
    let script = Path::new(root()).join("xtask/peers/pycachesim_peer.py");
    let mut peer = Side::start(Command::new(python).arg(script).arg(&addresses))?;
    let mut ours = Side::start(Command::new(ours).arg("serve"))?;
    println!(
        "{:14} {:8} {:>12} {:>12} {:>8} {:>20}",
        "case", "form", "peer, M/s", "ours, M/s", "ratio", "of single rounds"
    );
    let mut differ = Vec::new();
    for line in listed.lines() {
        let case = Case::parse(line)?;
        differ.extend(case.compare(&mut peer, &mut ours, rounds)?);
    }
    match differ.as_slice() {
        [] => {
            println!("All loads, hits, misses, stores and evictions of every level are the same.");
            Ok(())
        }
        differ => Err(format!("counts differ:\n{}", differ.join("\n"))),
    }
}

/// The Python of an environment that has the peer.
fn peer_python(folder: &Path) -> Result<PathBuf, String> {
    let python = folder.join("venv/bin/python");
    if !python.exists() {
        run("environment", Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")))?;
    }
    // Built here, so that the compiler may use all that this processor has.
    let options =
        ["install", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-binary", "pycachesim", PEER];
    run(PEER, Command::new(&python).args(["-m", "pip"]).args(options).env("CFLAGS", "-O3 -march=native"))?;
    Ok(python)
}

/// What is compared: a case and the forms in which our side takes it.
struct Case<'a> {
    name: &'a str,
    accesses: f64,
    forms: Vec<&'a str>,
}

impl<'a> Case<'a> {
    fn parse(line: &'a str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let name = words.next().ok_or("a case without a name")?;
        let accesses = words.next().and_then(|number| number.parse().ok()).ok_or(format!("{line}: no accesses"))?;
        Ok(Self { name, accesses, forms: words.collect() })
    }

    /// Runs both sides in turns, prints a line a form; returns which counts differ.
    fn compare(&self, peer: &mut Side, ours: &mut Side, rounds: usize) -> Result<Vec<String>, String> {
        let mut peer_seconds = Vec::new();
        let mut our_seconds = vec![Vec::new(); self.forms.len()];
        // The first round fills the caches, and is not looked at.
        for _ in 0..=rounds {
            peer_seconds.push(peer.run(self.name, "made")?);
            for (form, seconds) in self.forms.iter().zip(&mut our_seconds) {
                seconds.push(ours.run(self.name, form)?);
            }
        }
        let expected = peer.counts(self.name, "made")?;
        let mut differ = Vec::new();
        for (form, seconds) in self.forms.iter().zip(&our_seconds) {
            let ratios = peer_seconds.iter().zip(seconds).skip(1).map(|(peer, ours)| peer / ours);
            let [ratios, peer, ours_sorted] =
                [ratios.collect(), peer_seconds[1..].to_vec(), seconds[1..].to_vec()].map(sorted);
            let rate = |seconds: &[f64]| self.accesses / seconds[seconds.len() / 2] / 1e6;
            println!(
                "{:14} {form:8} {:12.1} {:12.1} {:8.1} {:>20}",
                self.name,
                rate(&peer),
                rate(&ours_sorted),
                ratios[ratios.len() / 2],
                format!("{:.1} to {:.1}", ratios[0], ratios[ratios.len() - 1]),
            );
            let counts = ours.counts(self.name, form)?;
            if counts != expected {
                differ.push(format!("{} {form}: peer {expected:?}, ours {counts:?}", self.name));
            }
        }
        Ok(differ)
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// A program that answers a line with a line.
struct Side {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Side {
    fn start(command: &mut Command) -> Result<Self, String> {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| format!("{command:?} cannot be started: {error}"))?;
        let to = child.stdin.take().ok_or("no way to a side")?;
        let from = BufReader::new(child.stdout.take().ok_or("no way from a side")?);
        Ok(Self { child, to, from })
    }

    fn ask(&mut self, question: &str) -> Result<String, String> {
        let broken = |error: std::io::Error| format!("{question}: {error}");
        writeln!(self.to, "{question}").and_then(|()| self.to.flush()).map_err(broken)?;
        let mut answer = String::new();
        self.from.read_line(&mut answer).map_err(broken)?;
        if answer.is_empty() { Err(format!("{question}: no answer")) } else { Ok(answer) }
    }

    /// Processor seconds of one run.
    fn run(&mut self, case: &str, form: &str) -> Result<f64, String> {
        let answer = self.ask(&format!("run {case} {form}"))?;
        answer.trim().parse().map_err(|error| format!("run {case} {form}: `{answer}`: {error}"))
    }

    fn counts(&mut self, case: &str, form: &str) -> Result<Vec<u64>, String> {
        let answer = self.ask(&format!("counts {case} {form}"))?;
        let counts: Result<Vec<u64>, _> = answer.split_whitespace().map(str::parse).collect();
        counts.ok().filter(|counts| counts.len() == 5 * LEVELS).ok_or(format!("counts {case} {form}: `{answer}`"))
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // A side that has ended by itself cannot be ended, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
