//! What a crew shares with other processes, and this process as a host of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::host::{HostInfo, HostKind};
use crate::domain::team::Member;
use crate::store::{BranchExchange, HostSession, HostStore, Stores};

/// The project directory, and the state that a crew shares with other processes.
pub struct SharedParts {
    /// The project directory. Its state folders must exist.
    pub root: PathBuf,
    /// The tasks, messages, requests and team.
    pub stores: Stores,
    /// This process as a host of the crew; `None` if the crew is on this machine only.
    pub host: Option<HostParts>,
}

impl SharedParts {
    /// Returns the parts of a crew on this machine, whose state is in the files of the project in `root`.
    pub fn files(root: &Path) -> SharedParts {
        SharedParts {
            root: root.to_path_buf(),
            stores: Stores::open(root),
            host: None,
        }
    }
}

/// A process that is a host of a crew on a hub.
#[derive(Clone)]
pub struct HostParts {
    pub info: HostInfo,
    pub session: Arc<dyn HostSession>,
    pub store: Arc<dyn HostStore>,
    /// Exchanges the branches of tasks with the other hosts; `None` without a git remote.
    pub exchange: Option<BranchExchange>,
}

impl HostParts {
    pub fn is_worker(&self) -> bool {
        self.info.kind == HostKind::Worker
    }

    /// Returns the content of [`Member::host`](crate::domain::team::Member::host) for the members that this process runs.
    pub fn member_host(&self) -> &str {
        match self.info.kind {
            HostKind::Lead => "",
            HostKind::Worker => self.info.name.as_str(),
        }
    }

    /// Returns whether this process runs `member`.
    pub fn runs(&self, member: &Member) -> bool {
        member.host.eq_ignore_ascii_case(self.member_host())
    }
}
