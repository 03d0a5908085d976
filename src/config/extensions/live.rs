//! The servers and hooks of a running crew. They are read again after each decision of the user, so that an approval in a
//! shell takes effect without a restart.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::Extensions;
use crate::config::approvals::{self, Decisions};
use crate::domain::hook::HookSpec;
use crate::domain::mcp::ServerConfig;
use crate::domain::trust::{ApprovalCheck, NotApproved};
use crate::store::FileFingerprint;

/// Called with the servers and hooks each time that they were read again.
type Listener = Box<dyn Fn(&Extensions) + Send + Sync>;

/// The servers and hooks of a project, as they were read at the start or after the user's last decision.
///
/// Only a change of the file with the user's decisions leads to a new reading, because agents cannot write that file: an
/// agent that edits a file with servers or hooks changes nothing before the user has decided.
pub struct LiveExtensions {
    /// The project directory; `None` if nothing is read again.
    root: Option<PathBuf>,
    current: RwLock<Arc<LoadedExtensions>>,
    /// Held while the files are read, so that they are read once after a decision.
    read_turn: Mutex<()>,
    listener: Mutex<Option<Listener>>,
}

/// What one reading of the files has found.
#[derive(Debug)]
struct LoadedExtensions {
    /// The number of readings before this one.
    version: u64,
    /// The fingerprint of the file with the user's decisions, from before the reading.
    decisions: Option<FileFingerprint>,
    extensions: Arc<Extensions>,
}

impl LoadedExtensions {
    fn first(root: &Path) -> LoadedExtensions {
        LoadedExtensions {
            version: 0,
            // Determined first: a decision during the reading then leads to another reading.
            decisions: approvals::fingerprint(),
            extensions: Arc::new(Extensions::load(root)),
        }
    }

    /// Reads again. Returns `None` if the file with the user's decisions cannot be used, because a hook that the user has
    /// approved would then block nothing.
    fn next(&self, root: &Path) -> Option<LoadedExtensions> {
        let fingerprint = approvals::fingerprint();
        let decisions = Decisions::try_load()?;
        Some(LoadedExtensions {
            version: self.version + 1,
            decisions: fingerprint,
            extensions: Arc::new(Extensions::load_with(root, || decisions)),
        })
    }

    fn is_outdated(&self) -> bool {
        self.decisions != approvals::fingerprint()
    }
}

impl fmt::Debug for LiveExtensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveExtensions")
            .field("root", &self.root)
            .field("current", &self.current)
            .finish_non_exhaustive()
    }
}

impl LiveExtensions {
    /// Reads the servers and hooks of the project `root` and of the user.
    pub fn load(root: &Path) -> LiveExtensions {
        LiveExtensions::new(Some(root.to_owned()), LoadedExtensions::first(root))
    }

    /// Returns a list without servers and hooks, which never changes.
    pub fn none() -> LiveExtensions {
        let reading = LoadedExtensions {
            version: 0,
            decisions: None,
            extensions: Arc::default(),
        };
        LiveExtensions::new(None, reading)
    }

    fn new(root: Option<PathBuf>, reading: LoadedExtensions) -> LiveExtensions {
        LiveExtensions {
            root,
            current: RwLock::new(Arc::new(reading)),
            read_turn: Mutex::default(),
            listener: Mutex::default(),
        }
    }

    /// Calls `listener` after each further reading, before the new servers and hooks are used. Replaces an earlier
    /// listener, which belongs to a crew whose start has failed.
    pub fn on_change(&self, listener: impl Fn(&Extensions) + Send + Sync + 'static) {
        *self.listener() = Some(Box::new(listener));
    }

    fn listener(&self) -> MutexGuard<'_, Option<Listener>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the servers and hooks of the last reading, without looking for new decisions.
    pub fn last(&self) -> Arc<Extensions> {
        Arc::clone(&self.reading().extensions)
    }

    fn reading(&self) -> Arc<LoadedExtensions> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// Returns the current servers and hooks. Reads the files first if the user has decided something since the last
    /// reading. While the decisions cannot be read, the last reading counts. Blocks.
    fn refresh(&self) -> Arc<LoadedExtensions> {
        let _one_at_a_time = self
            .read_turn
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let last = self.reading();
        let Some(root) = self.root.as_ref().filter(|_| last.is_outdated()) else {
            return last;
        };
        let Some(new) = last.next(root).map(Arc::new) else {
            return last;
        };
        if let Some(listener) = self.listener().as_ref() {
            listener(&new.extensions);
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::clone(&new);
        new
    }
}

impl ApprovalCheck for LiveExtensions {
    fn check_server(&self, server: &ServerConfig) -> Result<ServerConfig, NotApproved> {
        let reading = self.refresh();
        let name = &server.name;
        // The agents that may use a server were determined by its role when the crew started.
        let is_same = |s: &&ServerConfig| {
            s.name == *name && s.role == server.role && s.source == server.source
        };
        let known = reading.extensions.servers.iter().find(is_same);
        let Some(known) = known else {
            return Err(NotApproved {
                why: format!(
                    "Server {name} is not declared any more in the file in which it was when crewdeck started, so it does not run: restart crewdeck"
                ),
                has_changed: true,
            });
        };
        reading.extensions.trust.check_server(known)?;
        Ok(known.clone())
    }

    fn check_hook(&self, hook: &HookSpec, dir: &Path) -> Result<(), NotApproved> {
        // Without a new reading, because `hook` comes from the last one.
        let reading = self.reading();
        if !reading.extensions.hooks.contains(hook) {
            return Err(NotApproved {
                why: format!(
                    "Hook {} of {} has just been read again after a decision of yours, so it did not run: repeat the action",
                    hook.label(),
                    hook.source.file
                ),
                has_changed: true,
            });
        }
        reading.extensions.trust.check_hook(hook, dir)
    }

    fn decisions_hash(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        let decisions = self.root.as_ref().and_then(|_| approvals::fingerprint());
        decisions.hash(&mut hash);
        hash.finish()
    }

    fn is_outdated(&self, version: u64) -> bool {
        let last = self.reading();
        last.version != version || (self.root.is_some() && last.is_outdated())
    }

    fn current_hooks(&self) -> Option<(u64, Vec<HookSpec>)> {
        let reading = self.refresh();
        Some((reading.version, reading.extensions.active_hooks()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::config::extensions::{Variable, parse_servers};
    use crate::domain::mcp::ServerSource;

    /// Returns extensions that never change, with one server.
    fn live(file: &[u8], source: ServerSource) -> LiveExtensions {
        let parsed = parse_servers(file, source, &|_| Variable::Unset);
        let servers = parsed.servers.into_iter().map(|server| server.config);
        let reading = LoadedExtensions {
            version: 0,
            decisions: None,
            extensions: Arc::new(Extensions {
                servers: servers.collect(),
                ..Extensions::default()
            }),
        };
        LiveExtensions::new(None, reading)
    }

    #[test]
    fn server_of_another_file_does_not_run_under_the_same_name() {
        let file =
            br#"{"mcpServers": {"web": {"type": "http", "url": "https://example.com/mcp"}}}"#;
        let live = live(file, ServerSource::User);
        let own = live.last().servers[0].clone();
        assert_eq!(live.check_server(&own), Ok(own.clone()));
        let others = [
            ServerConfig {
                source: ServerSource::Project,
                ..own.clone()
            },
            ServerConfig {
                role: Some("reviewer".into()),
                ..own.clone()
            },
        ];
        for other in others {
            let refused = live.check_server(&other).unwrap_err();
            assert!(refused.why.contains("restart crewdeck"), "{refused}");
        }
    }

    #[test]
    fn listener_of_a_later_start_replaces_the_earlier_one() {
        let live = LiveExtensions::none();
        let calls = [Arc::new(AtomicUsize::new(0)), Arc::default()];
        for count in calls.clone() {
            live.on_change(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
        if let Some(listener) = live.listener().as_ref() {
            listener(&Extensions::default());
        }
        assert_eq!(calls.map(|count| count.load(Ordering::Relaxed)), [0, 1]);
    }
}
