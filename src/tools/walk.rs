//! The files of the work directory, as glob and grep see them: no ignored ones, no links, bounded.

use std::path::PathBuf;

use ignore::WalkBuilder;

use super::workspace::Workspace;
use super::{ToolContext, ToolOutput};
use crate::domain::folders::is_kept;

/// Most files that are looked at.
const FILES_MAX: usize = 100_000;

/// A file that was found.
pub struct Entry {
    /// Its path on this machine.
    pub path: PathBuf,
    /// Its path below the folder that was asked for.
    pub below: PathBuf,
    /// Its path below the work directory, as the model should write it.
    pub shown: PathBuf,
}

/// Whether there were more files than are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// No.
    No,
    /// Yes.
    Yes,
}

impl Cut {
    /// What the result says about it.
    pub fn mark(self) -> &'static str {
        match self {
            Cut::No => "",
            Cut::Yes => "\n... (only the first 100000 files were looked at: name a path)",
        }
    }
}

/// What was found.
pub struct Walked {
    /// The files, sorted by path.
    pub files: Vec<Entry>,
    /// Whether there were more.
    pub cut: Cut,
}

/// The files below `path` (the work directory where it is not given).
pub fn files(context: &ToolContext, path: Option<&str>) -> Result<Walked, ToolOutput> {
    let space = Workspace::open(&context.workdir).map_err(ToolOutput::error)?;
    let inside = space
        .inside(path.unwrap_or("."))
        .map_err(ToolOutput::error)?;
    let root = context
        .workdir
        .canonicalize()
        .unwrap_or_else(|_| context.workdir.clone());
    let start = root.join(&inside);
    let real = start
        .canonicalize()
        .map_err(|_| ToolOutput::error(format!("Error: {} does not exist", path.unwrap_or("."))))?;
    if !real.starts_with(&root) {
        return Err(ToolOutput::error(super::workspace::escapes(
            path.unwrap_or("."),
        )));
    }
    let walk = WalkBuilder::new(&real)
        .hidden(false)
        .follow_links(false)
        .require_git(false)
        .filter_entry(|e| !is_kept(&e.file_name().to_string_lossy()))
        .sort_by_file_name(std::cmp::Ord::cmp)
        .build();
    let mut out = Walked {
        files: Vec::new(),
        cut: Cut::No,
    };
    for entry in walk.flatten() {
        if context.cancel.is_cancelled() {
            return Err(ToolOutput::error("interrupted"));
        }
        if !entry.file_type().is_some_and(|t| t.is_file()) {
            continue;
        }
        if out.files.len() == FILES_MAX {
            out.cut = Cut::Yes;
            break;
        }
        let path = entry.into_path();
        let below = match path.strip_prefix(&real) {
            Ok(below) if below.as_os_str().is_empty() => path.file_name().map(PathBuf::from),
            Ok(below) => Some(below.to_path_buf()),
            Err(_) => None,
        };
        let shown = path.strip_prefix(&root).map(PathBuf::from).ok();
        if let (Some(below), Some(shown)) = (below, shown) {
            out.files.push(Entry { path, below, shown });
        }
    }
    Ok(out)
}
