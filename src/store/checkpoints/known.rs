//! What is known about the files of a work directory since its last snapshot.

use std::collections::{BTreeSet, HashMap, HashSet};

use rustix::fs::{FileType, Stat};

/// The state of a file. If it is equal at two times, the content of the file is the same, unless the file was written
/// within the resolution of the time stamps: see [`StoredContent::is_recent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskFileState {
    pub mode: u32,
    pub size: u64,
    inode: u64,
    /// Times in seconds and nanoseconds since 1970.
    modified: (i64, u32),
    changed: (i64, u32),
}

/// A file that was in a snapshot.
#[derive(Debug, Clone)]
pub struct KnownFile {
    pub name: Box<[u8]>,
    /// Whether the file is, or was since the first snapshot, in the commit that is checked out. Such a file is recorded
    /// even if git ignores its name.
    pub is_tracked: bool,
    pub content: KnownContent,
}

#[derive(Debug, Clone)]
pub enum KnownContent {
    /// The snapshot contains the content.
    Stored(StoredContent),
    /// The snapshot does not contain the file, because it is too large or could not be read.
    Skipped,
    /// The file is in the first tree, but its present content is not known yet.
    Unknown,
    /// The file is tracked, but no longer exists.
    Gone,
}

#[derive(Debug, Clone)]
pub struct StoredContent {
    pub state: DiskFileState,
    /// Whether the file was written so shortly before it was read that a later write may have left the same time
    /// stamps. Its content is then compared instead.
    pub is_recent: bool,
    /// The hash of the content; `None` if the content was not read.
    pub hash: Option<Box<[u8; 32]>>,
}

/// The files of a work directory by folder. Each list is sorted by name. The folders above a folder with files have an
/// entry too, which may be empty.
#[derive(Debug, Clone, Default)]
pub struct KnownFiles {
    /// The folders of submodules. They are not recorded.
    pub submodules: HashSet<Vec<u8>>,
    /// The tracked files that do not exist.
    gone: BTreeSet<Vec<u8>>,
    folders: HashMap<Box<[u8]>, Vec<KnownFile>>,
}

impl KnownContent {
    /// Returns whether the content is known as long as the state of the file is the same.
    pub fn is_settled(&self) -> bool {
        match self {
            KnownContent::Stored(stored) => !stored.is_recent,
            KnownContent::Skipped | KnownContent::Unknown => false,
            KnownContent::Gone => true,
        }
    }
}

impl KnownFile {
    /// Returns whether the content of a file with this state need not be read again.
    pub fn is_same(&self, state: &DiskFileState) -> bool {
        match &self.content {
            KnownContent::Stored(stored) => !stored.is_recent && stored.state == *state,
            KnownContent::Skipped | KnownContent::Unknown | KnownContent::Gone => false,
        }
    }
}

impl DiskFileState {
    // The types of the fields differ between platforms; all values fit.
    #[allow(
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        clippy::unnecessary_cast
    )]
    pub fn of(stat: &Stat) -> DiskFileState {
        DiskFileState {
            mode: stat.st_mode as u32,
            size: stat.st_size as u64,
            inode: stat.st_ino as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as u32),
        }
    }

    pub fn is_symlink(&self) -> bool {
        self.file_type() == FileType::Symlink
    }

    /// Returns the mode with which git stores the file: a symbolic link, an executable file or another file.
    pub fn git_mode(&self) -> &'static str {
        match self.file_type() {
            FileType::Symlink => "120000",
            _ if self.mode & 0o100 != 0 => "100755",
            _ => "100644",
        }
    }

    /// Returns whether only the owner may read the file.
    pub fn is_private(&self) -> bool {
        let others = self.mode & 0o077;
        !self.is_symlink() && others == 0
    }

    #[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast)] // 16 bits on some platforms
    pub fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.mode as _)
    }

    /// Returns the later of the file's times, in seconds since 1970.
    pub fn latest(&self) -> i64 {
        self.modified.0.max(self.changed.0)
    }
}

impl KnownFiles {
    /// Returns whether the folder contains known files, directly or in folders below it.
    pub fn has_folder(&self, folder: &[u8]) -> bool {
        self.folders.contains_key(folder)
    }

    pub fn files(&self, folder: &[u8]) -> &[KnownFile] {
        self.folders.get(folder).map_or(&[], Vec::as_slice)
    }

    pub fn find(&self, path: &[u8]) -> Option<&KnownFile> {
        let (folder, name) = split(path);
        find(self.files(folder), name)
    }

    /// Adds a file of the first tree. Files can be added in any order; [`KnownFiles::sort`] must follow.
    pub fn add_unknown(&mut self, path: &[u8]) {
        let (folder, name) = split(path);
        let content = KnownContent::Unknown;
        self.folder(folder).push(KnownFile {
            name: name.into(),
            is_tracked: true,
            content,
        });
    }

    pub fn sort(&mut self) {
        for files in self.folders.values_mut() {
            files.sort_by(|a, b| a.name.cmp(&b.name));
        }
    }

    /// Returns the tracked files that do not exist, sorted.
    pub fn gone(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.gone.iter()
    }

    /// Marks a file as tracked; adds it as one that does not exist if it is not known.
    pub fn track(&mut self, path: &[u8]) {
        if self.find(path).is_none() {
            self.set(path, KnownContent::Gone);
        }
        let (folder, name) = split(path);
        let files = self.folder(folder);
        if let Ok(at) = files.binary_search_by(|file| (*file.name).cmp(name))
            && let Some(file) = files.get_mut(at)
        {
            file.is_tracked = true;
        }
    }

    /// Sets the content of a file; adds the file if it is not known.
    pub fn set(&mut self, path: &[u8], content: KnownContent) {
        match content {
            KnownContent::Gone => drop(self.gone.insert(path.to_vec())),
            KnownContent::Stored(_) | KnownContent::Skipped | KnownContent::Unknown => {
                self.gone.remove(path);
            }
        }
        let (folder, name) = split(path);
        let files = self.folder(folder);
        match files.binary_search_by(|file| (*file.name).cmp(name)) {
            Ok(at) => {
                if let Some(file) = files.get_mut(at) {
                    file.content = content;
                }
            }
            Err(at) => files.insert(
                at,
                KnownFile {
                    name: name.into(),
                    is_tracked: false,
                    content,
                },
            ),
        }
    }

    /// Removes a file that no longer exists. A tracked file stays known, because it may come back.
    pub fn remove(&mut self, path: &[u8]) {
        let (folder, name) = split(path);
        if let Some(files) = self.folders.get_mut(folder)
            && let Ok(at) = files.binary_search_by(|file| (*file.name).cmp(name))
        {
            match files.get_mut(at) {
                Some(file) if file.is_tracked => {
                    file.content = KnownContent::Gone;
                    self.gone.insert(path.to_vec());
                }
                _ => drop(files.remove(at)),
            }
        }
    }

    /// Returns the number of files with an entry.
    pub fn file_count(&self) -> usize {
        self.folders.values().map(Vec::len).sum()
    }

    /// Returns the number of folders with an entry.
    pub fn folder_count(&self) -> usize {
        self.folders.len()
    }

    /// Adds the files to `paths` that are in none of the `folders`, which are sorted.
    pub fn add_files_outside(&self, folders: &[Vec<u8>], paths: &mut Vec<Vec<u8>>) {
        let is_outside = |folder: &[u8]| folders.binary_search_by(|f| (**f).cmp(folder)).is_err();
        for (folder, files) in self.folders.iter().filter(|(f, _)| is_outside(f)) {
            let there = files
                .iter()
                .filter(|file| !matches!(file.content, KnownContent::Gone));
            paths.extend(there.map(|file| join(folder, &file.name)));
        }
    }

    /// Returns the list of a folder. Creates it, and empty lists for the folders above it, if needed.
    fn folder(&mut self, folder: &[u8]) -> &mut Vec<KnownFile> {
        if !self.folders.contains_key(folder) {
            let mut above = folder;
            while !above.is_empty() {
                above = split(above).0;
                if self.folders.contains_key(above) {
                    break;
                }
                self.folders.insert(above.into(), Vec::new());
            }
        }
        self.folders.entry(folder.into()).or_default()
    }
}

/// The known files of a folder, to be looked up in the order of their names.
pub struct KnownCursor<'a> {
    files: &'a [KnownFile],
    /// The index of the first file that is not before the name that was looked up last.
    next: usize,
    seen: &'a mut Vec<bool>,
}

impl<'a> KnownCursor<'a> {
    pub fn new(files: &'a [KnownFile], seen: &'a mut Vec<bool>) -> KnownCursor<'a> {
        seen.clear();
        seen.resize(files.len(), false);
        let next = 0;
        KnownCursor { files, next, seen }
    }

    pub fn find(&mut self, name: &[u8]) -> Option<&'a KnownFile> {
        let rest = self.files.get(self.next..).unwrap_or_default();
        self.next += rest.iter().take_while(|file| *file.name < *name).count();
        self.files.get(self.next).filter(|file| *file.name == *name)
    }

    /// Marks the file that [`KnownCursor::find`] has returned last.
    pub fn mark_seen(&mut self) {
        if let Some(seen) = self.seen.get_mut(self.next) {
            *seen = true;
        }
    }

    pub fn unseen(&self) -> impl Iterator<Item = &'a KnownFile> {
        let all = self.files.iter().zip(self.seen.iter());
        all.filter(|(_, seen)| !**seen).map(|(file, _)| file)
    }
}

/// The paths in a folder. Only one of them exists at a time, so that none is allocated.
pub struct PathBuffer {
    path: Vec<u8>,
    /// The length of the folder's path with the slash at its end, in bytes.
    prefix: usize,
}

impl PathBuffer {
    pub fn new(folder: &[u8]) -> PathBuffer {
        let mut path = folder.to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        let prefix = path.len();
        PathBuffer { path, prefix }
    }

    pub fn of(&mut self, name: &[u8]) -> &[u8] {
        self.path.truncate(self.prefix);
        self.path.extend_from_slice(name);
        &self.path
    }
}

fn find<'a>(files: &'a [KnownFile], name: &[u8]) -> Option<&'a KnownFile> {
    let at = files.binary_search_by(|file| (*file.name).cmp(name)).ok()?;
    files.get(at)
}

/// Splits a path into its folder, empty for the top folder, and its name.
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

/// Joins a folder, empty for the top folder, and a name.
pub fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() {
        return name.to_vec();
    }
    [folder, b"/", name].concat()
}
