//! Finds the existing files on which a server or hook depends, and decides which of these files agents must not change.

use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use super::command_words::CommandWords;
use super::json;
use super::named_files::{self, CommandPlace, NamedPaths};
use crate::config::approvals;
use crate::store::regular_file;

/// Maximum size of a file that a command names, in bytes. A command that names a larger one cannot be approved.
const NAMED_MAX: u64 = 256 * 1024 * 1024;
/// Maximum number of files in one folder of libraries. If a folder has more, the server or hook that uses it cannot be
/// approved.
const LIBRARY_MAX: usize = 1024;
/// Endings of the names of library files. If one of the user's own servers loads libraries from a folder, an approval
/// covers only the files in it with these endings. Other files are ignored, because the folder can be the project
/// directory: `python -m` loads modules from the work directory.
const MODULE_ENDS: &[&str] = &["py", "pyc", "so"];
/// The file that a package runner reads. For the user's own servers, an approval covers it only if it declares
/// programs.
const PACKAGE_FILE: &str = "package.json";
/// Folders with the configuration of coding agents.
const CONFIGURATION: &[&str] = &[".claude", ".crewdeck"];
/// Folders of installed or built files, which agents replace when they install or build.
const GENERATED: &[&str] = &[
    "node_modules",
    "venv",
    ".venv",
    "vendor",
    "target",
    "build",
    "dist",
];
/// Maximum number of files that [`Dependencies::format_files`] names. Further files are only counted.
const SHOWN_FILES_MAX: usize = 3;
/// Endings of the names of files with code. For the user's own servers, an approval covers only files with code; see
/// `is_code`.
const CODE_ENDS: &[&str] = &[
    "py", "pyc", "so", "js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx", "sh", "bash", "zsh",
    "rb", "pl", "pm", "php", "lua", "jar", "wasm",
];

/// The files and texts that an approval of a server or hook covers.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// The files and folders that the command names, or why they cannot be determined.
    pub named: Result<NamedPaths, String>,
    /// For a server that the user declares, its command line, which the user approves instead of the declaring file.
    /// `None` for a server or hook that the project declares.
    pub own: Option<Vec<u8>>,
}

/// Returns the files and folders below `root`, and the temporary files, that `command` names. `dir` is the directory in
/// which the command starts.
///
/// # Errors
/// Fails if the command names too many files or folders, see [`named_files::paths`].
pub fn find_named_paths(
    root: &Path,
    dir: &Path,
    command: &CommandWords,
) -> Result<NamedPaths, String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (root, dir) = (real(root), real(dir));
    let place = CommandPlace {
        root: &root,
        dir: &dir,
        within: &root,
        is_folder: Path::is_dir,
    };
    named_files::paths(&place, command)
}

impl Dependencies {
    /// Returns the existing files that the command names and the files directly in its folders of libraries, sorted. If
    /// a folder of libraries has a subfolder with an `__init__.py`, the result contains that file instead of the
    /// subfolder. For a server that the user declares, the result contains only files with code that are in the project
    /// directory `root`.
    ///
    /// # Errors
    /// Fails if the names cannot be determined, or if a folder has more than [`LIBRARY_MAX`] files or cannot be read.
    pub fn existing_files(&self, root: &Path) -> Result<Vec<PathBuf>, String> {
        let named = self.named.as_ref().map_err(Clone::clone)?;
        let real = root.canonicalize();
        let real = real.as_deref().unwrap_or(root);
        // The user has chosen what an own server runs outside of the project, for example in `/tmp`.
        let counts = |path: &Path| self.own.is_none() || path.starts_with(real);
        // Most words of a command are no files.
        let files = named.files.iter().filter(|path| path.is_file());
        let mut out: Vec<PathBuf> = files
            .filter(|path| counts(path) && (self.own.is_none() || is_code(path)))
            .cloned()
            .collect();
        let folders = named.libraries.iter().filter(|path| counts(path));
        for folder in folders.filter(|path| path.is_dir()) {
            let refused = |why: String| {
                let below = folder.strip_prefix(root).unwrap_or(folder);
                let name = json::format_line(&below.to_string_lossy());
                format!("loads files of the folder {name}, which {why}")
            };
            let entries =
                fs::read_dir(folder).map_err(|e| refused(format!("cannot be read: {e}")))?;
            let before = out.len();
            for entry in entries.flatten() {
                let path = entry.path();
                let ending = path.extension().and_then(|ending| ending.to_str());
                let is_module = ending.is_some_and(|ending| MODULE_ENDS.contains(&ending));
                let package = path.join("__init__.py");
                if package.is_file() {
                    out.push(package);
                } else if (is_module || self.own.is_none()) && path.is_file() {
                    out.push(path);
                }
                if out.len() - before > LIBRARY_MAX {
                    return Err(refused(format!(
                        "has more than {LIBRARY_MAX} files, the maximum that crewdeck checks"
                    )));
                }
            }
        }
        out.sort();
        out.dedup();
        Ok(out)
    }

    /// Returns a list of the first [`SHOWN_FILES_MAX`] existing files, relative to `root`, with the number of the
    /// others. Returns the reason if the files cannot be determined, and an empty text if there are none.
    pub fn format_files(&self, root: &Path) -> String {
        let files = match self.existing_files(root) {
            Ok(files) => files,
            Err(why) => return format!("files that cannot be checked (its command {why})"),
        };
        let real = root.canonicalize();
        let root = real.as_deref().unwrap_or(root);
        let names = files.iter().take(SHOWN_FILES_MAX).map(|path| {
            let below = path.strip_prefix(root).unwrap_or(path);
            json::format_line(&below.to_string_lossy())
        });
        let names = names.collect::<Vec<_>>().join(", ");
        match files.len().saturating_sub(SHOWN_FILES_MAX) {
            0 => names,
            more => format!("{names} and {more} more files"),
        }
    }
}

/// Returns whether a file that a hook names is probably a script that serves only hooks. This is true in two cases: the
/// file is in one of the folders [`CONFIGURATION`], or it is executable and [`is_project_file`] returns false.
pub fn is_hook_script(root: &Path, path: &Path) -> bool {
    has_part(root, path, CONFIGURATION) || (is_executable(path) && !is_project_file(root, path))
}

/// Returns whether agents change a file in normal work. They change files that a build tool or package manager reads by
/// their names, and files that were installed or built.
pub fn is_project_file(root: &Path, path: &Path) -> bool {
    named_files::is_loaded_by_name(path) || has_part(root, path, GENERATED)
}

/// Returns whether a component of `path` below `root` is one of `names`.
fn has_part(root: &Path, path: &Path, names: &[&str]) -> bool {
    let mut parts = path.strip_prefix(root).unwrap_or(path).iter();
    parts.any(|part| names.iter().any(|name| part == *name))
}

/// Returns whether one of the user's own servers may run a file. Returns false for a file that a server only reads or
/// writes as data.
fn is_code(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let is_known = ending.is_some_and(|ending| CODE_ENDS.contains(&ending))
        || named_files::is_loaded_by_name(path)
        || path.iter().any(|part| part == "node_modules");
    (is_known || is_executable(path)) && !is_harmless_package_file(path)
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o111 != 0)
}

/// Returns whether `path` is a `package.json` without the fields that declare programs: `bin`, `directories` and
/// `workspaces`.
fn is_harmless_package_file(path: &Path) -> bool {
    if path.file_name().is_none_or(|name| name != PACKAGE_FILE) {
        return false;
    }
    let bytes = regular_file::read(path, json::FILE_MAX).unwrap_or_default();
    let parsed = serde_json::from_slice::<serde_json::Value>(&bytes);
    parsed.is_ok_and(|file| {
        file.is_object()
            && ["bin", "directories", "workspaces"]
                .iter()
                .all(|field| file.get(field).is_none())
    })
}

/// Returns the SHA-256 of a file's content, in hexadecimal. `meta` is the file's metadata.
///
/// # Errors
/// Returns why the file cannot be hashed, as the end of a sentence: it is larger than [`NAMED_MAX`] or cannot be read.
pub fn content_hash(path: &Path, meta: &Metadata) -> Result<String, String> {
    if meta.len() > NAMED_MAX {
        return Err(format!("is larger than {} MiB", NAMED_MAX / 1024 / 1024));
    }
    let unreadable = |e: std::io::Error| format!("cannot be read: {e}");
    let mut file = regular_file::open(path)
        .map_err(unreadable)?
        .take(NAMED_MAX + 1);
    let mut hash = Context::new(&SHA256);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match file.read(&mut chunk).map_err(unreadable)? {
            0 => return Ok(approvals::hex(hash)),
            n => hash.update(&chunk[..n]),
        }
    }
}
