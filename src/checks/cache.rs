//! The cache folder of a check, and its ports: a folder that is kept for later checks, or a temporary one for a check in the
//! project directory. A check never runs without a folder: a path that begins with an empty `CREWDECK_CACHE` would be one in
//! the root of the file system.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::domain::worktree::check_ports;
use crate::process::AddedEnvironment;
use crate::store::{CACHE_VARIABLE, CheckCache, PORT_VARIABLE, Worktrees};

/// The first place of the ports of checks with a temporary folder. Higher than the number of kept folders.
const FIRST_PLACE: u16 = 40;
/// Number of places of the ports of these checks.
const PLACES: u16 = 300;

/// What a check uses until it has ended.
#[derive(Debug)]
pub struct LentCache {
    pub added: AddedEnvironment,
    _kept: Option<CheckCache>,
    _temporary: Option<tempfile::TempDir>,
}

impl LentCache {
    /// Lends a cache folder that is kept to a check in a checkout of `worktrees`. Creates a temporary one, which is deleted
    /// with the result, for a check outside of a checkout: agents can write temporary files, but they can also write what such
    /// a check runs on. `root` is the root of the project. Blocks the thread.
    ///
    /// # Errors
    /// When no folder is free or can be created.
    pub fn lend(root: &Path, worktrees: Option<&Worktrees>) -> io::Result<LentCache> {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        if let Some(worktrees) = worktrees {
            let kept = worktrees.lend_check_cache();
            let kept = kept.ok_or_else(|| io::Error::other("no folder is free"))?;
            // Not if its path is no text.
            if kept.added.variables.contains_key(CACHE_VARIABLE) {
                return Ok(LentCache {
                    added: kept.added.clone(),
                    _kept: Some(kept),
                    _temporary: None,
                });
            }
        }
        let folder = tempfile::Builder::new()
            .prefix("crewdeck-check-")
            .tempdir()?;
        // The environment of commands is text.
        let path = folder.path().to_str().map(String::from);
        let path = path.ok_or_else(|| io::Error::other("its path is no text"))?;
        let place = FIRST_PLACE + NEXT.fetch_add(1, Ordering::Relaxed) % PLACES;
        let mut added = AddedEnvironment::default();
        added.variables.insert(CACHE_VARIABLE.into(), path);
        let port = check_ports(root, place).to_string();
        added.variables.insert(PORT_VARIABLE.into(), port);
        Ok(LentCache {
            added,
            _kept: None,
            _temporary: Some(folder),
        })
    }
}
