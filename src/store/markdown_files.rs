//! Finds and reads the Markdown files of a folder, with limits. Symbolic links that lead out of the opened folder or
//! project are not followed.

use std::hash::{Hash, Hasher};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::os_errors;

/// Maximum depth of subfolders to search. Deeper folders are ignored.
const DEPTH_MAX: usize = 4;
/// Maximum number of files and folders to check, including those in subfolders. Further files and folders are ignored,
/// and reported in `MarkdownFolder::unread`.
const ENTRIES_MAX: usize = 2000;
/// Maximum size of a file, in bytes. A larger file is rejected.
pub const FILE_MAX: u64 = 256 * 1024;

/// The path of a file, relative to the searched folder, and its text or the reason why it cannot be used.
pub type MarkdownFile = (PathBuf, Result<String, String>);

/// Opens `folder`. With a `root`, the folder must be below the root, and links out of the root are not followed.
/// Without a `root`, the folder may be anywhere. Returns `None` if the folder or the root does not exist or is not a
/// folder.
///
/// # Errors
/// Returns why the folder cannot be opened, as a text for the user.
pub fn open(root: Option<&Path>, folder: &Path) -> Result<Option<Dir>, String> {
    let opened = match root {
        Some(root) => {
            Dir::open_ambient_dir(root, ambient_authority()).and_then(|r| r.open_dir(folder))
        }
        None => Dir::open_ambient_dir(folder, ambient_authority()),
    };
    match opened {
        Ok(dir) => Ok(Some(dir)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(reason(&error)),
    }
}

/// The Markdown files of a folder.
#[derive(Default)]
pub struct MarkdownFolder {
    pub files: Vec<MarkdownFile>,
    /// The folders that could not be read completely, each with the reason as a text for the user. The paths are relative to
    /// the searched folder; the empty path is that folder itself.
    pub unread: Vec<(PathBuf, String)>,
}

/// Reads the first `most` files `*.md` of the folder and its subfolders, sorted by path. Hidden files and folders, links
/// to folders, and folders that are more than four levels deep are skipped.
pub fn read_all(dir: &Dir, most: usize) -> MarkdownFolder {
    let mut paths = Vec::new();
    let mut checked = 0;
    let mut found = MarkdownFolder::default();
    walk(
        dir,
        Path::new(""),
        0,
        &mut checked,
        &mut paths,
        &mut found.unread,
    );
    if paths.len() > most || checked > ENTRIES_MAX {
        let why = format!(
            "too many files: at most {most} files in the first {ENTRIES_MAX} entries are read. Move other files away"
        );
        found.unread.push((PathBuf::new(), why));
    }
    for path in paths.into_iter().take(most) {
        let text = read(dir, &path);
        found.files.push((path, text));
    }
    found
}

fn walk(
    dir: &Dir,
    below: &Path,
    depth: usize,
    checked: &mut usize,
    out: &mut Vec<PathBuf>,
    unread: &mut Vec<(PathBuf, String)>,
) {
    let list = if below.as_os_str().is_empty() {
        dir.entries()
    } else {
        dir.read_dir(below)
    };
    if let Err(error) = &list {
        unread.push((below.to_path_buf(), reason(error)));
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in list.into_iter().flatten().flatten() {
        *checked += 1;
        if *checked > ENTRIES_MAX {
            break;
        }
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with('.') {
            paths.push(below.join(name));
        }
    }
    paths.sort();
    for path in paths {
        let is_markdown = path.extension().is_some_and(|e| e == "md");
        // A link to a folder is not followed, because it could lead back to this folder.
        match dir.symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() && depth < DEPTH_MAX => {
                walk(dir, &path, depth + 1, checked, out, unread);
            }
            Ok(meta) if !meta.is_dir() && is_markdown => out.push(path),
            Ok(_) | Err(_) => {}
        }
    }
}

/// Adds the paths, sizes and times of the files `*.md` of the folder and its subfolders to `hasher`, for at most
/// [`ENTRIES_MAX`] entries. Reads no file contents.
pub fn hash_versions(dir: &Dir, hasher: &mut impl Hasher) {
    let mut paths = Vec::new();
    walk(dir, Path::new(""), 0, &mut 0, &mut paths, &mut Vec::new());
    for path in paths {
        // A link is followed, because the text of its target is read.
        let meta = dir.metadata(&path).ok();
        let version = meta.map(|meta| {
            (
                meta.len(),
                meta.modified()
                    .ok()
                    .map(cap_std::time::SystemTime::into_std),
            )
        });
        (path, version).hash(hasher);
    }
}

/// Returns the subfolders in which [`read_all`] searches, at most `most`. The paths are relative to the folder `dir`.
pub fn subfolders(dir: &Dir, most: usize) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    let mut open = vec![(PathBuf::new(), 0)];
    let mut checked = 0;
    while let Some((below, depth)) = open.pop() {
        let list = if below.as_os_str().is_empty() {
            dir.entries()
        } else {
            dir.read_dir(&below)
        };
        for entry in list.into_iter().flatten().flatten() {
            checked += 1;
            if checked > ENTRIES_MAX || all.len() >= most {
                return all;
            }
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !name.to_string_lossy().starts_with('.') && depth < DEPTH_MAX {
                let path = below.join(name);
                all.push(path.clone());
                open.push((path, depth + 1));
            }
        }
    }
    all
}

/// Reads a text file of at most [`FILE_MAX`] bytes. `path` is relative to `dir`. The text must be UTF-8.
///
/// # Errors
/// Returns why the file cannot be used and what to do, as a text for the user.
pub fn read(dir: &Dir, path: &Path) -> Result<String, String> {
    read_or(dir, path, "make it shorter")
}

/// Like [`read`]; `remedy` says what to do if the file is too large.
///
/// # Errors
/// Returns why the file cannot be used and what to do, as a text for the user.
pub fn read_or(dir: &Dir, path: &Path, remedy: &str) -> Result<String, String> {
    let meta = dir.metadata(path).map_err(|e| reason(&e))?;
    if !meta.is_file() {
        return Err("it is not a regular file".into());
    }
    let file = dir.open(path).map_err(|e| reason(&e))?;
    let mut bytes = Vec::new();
    file.take(FILE_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| reason(&e))?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(format!(
            "it is larger than {} KiB: {remedy}",
            FILE_MAX / 1024
        ));
    }
    String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = before.split(|b| *b == b'\n').count();
        format!("line {line}: the text is not UTF-8: save the file as UTF-8")
    })
}

/// Returns the cause of an error and what to do about it, as a text for the user.
pub fn reason(error: &std::io::Error) -> String {
    // This is cap-std's error for a link that leads out of the folder.
    if error.to_string().contains("outside of the filesystem") {
        return "it is a link that leads out of its folder and is not read: copy the file into the folder"
            .into();
    }
    match error.kind() {
        ErrorKind::NotFound => "it is a broken link: fix or remove it".into(),
        ErrorKind::PermissionDenied => "permission denied: change its permissions".into(),
        _ => format!("it cannot be read: {}", os_errors::explain(error)),
    }
}
