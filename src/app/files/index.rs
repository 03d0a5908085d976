//! The list of a project's files and directories, without those that git ignores.

use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

use crate::domain::folders::is_reserved;
use crate::ui::FileListState;

/// Maximum number of files and directories in the list. Further ones are left out.
const ENTRIES_MAX: usize = 200_000;
/// Size, in bytes, of all paths in the list together. Once it is exceeded, further files and directories are left out.
const BYTES_MAX: usize = 32 * 1024 * 1024;

/// The paths of a project's files and directories, relative to its root.
pub struct FileIndex {
    /// The paths, sorted by depth and then by name. Paths of directories end in `/`.
    pub paths: Vec<Box<str>>,
    pub state: FileListState,
}

impl FileIndex {
    /// Reads the names of the files and directories directly below `root`. Stops early when `pauses` returns true. The
    /// result has the state [`FileListState::Reading`], because it lacks the files in subdirectories.
    pub fn read_top(root: &Path, pauses: &mut dyn FnMut() -> bool) -> FileIndex {
        let mut reader = FileReader::new(root, Some(1));
        reader.read(pauses);
        let mut index = reader.list();
        index.state = FileListState::Reading;
        index
    }
}

/// Reads the paths of a project's files and directories. Leaves out directories that cannot be read. Also leaves out
/// names that a mention cannot contain: those that are not UTF-8, and those with a quote or a control character.
pub struct FileReader {
    root: PathBuf,
    walk: ignore::Walk,
    paths: Vec<Box<str>>,
    /// The size, in bytes, of all paths read so far.
    bytes: usize,
    state: FileListState,
}

impl FileReader {
    /// Creates a reader for the files below `root` and reads nothing yet. `depth` is the maximum number of levels of
    /// directories to read; `None` means all.
    pub fn new(root: &Path, depth: Option<usize>) -> FileReader {
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .follow_links(false)
            .require_git(false)
            .max_depth(depth)
            .filter_entry(|entry| !is_reserved(&entry.file_name().to_string_lossy()))
            .build();
        FileReader {
            root: root.to_path_buf(),
            walk,
            paths: Vec::new(),
            bytes: 0,
            state: FileListState::Reading,
        }
    }

    /// Continues to read until all files are read, a limit of the list is reached, or `pauses` returns true. Calls
    /// `pauses` after each file. Returns false only if `pauses` has stopped the reading.
    pub fn read(&mut self, pauses: &mut dyn FnMut() -> bool) -> bool {
        while self.state == FileListState::Reading {
            match self.walk.next() {
                None => self.state = FileListState::Complete,
                Some(Ok(entry)) if entry.depth() > 0 => self.add(&entry),
                Some(_) => {}
            }
            if pauses() {
                break;
            }
        }
        self.state != FileListState::Reading
    }

    /// Returns a list of the files read so far. If the reading has ended, moves the list out of the reader instead of
    /// copying it; further calls then return an empty list.
    pub fn list(&mut self) -> FileIndex {
        let depth = |path: &str| path.trim_end_matches('/').matches('/').count();
        let mut paths = match self.state {
            FileListState::Reading => self.paths.clone(),
            FileListState::Complete | FileListState::Cut(_) => std::mem::take(&mut self.paths),
        };
        paths.sort_by_cached_key(|path| (depth(path), path.clone()));
        FileIndex {
            paths,
            state: self.state,
        }
    }

    fn add(&mut self, entry: &DirEntry) {
        let path = entry.path().strip_prefix(&self.root).ok();
        let is_bad = |c: char| c == '"' || c.is_control();
        let path = path.and_then(Path::to_str);
        let Some(path) = path.filter(|path| !path.contains(is_bad)) else {
            return;
        };
        if self.paths.len() == ENTRIES_MAX || self.bytes > BYTES_MAX {
            self.state = FileListState::Cut(self.paths.len());
            return;
        }
        self.bytes += path.len() + 1;
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        self.paths.push(if is_dir {
            format!("{path}/").into()
        } else {
            path.into()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::fs;

    #[test]
    fn ignored_and_reserved_files_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["src/deep", "target", ".git", ".crewdeck", ".github"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for file in [
            "b.md",
            "a b.md",
            "src/deep/x.rs",
            "target/out",
            ".git/config",
            ".crewdeck/y",
            ".github/ci.yml",
            "odd\"name",
        ] {
            fs::write(dir.path().join(file), "x").unwrap();
        }
        fs::write(dir.path().join(".gitignore"), "target/\n").unwrap();
        let mut reader = FileReader::new(dir.path(), None);
        assert!(reader.read(&mut || false));
        let index = reader.list();
        let paths: Vec<&str> = index.paths.iter().map(|p| &**p).collect();
        let expected = [
            ".github/",
            ".gitignore",
            "a b.md",
            "b.md",
            "src/",
            ".github/ci.yml",
            "src/deep/",
            "src/deep/x.rs",
        ];
        assert_eq!(paths, expected);
        assert_eq!(index.state, FileListState::Complete);
        let top = FileIndex::read_top(dir.path(), &mut || false);
        assert_eq!(top.paths[..], index.paths[..5]);
        assert_eq!(top.state, FileListState::Reading);
    }

    #[test]
    fn reading_pauses_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        let mut reader = FileReader::new(dir.path(), None);
        let sizes: Vec<usize> = (0..3)
            .map(|_| {
                assert!(!reader.read(&mut || true));
                reader.list().paths.len()
            })
            .collect();
        // The first entry is the project itself.
        assert_eq!(sizes, [0, 1, 2]);
        assert!(reader.read(&mut || false));
        let index = reader.list();
        assert_eq!(
            (index.paths.len(), index.state),
            (3, FileListState::Complete)
        );
    }
}
