//! Where a path of a command leads, judged by its text alone. Pure.

use std::path::{Component, Path};

use super::words::Word;
use crate::domain::folders::is_kept;

/// The work directory of a command.
pub struct Place<'a> {
    /// Its path.
    pub workdir: &'a Path,
}

/// Devices that can be written without harm.
const HARMLESS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

impl Place<'_> {
    /// Whether the work directory is the worktree of a task.
    pub fn is_worktree(&self) -> bool {
        let folder = self.workdir.parent().and_then(Path::file_name);
        folder.is_some_and(|name| name == ".worktrees")
    }

    /// Whether writing to `word` stays in the work directory (outside the kept folders) or in /tmp.
    pub fn may_write(&self, word: &Word) -> bool {
        if word.expands || word.text.starts_with('~') {
            return false;
        }
        HARMLESS.contains(&word.text.as_str())
            || Self::is_temporary(&word.text)
            || self.is_inside(&word.text)
    }

    /// Whether a path lies below /tmp (not /tmp itself).
    pub fn is_temporary(path: &str) -> bool {
        depth_below(Path::new("/tmp"), Path::new(path)).is_some_and(|d| d > 0)
            && !path.contains("..")
    }

    /// Whether a path lies below the work directory (not the directory itself), outside the kept folders.
    fn is_inside(&self, path: &str) -> bool {
        let path = Path::new(path);
        let below = if path.is_absolute() {
            match path.strip_prefix(self.workdir) {
                Ok(below) => below,
                Err(_) => return false,
            }
        } else {
            path
        };
        let mut depth = 0_i32;
        let mut first = None;
        for part in below.components() {
            match part {
                Component::Normal(name) => {
                    if depth == 0 {
                        first = Some(name.to_string_lossy().into_owned());
                    }
                    depth += 1;
                }
                Component::ParentDir => depth -= 1,
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return false,
            }
            if depth < 0 {
                return false;
            }
        }
        depth > 0 && first.is_some_and(|f| !is_kept(&f))
    }
}

fn depth_below(folder: &Path, path: &Path) -> Option<usize> {
    path.strip_prefix(folder)
        .ok()
        .map(|below| below.components().count())
}
