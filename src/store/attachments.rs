//! The content of attached files: `.transcripts/attachments/HASH.EXT`. Equal content is stored once.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest;

use super::{StoreError, atomic, regular_file};
use crate::domain::attachment::ImageData;
use crate::domain::chat::{Block, Message};
use crate::domain::folders::TRANSCRIPTS;

/// Name of the attachments folder, which is in the folder of the transcripts.
const FOLDER: &str = "attachments";
/// Maximum size of a stored file that is read, in bytes. [`AttachmentStore::read`] ignores larger ones.
const FILE_MAX: u64 = 16 * 1024 * 1024;
/// Maximum total size of the stored files, in bytes. If it is exceeded, the least recently attached files are removed.
const TOTAL_MAX: u64 = 256 * 1024 * 1024;
/// Length in bytes of the hash that names a file. The file name contains each byte as two hexadecimal digits.
const HASH_BYTES: usize = 16;

/// The folder with the content of attached files.
#[derive(Debug, Clone)]
pub struct AttachmentStore {
    folder: PathBuf,
    total_max: u64,
}

impl AttachmentStore {
    /// Opens the store of the project in `root`. Creates no folder yet.
    pub fn open(root: &Path) -> AttachmentStore {
        AttachmentStore::beside(&root.join(TRANSCRIPTS))
    }

    /// Opens the store in the subfolder [`FOLDER`] of `transcripts`.
    pub(super) fn beside(transcripts: &Path) -> AttachmentStore {
        AttachmentStore {
            folder: transcripts.join(FOLDER),
            total_max: TOTAL_MAX,
        }
    }

    /// Stores `bytes` and returns the name of the file: the hash of the content, then `extension`. If a file with this
    /// name and size already exists, only updates its modification time.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, bytes: &[u8], extension: &str) -> Result<String, StoreError> {
        let hash = digest::digest(&digest::SHA256, bytes);
        let mut name = String::new();
        for byte in hash.as_ref().iter().take(HASH_BYTES) {
            name.push_str(&format!("{byte:02x}"));
        }
        let name = format!("{name}.{extension}");
        fs::create_dir_all(&self.folder).map_err(StoreError::at(&self.folder))?;
        let path = self.folder.join(&name);
        let has_same_size = |meta: fs::Metadata| meta.is_file() && meta.len() == bytes.len() as u64;
        if fs::symlink_metadata(&path).is_ok_and(has_same_size) {
            // Marks the file as recently attached. If this fails, the file is only removed earlier.
            let _ = fs::File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        } else {
            atomic::write(&path, bytes)?;
            self.remove_oldest(&name);
        }
        Ok(name)
    }

    /// Returns the content of a stored file. Returns `None` if the file is gone, is larger than 16 MiB or cannot be
    /// read, or if `name` contains characters other than ASCII letters, digits and dots, or begins with a dot.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        // A name can come from a file that another program has written.
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '.';
        if name.starts_with('.') || !name.chars().all(is_name) {
            return None;
        }
        regular_file::read(&self.folder.join(name), FILE_MAX).ok()
    }

    /// Returns the content of a stored image as Base64; an empty [`ImageData`] if [`AttachmentStore::read`] returns
    /// `None`.
    pub fn image(&self, name: &str) -> ImageData {
        let bytes = self.read(name);
        ImageData(bytes.map(|bytes| STANDARD.encode(bytes).into()))
    }

    /// Sets the data of every image in `messages` to the content of the file that the image names. If the file cannot
    /// be read, the data is an empty [`ImageData`].
    pub(super) fn load_images(&self, messages: &mut [Message]) {
        for block in messages.iter_mut().flat_map(|m| &mut m.blocks) {
            if let Block::Image(image) = block {
                image.data = self.image(&image.file);
            }
        }
    }

    /// Removes the oldest files until the total size is within the limit, but never the file `new`. A file that cannot
    /// be removed stays.
    fn remove_oldest(&self, new: &str) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let meta = entry.metadata().ok()?;
                let modified = meta.modified().ok()?;
                meta.is_file().then(|| (modified, meta.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in files {
            if total <= self.total_max {
                return;
            }
            if !path.ends_with(new) && fs::remove_file(&path).is_ok() {
                total -= size;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_content_is_stored_once_and_the_oldest_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = AttachmentStore::open(dir.path());
        store.total_max = 250;
        let first = store.save(&[1; 100], "txt").unwrap();
        let old = SystemTime::UNIX_EPOCH;
        let file = fs::File::open(store.folder.join(&first)).unwrap();
        file.set_modified(old).unwrap();
        let second = store.save(&[2; 100], "txt").unwrap();
        let file = fs::File::open(store.folder.join(&second)).unwrap();
        file.set_modified(old).unwrap();
        assert_eq!(store.save(&[1; 100], "txt").unwrap(), first);
        let third = store.save(&[3; 100], "png").unwrap();
        assert_eq!(store.read(&first).unwrap(), [1; 100]);
        assert_eq!(store.read(&second), None);
        assert_eq!(store.image(&third).0.unwrap().len(), 136);
    }

    #[test]
    fn names_lead_to_no_other_folder() {
        let dir = tempfile::tempdir().unwrap();
        let store = AttachmentStore::open(dir.path());
        store.save(b"x", "txt").unwrap();
        fs::write(dir.path().join(".transcripts/secret"), "s").unwrap();
        for name in ["../secret", "..", "", "/etc/passwd", ".hidden"] {
            assert_eq!(store.read(name), None, "{name}");
        }
    }
}
