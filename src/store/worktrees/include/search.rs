//! Finds the untracked files of the root that the patterns match.
//!
//! Git lists the untracked files. A folder that git ignores as a whole is one entry in this list, so this module searches
//! it itself: completely if a pattern names the folder, otherwise only if it is small. So a pattern such as `.env` finds
//! a file in an ignored folder `config`, and does not copy files of packages out of `node_modules`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::patterns::IncludePatterns;
use crate::domain::folders::reserved_names;
use crate::domain::worktree::{INCLUDE_FILE, IncludedFiles};
use crate::store::git::{Git, GitError};

/// Maximum size in bytes of git's list of untracked files: enough for several hundred thousand files.
const LIST_MAX: usize = 64 * 1024 * 1024;
/// Maximum number of files and folders that are visited in ignored folders.
const VISITED_MAX: usize = 200_000;
/// Maximum number of files and folders in an ignored folder that no pattern names. A larger one is not searched.
const SMALL_MAX: usize = 1_000;

/// Why something that a pattern matches is not copied.
const LINK: &str = "symbolic links are not copied";
const SPECIAL: &str = "only regular files are copied";
const REPOSITORY: &str = "a git repository of its own";

/// An untracked file of the root that a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrackedFile {
    /// The path relative to the root.
    pub path: PathBuf,
    /// The size in bytes.
    pub size: u64,
}

/// Returns the untracked regular files in the root that `patterns` match, in no particular order. Leaves out the folders
/// of git and crewdeck. `git` runs in `root`. Adds to `report` what a pattern matches and cannot be copied, and what was
/// not searched.
///
/// # Errors
/// Fails if git does.
pub fn find(
    git: &Git,
    root: &Path,
    patterns: &IncludePatterns,
    report: &mut IncludedFiles,
) -> Result<Vec<UntrackedFile>, GitError> {
    let args = &[
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--ignored=matching",
        "--untracked-files=all",
        "--ignore-submodules=all",
    ];
    let list = git.run_bytes(args, LIST_MAX)?;
    if list.code != 0 {
        return Err(list.to_error(args));
    }
    let mut search = UntrackedSearch {
        root,
        patterns,
        report: &mut *report,
        found: Vec::new(),
        left: VISITED_MAX,
        small: Vec::new(),
    };
    let mut ignored_folders = Vec::new();
    let mut entries: Vec<&[u8]> = list.out.split(|byte| *byte == 0).collect();
    // Every entry ends with a zero byte. What follows the last one is empty, or an entry that was cut.
    entries.pop();
    for entry in entries {
        let (Some(status), Some(path)) = (entry.get(..2), entry.get(3..)) else {
            continue;
        };
        let folder = path.strip_suffix(b"/");
        let is_folder = folder.is_some();
        let path = Path::new(OsStr::from_bytes(folder.unwrap_or(path)));
        match (status, is_folder) {
            (b"??" | b"!!", _) if is_reserved(path) => {}
            (b"??" | b"!!", false) => search.check(path),
            // All files of other untracked folders are listed one by one.
            (b"??", true) => search.leave_out_repository(path),
            (b"!!", true) => ignored_folders.push(path.to_path_buf()),
            _ => {}
        }
    }
    search.search(ignored_folders);
    let is_complete = search.left > 0;
    let found = search.found;
    if list.lost > 0 || !is_complete {
        report.problems.push(format!(
            "{INCLUDE_FILE}: not all untracked files were searched, because there are too many"
        ));
    }
    Ok(found)
}

/// Returns whether a path is in a folder of git or crewdeck, or is such a folder. Ignores case, as some file systems do.
fn is_reserved(path: &Path) -> bool {
    let mut parts = path.iter();
    let is_git = |part: &OsStr| part.eq_ignore_ascii_case(".git");
    let first = parts.next().unwrap_or_default();
    reserved_names().any(|name| first.eq_ignore_ascii_case(name)) || parts.any(is_git)
}

struct UntrackedSearch<'a> {
    root: &'a Path,
    patterns: &'a IncludePatterns,
    report: &'a mut IncludedFiles,
    found: Vec<UntrackedFile>,
    /// How many files and folders may still be visited.
    left: usize,
    /// Ignored folders that no pattern names.
    small: Vec<PathBuf>,
}

impl UntrackedSearch<'_> {
    /// Adds the file at `path` if a pattern matches it.
    fn check(&mut self, path: &Path) {
        if !self.patterns.matches(path) {
            return;
        }
        // A file that has been removed in the meantime needs no report.
        let Ok(meta) = self.root.join(path).symlink_metadata() else {
            return;
        };
        if meta.is_file() {
            self.found.push(UntrackedFile {
                path: path.to_path_buf(),
                size: meta.len(),
            });
        } else {
            let why = if meta.is_symlink() { LINK } else { SPECIAL };
            self.report.leave_out(&path.to_string_lossy(), why);
        }
    }

    fn leave_out_repository(&mut self, path: &Path) {
        if self.patterns.matches_folder(path) {
            self.report.leave_out(&path.to_string_lossy(), REPOSITORY);
        }
    }

    /// Searches folders that git ignores as a whole, first those that a pattern names.
    fn search(&mut self, ignored: Vec<PathBuf>) {
        let mut folders = ignored;
        while let Some(folder) = folders.pop() {
            if !self.patterns.names_folder(&folder) {
                self.small.push(folder);
                continue;
            }
            for (path, kind) in self.entries(&folder, VISITED_MAX) {
                if kind.is_dir() {
                    folders.push(path);
                } else {
                    self.check(&path);
                }
            }
        }
        if !self.patterns.is_floating {
            return;
        }
        for folder in std::mem::take(&mut self.small) {
            for path in self.files_of_small(folder) {
                self.check(&path);
            }
        }
    }

    /// Returns the paths of all files in a folder and its subfolders; empty if it has more than [`SMALL_MAX`] files and
    /// folders.
    fn files_of_small(&mut self, folder: PathBuf) -> Vec<PathBuf> {
        let (mut folders, mut files) = (vec![folder], Vec::new());
        let mut count = 0;
        while let Some(folder) = folders.pop() {
            let entries = self.entries(&folder, SMALL_MAX + 1 - count);
            count += entries.len();
            if count > SMALL_MAX {
                return Vec::new();
            }
            for (path, kind) in entries {
                if kind.is_dir() {
                    folders.push(path);
                } else {
                    files.push(path);
                }
            }
        }
        files
    }

    /// Returns the entries of a folder, at most `max`, with paths relative to the root. Returns none of a git repository,
    /// and none if the folder cannot be read.
    fn entries(&mut self, folder: &Path, max: usize) -> Vec<(PathBuf, fs::FileType)> {
        let full = self.root.join(folder);
        if full.join(".git").symlink_metadata().is_ok() {
            self.leave_out_repository(folder);
            return Vec::new();
        }
        let Ok(entries) = fs::read_dir(&full) else {
            return Vec::new();
        };
        let entries = entries.flatten().take(self.left.min(max));
        let entries: Vec<(PathBuf, fs::FileType)> = entries
            .filter_map(|entry| Some((folder.join(entry.file_name()), entry.file_type().ok()?)))
            .collect();
        self.left -= entries.len();
        entries
    }
}
