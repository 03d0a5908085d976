//! The list of a project's files and directories, without those that git ignores.

use std::path::Path;

use ignore::WalkBuilder;

use crate::domain::folders::is_reserved;
use crate::ui::FileListState;

/// Maximum number of files and directories.
const ENTRIES_MAX: usize = 200_000;
/// Maximum size of all paths, in bytes.
const BYTES_MAX: usize = 32 * 1024 * 1024;

/// The paths of a project, relative to its root.
pub struct FileIndex {
    /// The paths by depth and then by name; those of directories end in `/`.
    pub paths: Vec<Box<str>>,
    pub state: FileListState,
}

impl FileIndex {
    /// Reads the files below `root`. Directories that cannot be read are left out, and so are names that are not UTF-8 or
    /// contain a quote or a control character, because a mention cannot contain them.
    pub fn read(root: &Path) -> FileIndex {
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .follow_links(false)
            .require_git(false)
            .filter_entry(|entry| !is_reserved(&entry.file_name().to_string_lossy()))
            .build();
        let mut paths: Vec<Box<str>> = Vec::new();
        let mut bytes = 0;
        let mut state = FileListState::Complete;
        for entry in walk.flatten().filter(|entry| entry.depth() > 0) {
            let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
            let is_bad = |c: char| c == '"' || c.is_control();
            let Some(path) = path.filter(|path| !path.contains(is_bad)) else {
                continue;
            };
            if paths.len() == ENTRIES_MAX || bytes > BYTES_MAX {
                state = FileListState::Cut(paths.len());
                break;
            }
            bytes += path.len() + 1;
            paths.push(if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                format!("{path}/").into()
            } else {
                path.into()
            });
        }
        let depth = |path: &str| path.trim_end_matches('/').matches('/').count();
        paths.sort_by_cached_key(|path| (depth(path), path.clone()));
        FileIndex { paths, state }
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
        let index = FileIndex::read(dir.path());
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
    }
}
