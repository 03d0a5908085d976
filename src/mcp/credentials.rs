//! The login tokens of MCP servers: one file per server URL, readable only by the user.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};

use super::call::describe;
use crate::domain::redact::Redactor;
use crate::store::atomic::Lock;
use crate::store::regular_file;

/// Maximum size of a file with tokens, in bytes.
const FILE_MAX: u64 = 64 * 1024;
/// The name in the placeholder of a redacted token.
pub const TOKEN_LABEL: &str = "MCP_LOGIN";
/// Number of bytes of the URL's hash that are in a file name.
const HASH_BYTES: usize = 16;

/// Maximum time to wait for the lock of a token file. Another process holds it while it refreshes the tokens.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// The return type of the methods of [`CredentialStore`].
type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

/// The file with the tokens for one server URL. The file name is a hash of the URL and not the server's name, so that
/// another server with the same name does not get the tokens.
#[derive(Debug, Clone)]
pub struct CredentialFile {
    path: PathBuf,
    /// The redactor to which the tokens are added that are read from the file or written to it.
    redactor: Redactor,
}

impl CredentialFile {
    /// Returns the token file in `folder` for the server at `url`. Does not create the file.
    pub fn new(folder: &Path, url: &str) -> CredentialFile {
        let hash = ring::digest::digest(&ring::digest::SHA256, url.as_bytes());
        let mut name = String::new();
        for byte in hash.as_ref().iter().take(HASH_BYTES) {
            name.push_str(&format!("{byte:02x}"));
        }
        CredentialFile {
            path: folder.join(format!("mcp-{name}.json")),
            redactor: Redactor::default(),
        }
    }

    /// Returns the same file with a redactor to which all tokens are added that are read from it or written to it.
    #[must_use]
    pub fn with_redactor(self, redactor: &Redactor) -> CredentialFile {
        let redactor = redactor.clone();
        CredentialFile { redactor, ..self }
    }

    /// Adds the tokens to the redactor, so that no later text shows them.
    fn redact(&self, stored: &StoredCredentials) {
        for token in tokens_of(stored) {
            self.redactor.add(TOKEN_LABEL, &token);
        }
    }

    /// Returns whether the file exists. Its tokens may be expired or damaged.
    pub fn exists(&self) -> bool {
        self.path.is_file()
    }

    fn read(&self) -> Result<Option<StoredCredentials>, AuthError> {
        match regular_file::read(&self.path, FILE_MAX) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|_| {
                AuthError::CredentialStoreError(
                    "the file with the login tokens is damaged: log out, then log in again".into(),
                )
            }),
            Err(_) if !self.path.exists() => Ok(None),
            Err(error) => Err(store_error(&error)),
        }
    }

    /// Returns the stored access token and refresh token, if present; an empty list if the file is missing or damaged.
    pub fn tokens(&self) -> Vec<String> {
        let stored = self.read().ok().flatten();
        stored.map(|stored| tokens_of(&stored)).unwrap_or_default()
    }

    /// Replaces the file. Other users can read neither the file nor the temporary file from which it is made.
    fn write(&self, credentials: &StoredCredentials) -> std::io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(&serde_json::to_vec(credentials)?)?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }

    /// Takes the lock that a process holds while it refreshes the tokens. Blocks, and fails if the lock is not free
    /// within [`LOCK_TIMEOUT`].
    fn lock(&self) -> Result<Lock, AuthError> {
        let lock = Lock::take_within(&self.path.with_extension("lock"), LOCK_TIMEOUT);
        lock.map_err(|e| store_error(&e))?.ok_or_else(|| {
            AuthError::TokenRefreshFailed(format!(
                "another crewdeck process has not finished refreshing the login tokens after {} s: try again",
                LOCK_TIMEOUT.as_secs()
            ))
        })
    }

    /// Deletes the file, and returns whether there were tokens. First waits until no process refreshes the tokens,
    /// because a process that refreshes them would write the file again. Blocks.
    ///
    /// # Errors
    /// Fails if the refresh does not end, or if the file cannot be deleted.
    pub fn log_out(&self) -> Result<bool, AuthError> {
        if !self.path.exists() {
            return Ok(false);
        }
        let _lock = self.lock()?;
        let was_there = self.path.exists();
        self.delete().map_err(|e| store_error(&e))?;
        Ok(was_there)
    }

    /// Deletes the file if it exists.
    fn delete(&self) -> std::io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn tokens_of(stored: &StoredCredentials) -> Vec<String> {
    let Ok(tokens) = serde_json::to_value(&stored.token_response) else {
        return Vec::new();
    };
    let all = ["access_token", "refresh_token"].into_iter();
    all.filter_map(|field| Some(tokens.get(field)?.as_str()?.to_string()))
        .collect()
}

/// Returns the stored access token and refresh token in `folder` for the server at `url`. Empty if there are none or
/// their file is damaged.
pub fn stored_tokens(folder: &Path, url: &str) -> Vec<String> {
    CredentialFile::new(folder, url).tokens()
}

/// Deletes the tokens in `folder` for the server at `url`. Returns whether there were any. Blocks while another process
/// refreshes them.
///
/// # Errors
/// Returns why the tokens could not be deleted, on one line.
pub fn log_out(folder: &Path, url: &str) -> Result<bool, String> {
    let deleted = CredentialFile::new(folder, url).log_out();
    deleted.map_err(|error| describe(&error))
}

fn store_error(error: &dyn std::fmt::Display) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

impl CredentialStore for CredentialFile {
    fn load<'a, 'async_trait>(&'a self) -> StoreFuture<'async_trait, Option<StoredCredentials>>
    where
        'a: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let stored = self.read()?;
            if let Some(stored) = &stored {
                self.redact(stored);
            }
            Ok(stored)
        })
    }

    fn save<'a, 'async_trait>(
        &'a self,
        credentials: StoredCredentials,
    ) -> StoreFuture<'async_trait, ()>
    where
        'a: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            self.redact(&credentials);
            self.write(&credentials).map_err(|e| store_error(&e))
        })
    }

    fn clear<'a, 'async_trait>(&'a self) -> StoreFuture<'async_trait, ()>
    where
        'a: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move { self.delete().map_err(|e| store_error(&e)) })
    }

    /// Locks the file while the tokens are refreshed. A refresh token is often valid only once, and other processes may
    /// use the same file. Returns a guard or fails, never `None`.
    fn acquire_refresh_guard<'a, 'async_trait>(
        &'a self,
    ) -> StoreFuture<'async_trait, Option<CredentialRefreshGuard>>
    where
        'a: 'async_trait,
        Self: 'async_trait,
    {
        let file = self.clone();
        Box::pin(async move {
            let lock = tokio::task::spawn_blocking(move || file.lock()).await;
            let lock = lock.map_err(|e| store_error(&e))??;
            Ok(Some(CredentialRefreshGuard::new(lock)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tokens_are_readable_only_by_the_user() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/b");
        let file = CredentialFile::new(&folder, "https://example.com/mcp");
        assert!(!file.exists());
        assert!(file.load().await.unwrap().is_none());
        let stored = StoredCredentials::new("client".into(), None, Vec::new(), None);
        file.save(stored).await.unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file.path), mode(&folder)), (0o600, 0o700));
        let loaded = file.load().await.unwrap().unwrap();
        assert_eq!(loaded.client_id, "client");
        let other = CredentialFile::new(&folder, "https://example.com/other");
        assert!(!other.exists());
        drop(file.acquire_refresh_guard().await.unwrap());
        assert!(file.log_out().unwrap() && !file.log_out().unwrap());
        assert!(!file.exists());
        fs::write(&file.path, "{").unwrap();
        assert!(file.load().await.is_err());
        file.clear().await.unwrap();
        file.clear().await.unwrap();
        assert!(!file.exists());
    }
}
