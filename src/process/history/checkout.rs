//! Protects `HEAD`, `index` and `logs/HEAD` of a work directory: copies them before a command, and restores them after
//! it if the command has damaged them.
//!
//! Git replaces these files by renaming, so they cannot be protected by a mount. A file is copied only if it has
//! changed since its last copy. The copies are in the private folder, which commands cannot write.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::folder::Folder;
use super::{FOLDER, git, refs};

/// The subfolder of the private folder for copies of the protected files ([`CheckoutFile`]).
const COPIES: &str = "checkout";
/// The name of a marker file. It exists from the start of a command until [`Checkout::check`] has checked the protected
/// files.
const RUNNING: &str = "running";
/// The name of the file with the fingerprints of the protected files at the time of their last copy.
const FINGERPRINTS: &str = "stamps";
/// Maximum size of `HEAD`, in bytes.
const HEAD_MAX: u64 = 1024;
/// Maximum size of the index and of the reflog, in bytes. Larger files are not copied.
const LARGE_MAX: u64 = 64 * 1024 * 1024;
/// Minimum size of an index, in bytes: a header and a checksum.
const INDEX_MIN: usize = 32;
/// Maximum size of the file [`FINGERPRINTS`], in bytes.
const FINGERPRINTS_MAX: u64 = 4096;

/// A protected file in the git folder of a work directory. If a command damages the file, it is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckoutFile {
    Head,
    Index,
    Log,
}

impl CheckoutFile {
    const ALL: [CheckoutFile; 3] = [CheckoutFile::Head, CheckoutFile::Index, CheckoutFile::Log];

    fn name(self) -> &'static str {
        match self {
            CheckoutFile::Head | CheckoutFile::Log => "HEAD",
            CheckoutFile::Index => "index",
        }
    }

    /// Returns the name of the file's copy in the folder [`COPIES`].
    fn label(self) -> &'static str {
        match self {
            CheckoutFile::Head => "HEAD",
            CheckoutFile::Index => "index",
            CheckoutFile::Log => "logs-HEAD",
        }
    }

    fn max(self) -> u64 {
        match self {
            CheckoutFile::Head => HEAD_MAX,
            CheckoutFile::Index | CheckoutFile::Log => LARGE_MAX,
        }
    }
}

/// The protected files in the git folder of one work directory. If a command damages such a file, it is restored.
pub struct Checkout<'a> {
    /// The git folder of the work directory.
    own: Folder,
    copies: Folder,
    common: &'a Path,
    /// The folder to which commands in the work directory write new git objects.
    objects: PathBuf,
}

impl<'a> Checkout<'a> {
    /// Opens the protected files in the git folder `own`, which belongs to the repository `common`. The copies of these
    /// files are in the private folder `dir`.
    pub fn open(own: &Path, dir: &Folder, common: &'a Path) -> io::Result<Checkout<'a>> {
        Ok(Checkout {
            own: Folder::open(own)?,
            copies: dir.make(COPIES)?,
            common,
            objects: own.join(FOLDER).join("objects"),
        })
    }

    /// Returns whether [`Checkout::save`] was called after the last [`Checkout::check`], which means that a command has
    /// started. Also true if crewdeck was killed while a command ran.
    pub fn is_unchecked(&self) -> bool {
        matches!(self.copies.kind(RUNNING), Ok(Some(_)))
    }

    /// Copies the protected files that have changed since they were last copied. Must be called before a command runs.
    pub fn save(&self) -> io::Result<()> {
        let old = self.fingerprints()?;
        let new = CheckoutFile::ALL.map(|file| self.fingerprint(file).unwrap_or_default());
        for (at, file) in CheckoutFile::ALL.into_iter().enumerate() {
            if old.get(at) == new.get(at) {
                continue;
            }
            match self.read(file) {
                Ok(Some(bytes)) if file != CheckoutFile::Index || is_index(&bytes) => {
                    self.copies.write_bytes(file.label(), &bytes)?;
                }
                // The file is missing, damaged or unreadable. An older copy of it must not be restored later.
                Ok(_) | Err(_) => self.copies.remove(file.label())?,
            }
        }
        if old != new {
            self.copies.write(FINGERPRINTS, &(new.join("\n") + "\n"))?;
        }
        if !self.is_unchecked() {
            self.copies.create(RUNNING, "")?;
        }
        Ok(())
    }

    /// Restores the files that a command has damaged since [`Checkout::save`]. A file without a copy is not restored.
    /// Returns one line for the model for each file that was restored or could not be checked. An index that is
    /// restored only because `HEAD` was restored has no line.
    pub fn check(&self) -> io::Result<Vec<String>> {
        let old = self.fingerprints()?;
        let mut notes = Vec::new();
        let mut was_unborn = false;
        for (at, file) in CheckoutFile::ALL.into_iter().enumerate() {
            if old.get(at) == Some(&self.fingerprint(file).unwrap_or_default()) {
                continue;
            }
            let Some(copy) = self.copies.read_bytes(file.label(), file.max())? else {
                continue;
            };
            let now = match self.read(file) {
                Ok(now) => now,
                // A valid HEAD is never that long.
                Err(e) if file == CheckoutFile::Head && e.kind() == io::ErrorKind::FileTooLarge => {
                    None
                }
                Err(e) => {
                    notes.push(format!(
                        "[The git file {} was not checked for damage: {e}.]",
                        file.label()
                    ));
                    continue;
                }
            };
            if file == CheckoutFile::Index && was_unborn {
                // The command left `HEAD` on a branch without a commit, where the index is empty. With the restored
                // `HEAD`, the next commit would delete all files.
                self.restore(file, &copy)?;
            } else if let Some((wanted, note)) = self.repair(file, &copy, now.as_deref())? {
                was_unborn =
                    file == CheckoutFile::Head && now.is_some_and(|now| is_head(text(&now)));
                self.restore(file, &wanted)?;
                notes.push(note);
            }
        }
        self.copies.remove(RUNNING)?;
        Ok(notes)
    }

    /// Returns the content to restore and a note for the model; `None` if the file is valid. `copy` is the content from
    /// before the command, `now` the current content.
    fn repair(
        &self,
        file: CheckoutFile,
        copy: &[u8],
        now: Option<&[u8]>,
    ) -> io::Result<Option<(Vec<u8>, String)>> {
        Ok(match file {
            CheckoutFile::Head => {
                let now_text = now.map(text).unwrap_or_default();
                let is_valid = now == Some(copy) || self.has_commit(now_text)?;
                (!is_valid).then(|| (copy.to_vec(), head_note(text(copy), now_text)))
            }
            CheckoutFile::Index => {
                let note = "[The git index was restored to its state before the command: the command removed or \
                            damaged it.]";
                (!now.is_some_and(is_index)).then(|| (copy.to_vec(), note.into()))
            }
            CheckoutFile::Log => {
                let now = now.unwrap_or_default();
                let note = "[The command removed entries from the HEAD reflog. They were restored: commands can only add entries.]";
                (!now.starts_with(copy)).then(|| (with_new_entries(copy, now), note.into()))
            }
        })
    }

    /// Restores `HEAD` if its content does not have the form that git accepts. Returns a note for the model, or `None`
    /// if nothing was restored.
    pub fn check_head(&self) -> io::Result<Option<String>> {
        let now = match self.read(CheckoutFile::Head) {
            Ok(now) => now.unwrap_or_default(),
            Err(e) if e.kind() == io::ErrorKind::FileTooLarge => Vec::new(),
            // `check` reports this error.
            Err(_) => return Ok(None),
        };
        let copy = self
            .copies
            .read_bytes(CheckoutFile::Head.label(), HEAD_MAX)?;
        let Some(copy) = copy.filter(|copy| *copy != now && !is_head(text(&now))) else {
            return Ok(None);
        };
        self.restore(CheckoutFile::Head, &copy)?;
        Ok(Some(head_note(text(&copy), text(&now))))
    }

    /// Returns whether `text` has the form of a `HEAD` file and points to an existing commit.
    fn has_commit(&self, text: &str) -> io::Result<bool> {
        match text.strip_prefix("ref: ") {
            _ if !is_head(text) => Ok(false),
            Some(name) => Ok(refs::current(self.common, name)?.is_some()),
            None => git::is_commit(self.common, &self.objects, text),
        }
    }

    /// Reads a protected file; `None` if it is missing or not a regular file.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is larger than its maximum size.
    fn read(&self, file: CheckoutFile) -> io::Result<Option<Vec<u8>>> {
        let logs = match file {
            CheckoutFile::Head | CheckoutFile::Index => None,
            CheckoutFile::Log => match self.own.kind("logs")? {
                Some(FileType::Directory) => Some(self.own.sub("logs")?),
                Some(_) | None => return Ok(None),
            },
        };
        let folder = logs.as_ref().unwrap_or(&self.own);
        match folder.kind(file.name())? {
            Some(FileType::RegularFile) => folder.read_bytes(file.name(), file.max()),
            Some(_) | None => Ok(None),
        }
    }

    fn fingerprint(&self, file: CheckoutFile) -> io::Result<String> {
        match file {
            CheckoutFile::Head | CheckoutFile::Index => self.own.fingerprint(file.name()),
            CheckoutFile::Log => self.own.sub("logs")?.fingerprint(file.name()),
        }
    }

    fn fingerprints(&self) -> io::Result<Vec<String>> {
        let text = self
            .copies
            .read(FINGERPRINTS, FINGERPRINTS_MAX)?
            .unwrap_or_default();
        Ok(text.lines().map(String::from).collect())
    }

    fn restore(&self, file: CheckoutFile, bytes: &[u8]) -> io::Result<()> {
        match file {
            CheckoutFile::Head | CheckoutFile::Index => self.own.write_bytes(file.name(), bytes),
            CheckoutFile::Log => {
                if self.own.kind("logs")?.is_some_and(FileType::is_file) {
                    self.own.remove_file("logs")?;
                }
                self.own.make("logs")?.write_bytes(file.name(), bytes)
            }
        }
    }
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap_or_default().trim()
}

/// Returns whether `text` has the form of a `HEAD` file that names a branch or a commit.
fn is_head(text: &str) -> bool {
    let Some(name) = text.strip_prefix("ref: ") else {
        return refs::is_object(text);
    };
    let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.');
    name.starts_with("refs/heads/") && name.split('/').all(is_plain)
}

/// Returns a note for the model: `HEAD` contained `now` and was restored to `was`.
fn head_note(was: &str, now: &str) -> String {
    match now.strip_prefix("ref: ") {
        Some(name) if is_head(now) => format!(
            "[The command left HEAD on `{name}`, which has no commit, so HEAD was restored to `{was}`, and the index to \
             its state before the command. If you want an orphan branch, create it and its first commit in one \
             command. To get back tracked files that were removed, run `git checkout-index --all` in the top folder before the next commit.]"
        ),
        Some(_) | None => format!(
            "[HEAD was restored to `{was}`: the command left it missing or damaged. To change branches, use git switch.]"
        ),
    }
}

/// Returns whether the bytes start like a git index. Git itself detects other damage by the checksum at the end.
fn is_index(bytes: &[u8]) -> bool {
    bytes.len() >= INDEX_MIN && bytes.starts_with(b"DIRC")
}

/// Returns the reflog `copy`, followed by the valid entries of the reflog `now` that `copy` lacks.
fn with_new_entries(copy: &[u8], now: &[u8]) -> Vec<u8> {
    let lines = |bytes| <[u8]>::split(bytes, |byte| *byte == b'\n');
    let have: BTreeSet<&[u8]> = lines(copy).collect();
    let is_hash = |word: Option<&str>| word.is_some_and(refs::is_hash);
    let mut out = copy.to_vec();
    for line in lines(now).filter(|line| !have.contains(line)) {
        let text = String::from_utf8_lossy(line);
        let mut words = text.split(' ');
        if is_hash(words.next()) && is_hash(words.next()) {
            out.extend_from_slice(line);
            out.push(b'\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn restored_reflog_keeps_new_entries() {
        let entry = |digit: &str, what: &str| {
            format!(
                "{} {} A <a@b> 0 +0000\t{what}\n",
                digit.repeat(40),
                digit.repeat(40)
            )
        };
        let (one, two) = (entry("1", "one"), entry("2", "two"));
        let restored = with_new_entries(one.as_bytes(), format!("{two}damaged\n").as_bytes());
        assert_eq!(String::from_utf8(restored).unwrap(), format!("{one}{two}"));
    }
}
