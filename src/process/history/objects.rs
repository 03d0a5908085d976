//! Copies new objects from the private folder of a work directory into the repository.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::folder::Folder;
use super::{git, leftovers};

/// If at least this many objects are copied to the repository at once, git stores them as a pack, otherwise as loose
/// objects. Git does the same with received objects (`fetch.unpackLimit`).
const UNPACK_LIMIT: usize = 100;

/// Maximum number of attempts to copy a part of the objects. Objects are copied in parts only if some of them are
/// damaged.
const SALVAGE_MAX: usize = 256;

/// The subfolder of the private folder for objects that cannot be copied into the repository.
const ASIDE: &str = "aside";

/// Returns whether the private folder `dir` contains git objects, loose or packed. An empty folder for loose objects
/// counts too. False if the folder cannot be read.
pub fn has_objects(dir: &Folder) -> bool {
    let all = |folder: &Folder| folder.entries().unwrap_or_default();
    let Ok(objects) = dir.sub("objects") else {
        return false;
    };
    all(&objects)
        .iter()
        .any(|(name, _)| name != "info" && name != "pack")
        || objects.sub("pack").is_ok_and(|pack| !all(&pack).is_empty())
}

/// Moves all objects of the private folder `dir`, whose path is `path`, into the repository `common`. Damaged objects,
/// and all packs if any object is damaged, are moved to the folder [`ASIDE`]. Returns whether all objects were valid.
///
/// # Errors
/// Fails if a file cannot be read or written, or git fails although the objects are valid. Objects that were not copied
/// then stay in the private folder.
pub fn copy(dir: &Folder, path: &Path, common: &Path) -> io::Result<bool> {
    let private = &path.join("objects");
    let objects = dir.sub("objects")?;
    let found = find(&objects)?;
    let mut names: Vec<String> = found.loose.iter().map(|(a, b)| format!("{a}{b}")).collect();
    if !found.packs.is_empty() {
        names = all_names(private, common)?;
    }
    let mut missing = BTreeSet::new();
    let mut is_complete = true;
    if !names.is_empty()
        && let Err(why) = transfer(&names, private, common)
    {
        // If nothing at all can be written to the repository, damaged objects are not the cause.
        if why.kind() == io::ErrorKind::TimedOut || !salvage(&names, private, common) {
            return Err(why);
        }
        is_complete = false;
        missing = git::missing_objects(common, &names)?;
    }
    for (start, rest) in &found.loose {
        let name = format!("{start}{rest}");
        let folder = objects.sub(start)?;
        if missing.contains(&name) {
            move_aside(dir, &folder, OsStr::new(rest), &name)?;
        } else {
            // Another git process may have removed the file.
            let _ = folder.remove_file(rest);
        }
    }
    for name in &found.packs {
        let pack = objects.sub("pack")?;
        if missing.is_empty() {
            let _ = pack.remove_file(name);
        } else {
            move_aside(dir, &pack, name, &name.to_string_lossy())?;
        }
    }
    for folder in &found.folders {
        // Fails if a new object was added in the meantime.
        let _ = objects.remove_folder(folder);
    }
    Ok(is_complete)
}

/// Moves the file `name` from the folder `from` to the folder [`ASIDE`] in `dir`. The new name is `to`, followed by a
/// number if that name is in use. Returns the new path, relative to `dir`.
pub fn move_aside(dir: &Folder, from: &Folder, name: &OsStr, to: &str) -> io::Result<PathBuf> {
    let aside = dir.make(ASIDE)?;
    let mut free = to.to_string();
    for number in 1_u64.. {
        if aside.kind(&free)?.is_none() {
            break;
        }
        free = format!("{to}.{number}");
    }
    from.rename(name, &aside, &free)?;
    Ok(Path::new(ASIDE).join(free))
}

/// Copies the undamaged objects among `names` to the repository. Finds them by bisection: if a part cannot be copied,
/// tries its halves, with at most [`SALVAGE_MAX`] attempts in total. Returns whether git can write objects to the
/// repository at all.
fn salvage(names: &[String], private: &Path, common: &Path) -> bool {
    let mut parts = vec![names];
    let mut tries = SALVAGE_MAX;
    while let Some(part) = parts.pop() {
        if tries == 0 {
            break;
        }
        tries -= 1;
        if transfer(part, private, common).is_err() && part.len() > 1 {
            let (a, b) = part.split_at(part.len() / 2);
            parts.extend([a, b]);
        }
    }
    git::can_write(common)
}

#[derive(Default)]
struct PrivateObjects {
    /// Loose objects, as pairs of folder name and file name.
    loose: Vec<(String, String)>,
    folders: Vec<String>,
    packs: Vec<OsString>,
}

/// Lists the objects in the private folder `objects`. Removes files that are directly in `objects`, except lock files.
/// In the subfolders with objects, removes all entries that are not regular files, because special files could block
/// git.
fn find(objects: &Folder) -> io::Result<PrivateObjects> {
    let mut found = PrivateObjects::default();
    for (name, kind) in objects.entries()? {
        match name.to_str() {
            // A git process that is still running may hold this lock.
            _ if kind.is_file() && leftovers::is_lock(&name) => {}
            _ if !kind.is_dir() => objects.remove_file(&name)?,
            Some("pack") => {
                for file in files(objects, "pack")? {
                    if is_of_pack(&file) {
                        found.packs.push(file);
                    }
                }
            }
            Some(start) if is_hex(start, 2..=2) => {
                for file in files(objects, start)? {
                    if let Some(rest) = file.to_str()
                        && is_hex(rest, 38..=62)
                    {
                        found.loose.push((start.into(), rest.into()));
                    }
                }
                found.folders.push(start.into());
            }
            Some(_) | None => {}
        }
    }
    Ok(found)
}

/// Returns the names of the regular files in the folder `name` of `objects`, and removes all other entries of that
/// folder.
fn files(objects: &Folder, name: &str) -> io::Result<Vec<OsString>> {
    let folder = objects.sub(name)?;
    let mut out = Vec::new();
    for (name, kind) in folder.entries()? {
        if kind.is_file() {
            out.push(name);
        } else {
            folder.remove(&name)?;
        }
    }
    Ok(out)
}

fn is_of_pack(name: &OsStr) -> bool {
    // git's temporary files start with `tmp_`.
    name.to_str()
        .is_some_and(|name| name.starts_with("pack-") || name == "multi-pack-index")
}

fn is_hex(text: &str, length: std::ops::RangeInclusive<usize>) -> bool {
    length.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns the names (hashes) of all objects in an object folder, including those in packs, in no particular order.
fn all_names(private: &Path, common: &Path) -> io::Result<Vec<String>> {
    let mut list = tempfile::tempfile()?;
    let child = git::command(common)
        .env("GIT_OBJECT_DIRECTORY", private)
        .args(["cat-file", "--batch-all-objects", "--unordered"])
        .arg("--batch-check=%(objectname)")
        .stdout(Stdio::from(list.try_clone()?))
        .spawn()?;
    check("cannot list the new objects", git::wait(child)?)?;
    list.rewind()?;
    let text = io::read_to_string(list)?;
    Ok(text.lines().map(String::from).collect())
}

fn transfer(names: &[String], private: &Path, common: &Path) -> io::Result<()> {
    let mut list = tempfile::tempfile()?;
    list.write_all(names.join("\n").as_bytes())?;
    list.write_all(b"\n")?;
    list.rewind()?;
    let mut from = git::command(common)
        .env("GIT_OBJECT_DIRECTORY", private)
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", common.join("objects"))
        .args(["pack-objects", "-q", "--stdout", "--window=0"])
        .stdin(Stdio::from(list))
        .stdout(Stdio::piped())
        .spawn()?;
    let pack = from.stdout.take().map_or(Stdio::null(), Stdio::from);
    let mut into = git::command(common);
    if names.len() < UNPACK_LIMIT {
        into.args(["unpack-objects", "-q"]);
    } else {
        into.args(["index-pack", "--stdin"]);
    }
    let into = into.stdin(pack).spawn()?;
    // Both at once, because each of them can wait until its messages are read.
    let (packed, unpacked) = std::thread::scope(|scope| {
        let packing = scope.spawn(|| git::wait(from));
        let unpacked = git::wait(into);
        let packed = packing.join();
        (
            packed.unwrap_or_else(|_| Err(io::Error::other("a thread has failed"))),
            unpacked,
        )
    });
    check("cannot read the new objects", packed?)?;
    check("cannot write the new objects", unpacked?)
}

fn check(what: &str, outcome: Result<(), String>) -> io::Result<()> {
    outcome.map_err(|why| io::Error::other(format!("{what}: {why}")))
}
