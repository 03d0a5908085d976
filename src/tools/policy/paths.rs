//! Decides from the text of a path whether a command may write it. Does no I/O.

use std::path::{Component, Path};

use super::words::Word;
use crate::domain::folders::is_reserved;

/// The work directory of a command, which determines what the command may write.
pub struct CommandDir<'a> {
    pub workdir: &'a Path,
}

/// Devices that any command may write.
const SAFE_DEVICES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

impl CommandDir<'_> {
    pub fn is_worktree(&self) -> bool {
        let folder = self.workdir.parent().and_then(Path::file_name);
        folder.is_some_and(|name| name == ".worktrees")
    }

    /// Returns whether a command may write the path `word` without approval: a path below the work directory but not in
    /// a directory of git or crewdeck at its top level, a path below /tmp, or one of [`SAFE_DEVICES`]. A relative path
    /// is resolved from the work directory. Returns false if the path begins with `~` or a part of it is known only at
    /// run time. Symbolic links are not resolved.
    pub fn may_write(&self, word: &Word) -> bool {
        if word.expands || word.text.starts_with('~') {
            return false;
        }
        SAFE_DEVICES.contains(&word.text.as_str())
            || Self::is_temporary(&word.text)
            || self.is_inside(&word.text)
    }

    /// Returns whether a path is below /tmp. /tmp itself is not, and neither is a path that contains `..`.
    pub fn is_temporary(path: &str) -> bool {
        depth_below(Path::new("/tmp"), Path::new(path)).is_some_and(|d| d > 0)
            && !path.contains("..")
    }

    /// Returns whether a path is below the work directory, but not in a directory of git or crewdeck at its top level.
    /// `.` and `..` are resolved, symbolic links are not.
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
        depth > 0 && first.is_some_and(|f| !is_reserved(&f))
    }
}

fn depth_below(folder: &Path, path: &Path) -> Option<usize> {
    path.strip_prefix(folder)
        .ok()
        .map(|below| below.components().count())
}
