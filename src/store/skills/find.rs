//! Finds the SKILL.md files of one skills folder, with limits, and never follows a link out of the folder.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt};

use crate::domain::skill::SKILLS_MAX;
use crate::store::markdown_files::{read_or, reason};

/// Name of the file that contains a skill.
pub const FILE: &str = "SKILL.md";
/// Maximum depth of subfolders to search. Deeper folders are ignored.
const DEPTH_MAX: usize = 4;
/// Maximum number of files and folders to check in one skills folder. Further ones are ignored, and the user is warned.
const ENTRIES_MAX: usize = 4000;

/// An open skills folder. All paths of its files are relative to the folder.
pub struct SkillsDir {
    dir: Dir,
}

/// A SKILL.md file, by its path relative to the skills folder.
pub struct FoundSkill {
    pub path: PathBuf,
    pub version: FileVersion,
}

/// Metadata of a SKILL.md. A change of the content also changes the metadata.
#[derive(Hash)]
pub struct FileVersion {
    size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Default)]
pub struct SearchResult {
    /// The files, sorted by path.
    pub files: Vec<FoundSkill>,
    /// Files and folders that cannot be used, each with the reason as a text for the user. The empty path is the skills
    /// folder itself.
    pub unusable: Vec<(PathBuf, String)>,
    pub visited: Vec<PathBuf>,
    /// Number of files and folders that the search has checked so far.
    checked: usize,
    /// Device and inode number of each searched folder, so that a folder to which links lead is searched only once.
    folders: BTreeSet<(u64, u64)>,
}

impl SkillsDir {
    /// Opens `folder`. With a `root`, the folder must be below the root. Without a `root`, the folder may be anywhere,
    /// and it may be a link. Returns `None` if the folder does not exist.
    ///
    /// # Errors
    /// If the folder cannot be opened, returns the reason as a text for the user.
    pub fn open(root: Option<&Path>, folder: &Path) -> Result<Option<SkillsDir>, String> {
        let opened = match root {
            Some(root) => Dir::open_ambient_dir(root, ambient_authority())
                .and_then(|root| root.open_dir(folder)),
            None => Dir::open_ambient_dir(folder, ambient_authority()),
        };
        match opened {
            Ok(dir) => Ok(Some(SkillsDir { dir })),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(reason(&error)),
        }
    }

    /// Searches the folder and its subfolders, at most four levels deep, for SKILL.md files. What cannot be searched is
    /// reported in [`SearchResult::unusable`].
    pub fn search(&self) -> SearchResult {
        let mut out = SearchResult::default();
        let own = self.dir.dir_metadata().ok();
        out.folders.extend(own.map(|m| (m.dev(), m.ino())));
        self.walk(Path::new(""), 0, &mut out);
        out
    }

    fn walk(&self, below: &Path, depth: usize, out: &mut SearchResult) {
        let list = if below.as_os_str().is_empty() {
            self.dir.entries()
        } else {
            self.dir.read_dir(below)
        };
        out.visited.push(below.to_path_buf());
        let mut paths = Vec::new();
        let room = ENTRIES_MAX.saturating_sub(out.checked);
        match list {
            Ok(list) => {
                let names = list.flatten().map(|entry| entry.file_name());
                paths.extend(names.take(room + 1).map(|name| below.join(name)));
            }
            Err(error) => out.unusable.push((below.to_path_buf(), reason(&error))),
        }
        if paths.len() > room {
            paths.truncate(room);
            let why = format!(
                "only the first {ENTRIES_MAX} files below the skills folder are checked: move other files away"
            );
            out.unusable.push((below.to_path_buf(), why));
        }
        out.checked += paths.len();
        paths.sort();
        for path in paths {
            self.visit(path, depth, out);
        }
    }

    fn visit(&self, path: PathBuf, depth: usize, out: &mut SearchResult) {
        let name = path.file_name().unwrap_or_default();
        // Hidden folders such as `.git`, and packages of other programs, contain no skills.
        if name.to_string_lossy().starts_with('.') || name == "node_modules" {
            return;
        }
        let is_skill = name == FILE;
        match self.dir.metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                if depth < DEPTH_MAX && out.folders.insert((meta.dev(), meta.ino())) {
                    self.walk(&path, depth + 1, out);
                }
            }
            Ok(_) if !is_skill => {}
            Ok(meta) if !meta.is_file() => {
                out.unusable.push((path, "it is not a regular file".into()));
            }
            Ok(_) if out.files.len() == SKILLS_MAX => {
                let why = format!("more than {SKILLS_MAX} skills are in its folder: remove some");
                out.unusable.push((path, why));
            }
            Ok(meta) => out.files.push(FoundSkill {
                path,
                version: FileVersion::of(&meta),
            }),
            Err(error) => {
                let is_link = self
                    .dir
                    .symlink_metadata(&path)
                    .is_ok_and(|m| m.is_symlink());
                // Other files of a skill may be links to anywhere, because this search does not read them.
                if is_skill || (is_link && depth == 0) {
                    out.unusable.push((path, reason(&error)));
                }
            }
        }
    }

    /// Returns the text of a SKILL.md.
    ///
    /// # Errors
    /// If the file cannot be used, returns the reason and the remedy as a text for the user.
    pub fn read(&self, path: &Path) -> Result<String, String> {
        let remedy = "move parts of it into other files in the same folder";
        read_or(&self.dir, path, remedy)
    }

    /// Returns whether the folder of the SKILL.md at `path` contains other files or folders. Hidden ones do not count.
    /// Returns `false` if `path` is directly in the skills folder, or if the folder cannot be read.
    pub fn has_other_files(&self, path: &Path) -> bool {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        let list = folder.and_then(|folder| self.dir.read_dir(folder).ok());
        list.into_iter().flatten().flatten().any(|entry| {
            let name = entry.file_name();
            name != FILE && !name.to_string_lossy().starts_with('.')
        })
    }
}

impl FileVersion {
    fn of(meta: &Metadata) -> FileVersion {
        FileVersion {
            size: meta.len(),
            inode: meta.ino(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}
