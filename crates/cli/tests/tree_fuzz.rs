//! Recorded machines that anybody may have changed: `machine`, `doctor`, `channels` and `plan` on them never panic and always end.
//!
//! Random inputs are tried for about a second each; `BOLERO_RANDOM_TEST_TIME_MS=30000` gives them 30 s (CI does).

use std::fs;
use std::sync::LazyLock;

use bolero::{TypeGenerator, check};
use waykeeper_channels::{ChannelPolicy, ChannelRuns, of_machine};
use waykeeper_control::Files;
use waykeeper_doctor::{View, advise, examine};
use waykeeper_linux::machine::Machine;
use waykeeper_linux::{Recording, Root, discover, fixtures};
use waykeeper_policy::{Form, LoadedPolicy, Membership, Offer, lower, plan};

static TREES: LazyLock<Vec<Recording>> = LazyLock::new(|| {
    [fixtures::arm(), fixtures::epyc(), fixtures::hybrid(), fixtures::xeon()].map(|made| made.recording()).into()
});

static POLICY: LazyLock<LoadedPolicy> = LazyLock::new(|| {
    let text = "title = 'any'\n[[classes]]\nname = 'rt'\ncores = '1'\nl3 = 'half'\nbandwidth = '30 %'\n";
    LoadedPolicy::from_text("any", "any.toml", text).unwrap()
});

/// What the commands do with a recorded machine.
fn show_all(recording: Recording) {
    let root = Root::from(recording);
    let machine = Machine::read(&root).ok();
    if let Some(machine) = &machine {
        assert!(!waykeeper_report::machine(machine, &[]).is_empty());
        assert!(!machine.platform_text(&[]).is_empty());
        let _ = machine.platform(&[]);
        assert!(serde_json::to_string(machine).is_ok());
    }
    if let Err(error) = discover(&root) {
        assert!(!error.to_string().is_empty());
    }
    if let Ok(view) = View::new(root.clone(), None) {
        let examination = examine(&view);
        assert!(!waykeeper_doctor::text(&examination).is_empty());
        let _ = advise(&view);
        if let Some(machine) = &machine {
            let place = of_machine("any", &root, machine, &examination);
            let table = place.table(ChannelPolicy::none("none"), &ChannelRuns::default());
            assert!(!waykeeper_channels::text(&table).is_empty());
        }
    }
    if let Ok(offer) = Offer::of_linux(&Files(root))
        && let Ok(assignment) = plan(&POLICY, &offer, &Membership::unread(&POLICY.policy))
    {
        for form in Form::ALL {
            let _ = lower(&assignment, &offer, form);
        }
    }
}

/// One change to a file of a tree.
#[derive(Debug, Clone, TypeGenerator)]
enum Edit {
    /// Takes the file out.
    Remove { file: u16 },
    /// Writes a piece over one of its numbers.
    Number { file: u16, at: u8, piece: u8 },
    /// Replaces its text by a piece.
    Piece { file: u16, piece: u8 },
    /// Replaces its text by another file's.
    Other { file: u16, from: u16 },
    /// Ends its text early.
    Cut { file: u16, at: u16 },
    /// Any text.
    Any { file: u16, text: String },
}

const PIECES: [&str; 24] = [
    "0",
    "1",
    "-1",
    "3",
    "64",
    "65535",
    "65536",
    "4294967295",
    "4294967296",
    "18014398509481983",
    "18014398509481984",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551615K",
    "0xffffffffffffffff",
    "0x0",
    "ffffffff",
    "0-4294967295",
    "0-65535",
    "3-1",
    "0-3:2/4",
    "",
    "\u{1b}[2J\n\u{202e}",
    "=;:,=",
];

fn apply(recording: &mut Recording, edit: &Edit) {
    let files: Vec<String> = recording.files().map(|(path, _)| path.to_owned()).collect();
    let path = |file: &u16| files[usize::from(*file) % files.len()].clone();
    let piece = |piece: &u8| PIECES[usize::from(*piece) % PIECES.len()];
    let (Edit::Remove { file }
    | Edit::Number { file, .. }
    | Edit::Piece { file, .. }
    | Edit::Other { file, .. }
    | Edit::Cut { file, .. }
    | Edit::Any { file, .. }) = edit;
    let at_path = path(file);
    let text = recording.text(&at_path).unwrap_or_default().to_owned();
    let changed = match edit {
        Edit::Remove { .. } => {
            recording.remove(&at_path);
            return;
        }
        Edit::Number { at, piece: with, .. } => {
            let starts: Vec<usize> = text
                .char_indices()
                .filter(|(at, c)| c.is_ascii_digit() && !text[..*at].ends_with(|before: char| before.is_ascii_digit()))
                .map(|(at, _)| at)
                .collect();
            let Some(start) = starts.get(usize::from(*at) % starts.len().max(1)) else { return };
            let rest = text[*start..].trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{}{}{rest}", &text[..*start], piece(with))
        }
        Edit::Piece { piece: with, .. } => piece(with).to_owned(),
        Edit::Other { from, .. } => recording.text(&path(from)).unwrap_or_default().to_owned(),
        Edit::Cut { at, .. } => text.chars().take(usize::from(*at) % text.chars().count().max(1)).collect(),
        Edit::Any { text, .. } => text.clone(),
    };
    recording.set(&at_path, changed);
}

#[test]
fn edited_trees() {
    check!().with_type::<(u8, Vec<Edit>)>().for_each(|(which, edits)| {
        let mut recording = TREES[usize::from(*which) % TREES.len()].clone();
        edits.iter().take(8).for_each(|edit| apply(&mut recording, edit));
        show_all(recording);
    });
}

#[test]
fn each_file_with_each_piece() {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            scope.spawn(move || TREES.iter().for_each(|tree| with_pieces(tree, worker, workers)));
        }
    });
}

/// Looks at the tree with each of some pieces in the place of each file, of which a worker takes its share.
fn with_pieces(tree: &Recording, worker: usize, workers: usize) {
    let files: Vec<String> = tree.files().map(|(path, _)| path.to_owned()).collect();
    for (at, path) in files.iter().enumerate().skip(worker).step_by(workers) {
        // Some of the pieces for each file, others for the next: all of them take minutes.
        for piece in PIECES.iter().skip(at % 8).step_by(8) {
            let mut recording = tree.clone();
            recording.set(path, *piece);
            show_all(recording);
        }
    }
}

#[test]
fn any_archive() {
    let folder = tempfile::tempdir().unwrap();
    let starts = ["a.tar", "a.tar.gz", "a.tar.zst"].map(|name| {
        let path = folder.path().join(name);
        TREES[0].write(&path).unwrap();
        (path.clone(), fs::read(path).unwrap())
    });
    check!().with_type::<(u8, Vec<(u16, u8)>, Option<u16>)>().for_each(|(which, bytes, end)| {
        let (path, mut archive) = starts[usize::from(*which) % starts.len()].clone();
        for (at, byte) in bytes.iter().take(8) {
            let at = usize::from(*at) % archive.len();
            archive[at] = *byte;
        }
        archive.truncate(end.map_or(archive.len(), usize::from));
        fs::write(&path, &archive).unwrap();
        match Recording::read(&path) {
            Ok(recording) => show_all(recording),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
}
