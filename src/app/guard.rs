//! The guard of the agents' programs: its verb, and what it is told of this root and these settings.

use std::path::{Path, PathBuf};

use crate::config::{Confining, Settings};
use crate::process::confine::{self, Confinement, GitDirs, SandboxReport};
use crate::process::guard::Guard;
pub use crate::process::guard::{VERB, main};
use crate::protocol::Publisher;
use crate::protocol::event::{EventKind, Level};
use crate::store;

/// The guard for the programs of a crew; `None`: there is none on this operating system.
pub fn hired(root: &Path, settings: &Settings) -> Option<Guard> {
    let program = Guard::program()?.to_path_buf();
    let confinement = match settings.confine.unwrap_or_default() {
        Confining::Off => None,
        Confining::On => {
            let git = store::git_dirs(root).map(|(own, common)| GitDirs { own, common });
            let home = etcetera::home_dir().ok();
            let named = settings.write.as_deref().unwrap_or_default();
            let write = confine::own_folders(home.as_deref(), named);
            Some(Confinement::new(root, git, &temporary(), &write))
        }
    };
    Some(Guard {
        program,
        confinement,
    })
}

/// What programs can be held with on this machine.
pub fn sandbox() -> SandboxReport {
    confine::probe(Guard::program())
}

/// Publishes one notice when programs of agents are not held as they should be. It is found out beside the
/// start, which it must not hold up.
pub fn tell_what_is_missing(settings: &Settings, publisher: Publisher) {
    if settings.confine == Some(Confining::Off) {
        return;
    }
    tokio::spawn(async move {
        let report = tokio::task::spawn_blocking(sandbox).await;
        if let Some(text) = report.ok().and_then(|r| r.missing()) {
            let notice = EventKind::notice(Level::Warn, text);
            publisher.publish(notice).await;
        }
    });
}

/// Folders for temporary files.
fn temporary() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = vec!["/tmp".into(), "/var/tmp".into()];
    let own = std::env::temp_dir();
    if !all.contains(&own) {
        all.push(own);
    }
    all
}
