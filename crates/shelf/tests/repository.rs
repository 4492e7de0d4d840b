//! A process of its own: an empty shelf has the files of the repository.

use waykeeper_shelf::{Folder, files};

#[test]
fn tests_see_the_files_of_the_repository_as_they_are() {
    for folder in Folder::ALL {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder.path());
        let entries = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        let count = entries.filter(|path| path.is_file()).count();
        assert_eq!(files(folder).len(), count, "{folder:?}");
        for file in files(folder) {
            let text = std::fs::read_to_string(path.join(file.name).with_extension("toml")).unwrap_or_else(|_| {
                // A name may have a dot in it.
                std::fs::read_to_string(path.join(format!("{}.toml", file.name))).unwrap()
            });
            assert_eq!(file.text, text);
        }
    }
}
