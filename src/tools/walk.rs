//! Lists the files that `glob` and `grep` search, at most [`FILES_MAX`]. Leaves out ignored files, symbolic links, and
//! the folders of crewdeck and git.

use std::path::PathBuf;

use super::workspace::Workspace;
use super::{ToolContext, ToolOutput, error_output};
use crate::process::environment;
use crate::store::walk::project_files;

const FILES_MAX: usize = 100_000;

pub struct FoundFile {
    /// The absolute path, with symbolic links resolved.
    pub path: PathBuf,
    /// The path relative to the directory that was searched. If a single file was searched, its name.
    pub below: PathBuf,
    /// The path relative to the work directory, as shown to the model.
    pub shown: PathBuf,
}

pub struct FileList {
    /// The files, sorted by name within each directory.
    pub files: Vec<FoundFile>,
    /// A note for the end of the tool result if only the first [`FILES_MAX`] files were searched, otherwise empty.
    pub note: &'static str,
}

/// Lists the files below `path`. Leaves out files that git ignores, symbolic links, the folders of crewdeck and git,
/// and the user's MCP server logins. `path` is relative to the work directory or absolute; `None` means the work
/// directory itself. If `path` is a file, lists only this file.
///
/// # Errors
/// Fails with text for the model if `path` does not exist or leads out of the work directory, or if the call is
/// cancelled.
pub fn files(context: &ToolContext, path: Option<&str>) -> Result<FileList, ToolOutput> {
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
        .map_err(|_| error_output(format!("{} does not exist", path.unwrap_or("."))))?;
    if !real.starts_with(&root) {
        return Err(ToolOutput::error(super::workspace::escapes(
            path.unwrap_or("."),
        )));
    }
    let logins = environment::login_folder().and_then(|folder| folder.canonicalize().ok());
    let walk = project_files(&real).build();
    let mut out = FileList {
        files: Vec::new(),
        note: "",
    };
    for entry in walk.flatten() {
        if context.cancel.is_cancelled() {
            return Err(ToolOutput::error("interrupted"));
        }
        if !entry.file_type().is_some_and(|t| t.is_file()) {
            continue;
        }
        if out.files.len() == FILES_MAX {
            out.note =
                "\n... (only the first 100000 files were searched: set path to narrow the search)";
            break;
        }
        let path = entry.into_path();
        if logins
            .as_ref()
            .is_some_and(|folder| path.starts_with(folder))
        {
            continue;
        }
        let below = match path.strip_prefix(&real) {
            Ok(below) if below.as_os_str().is_empty() => path.file_name().map(PathBuf::from),
            Ok(below) => Some(below.to_path_buf()),
            Err(_) => None,
        };
        let shown = path.strip_prefix(&root).map(PathBuf::from).ok();
        if let (Some(below), Some(shown)) = (below, shown) {
            out.files.push(FoundFile { path, below, shown });
        }
    }
    Ok(out)
}
