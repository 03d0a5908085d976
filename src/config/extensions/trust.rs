//! The approval of a project's servers and hooks. A server or hook that the user has not approved, or that has changed
//! since the approval, is not started.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::config::approvals::{self, ApprovedHook, DecisionChange, Decisions, SettingsDecision};
use crate::domain::hook::HookSpec;
use crate::domain::mcp::{ServerConfig, ServerSource};
use crate::domain::trust::NotApproved;
use crate::store::regular_file;

use super::command_words::CommandWords;
use super::content_digest::{Counted, digest, stamp};
use super::dependencies::{
    Dependencies, content_hash, find_named_paths, is_hook_script, is_project_file,
};
use super::json;
use super::named_files::{self, CommandPlace};
use super::trust_item::{HAS_CHANGED, HookChange, IS_MISSING, ItemKind, TrustItem};

/// A server or hook, and what is needed to check its approval again.
#[derive(Debug)]
struct GuardedItem {
    item: TrustItem,
    files: Dependencies,
    /// The words of the command. In a worktree, they are used to find the files that the command names.
    command: CommandWords,
    /// What the user has approved. `None` if the user has approved nothing or has ignored the current content; the
    /// server or hook then must not run.
    approved: Option<ApprovedContent>,
    /// Whether the decisions file lacks the declaration of this approved hook, or contains it with another digest.
    /// [`ExtensionTrust::remember_approved`] then stores the declaration.
    must_remember: bool,
    /// The [`stamp`] of the files when they last had the approved content. While the stamp is the same, their content
    /// is not read again. `None` if the next check must read the content.
    unchanged: Mutex<Option<u64>>,
}

/// The content that the user has approved.
#[derive(Debug)]
struct ApprovedContent {
    digest: Result<String, String>,
    /// The digest without the files that agents change in normal work (see [`is_project_file`]). An error says why it
    /// could not be computed.
    guards: Result<String, String>,
    /// The position of the server or hook in the declaring file at the time of the approval, counted from 0.
    index: usize,
}

impl From<&ApprovedHook> for ApprovedContent {
    fn from(hook: &ApprovedHook) -> ApprovedContent {
        ApprovedContent {
            digest: Ok(hook.digest.clone()),
            guards: Ok(hook.guards.clone()),
            index: hook.index,
        }
    }
}

/// A server or hook that is to be added to [`ExtensionTrust`]; its digest is not computed yet. Fields without a comment
/// have the same meaning as in [`TrustItem`].
pub struct NewItem {
    pub kind: ItemKind,
    pub name: String,
    pub file: String,
    pub index: usize,
    pub runs: String,
    pub effect: &'static str,
    /// Whether the server is declared in the user's own settings. It then needs approval only if it would run files of
    /// the project.
    pub is_own: bool,
    pub command: CommandWords,
    /// The directory in which the server or hook starts.
    pub dir: PathBuf,
    /// The content of a file that declares only this hook; `None` for a server, and for a hook that can prevent nothing.
    pub declaration: Option<String>,
}

/// The servers and hooks that may need approval, and the user's decisions about them.
#[derive(Debug, Default)]
pub struct ExtensionTrust {
    pub(super) root: PathBuf,
    items: Vec<GuardedItem>,
}

impl ExtensionTrust {
    pub fn new(root: &Path) -> ExtensionTrust {
        ExtensionTrust {
            root: root.to_owned(),
            items: Vec::new(),
        }
    }

    /// Returns the servers and hooks of the project, and the user's own servers that would run files of the project.
    pub fn items(&self) -> impl Iterator<Item = &TrustItem> {
        let items = self.items.iter().map(|guarded| &guarded.item);
        items.filter(|item| !item.is_own || !item.own_uses.is_empty())
    }

    /// Returns the existing files that agents must not change because the user has approved them: files that declare
    /// approved servers and hooks, and the scripts of approved hooks.
    ///
    /// Leaves out other files that a command names, such as `package.json`, because agents often need to change them.
    /// After a change of such a file, the user is asked again.
    pub fn approved_files(&self) -> Vec<PathBuf> {
        let real = self.root.canonicalize();
        let real = real.unwrap_or_else(|_| self.root.clone());
        let mut out = Vec::new();
        let approved = self
            .items
            .iter()
            .filter(|guarded| !guarded.item.is_own && guarded.approved.is_some());
        for GuardedItem { item, files, .. } in approved {
            out.push(self.root.join(&item.file));
            if item.kind == ItemKind::Hook {
                let named = files.named.iter().flat_map(|named| &named.files);
                out.extend(named.filter(|path| is_hook_script(&real, path)).cloned());
            }
        }
        out.retain(|path| path.is_file());
        out.sort();
        out.dedup();
        out
    }

    /// Adds a server or hook, and returns the user's decision about exactly its content; `None` if there is none. `bytes`
    /// is the content of the declaring file from which the server or hook was parsed; not used for the user's own servers.
    ///
    /// # Errors
    /// Returns a sentence that says why the server or hook cannot be approved. Also in this case, the server or hook is
    /// added.
    pub fn add(
        &mut self,
        new: NewItem,
        bytes: &[u8],
        decisions: &Decisions,
    ) -> Result<Option<SettingsDecision>, String> {
        let named = find_named_paths(&self.root, &new.dir, &new.command);
        let own = new.is_own.then(|| new.runs.clone().into_bytes());
        let files = Dependencies { named, own };
        let stamp = stamp(&self.root, &new.file, &files);
        let declared = (new.kind, new.file.as_str(), new.index);
        let guards = digest(&self.root, declared, bytes, &files, Counted::Guards);
        let is_too_long = new
            .declaration
            .as_ref()
            .is_some_and(|declaration| declaration.len() > approvals::DECLARATION_MAX);
        let digest = if is_too_long {
            // Once missing in its file, the hook could not be distinguished from one that the user has never approved.
            Err(format!(
                "is declared with more than {} KiB: put its command into a script",
                approvals::DECLARATION_MAX / 1024
            ))
        } else {
            digest(&self.root, declared, bytes, &files, Counted::All)
        };
        let own_uses = if new.is_own {
            files.format_files(&self.root)
        } else {
            String::new()
        };
        let decision = digest.as_ref().ok().and_then(|d| decisions.about(d));
        let hook = new.declaration.map(|declaration| ApprovedHook {
            file: new.file.clone(),
            index: new.index,
            declaration,
            digest: digest.clone().unwrap_or_default(),
            guards: guards.clone().unwrap_or_default(),
        });
        let identity = hook.as_ref().map(|hook| hook.identity_in(&self.root));
        let stored = identity.and_then(|identity| decisions.hook(&identity));
        let is_stored = hook
            .as_ref()
            .is_none_or(|hook| stored.is_some_and(|stored| stored.digest == hook.digest));
        let earlier = stored.filter(|_| decision.is_none());
        let approved = match decision {
            Some(SettingsDecision::Approved) => Some(ApprovedContent {
                digest: digest.clone(),
                guards,
                index: new.index,
            }),
            Some(SettingsDecision::Ignored) => None,
            None => earlier.map(ApprovedContent::from),
        };
        let item = TrustItem {
            kind: new.kind,
            name: new.name,
            file: new.file,
            index: new.index,
            runs: match own_uses.as_str() {
                "" => new.runs,
                names => format!("{}, which would use {names} of this project", new.runs),
            },
            own_uses,
            is_own: new.is_own,
            effect: if earlier.is_some() {
                HAS_CHANGED
            } else {
                new.effect
            },
            digest,
            decision,
            hook,
            change: earlier.map(|_| HookChange::Changed),
        };
        let unchanged = Mutex::new(stamp.filter(|_| decision.is_some()));
        let found = item.digest.as_ref().map(|_| decision);
        let found = found.map_err(|why| format!("{} cannot be approved: it {why}", item.title()));
        self.items.push(GuardedItem {
            item,
            files,
            command: new.command,
            approved,
            must_remember: decision == Some(SettingsDecision::Approved) && !is_stored,
            unchanged,
        });
        found
    }

    /// Returns whether the user has approved a hook, with its current content or with an earlier one.
    pub fn is_approved(&self, hook: &HookSpec) -> bool {
        self.find_hook(hook)
            .is_some_and(|guarded| guarded.approved.is_some())
    }

    fn find_hook(&self, hook: &HookSpec) -> Option<&GuardedItem> {
        self.items.iter().find(|GuardedItem { item, .. }| {
            item.kind == ItemKind::Hook
                && item.file == hook.source.file
                && item.index == hook.source.index
        })
    }

    /// Stores the declarations of the approved hooks for which the decisions file has no declaration or one with
    /// another digest. Such a hook was approved in an earlier version of crewdeck, or has changed back to an earlier
    /// approved content. Does nothing if there are none. Returns a notice if the file with earlier decisions was
    /// unusable.
    ///
    /// # Errors
    /// Fails if the decisions file cannot be written.
    pub fn remember_approved(&self) -> anyhow::Result<Option<String>> {
        let new = self.items.iter().filter(|guarded| guarded.must_remember);
        let new = new.filter_map(|guarded| guarded.item.hook.as_ref());
        let changes: Vec<DecisionChange> = new
            .map(|hook| DecisionChange {
                digest: hook.identity_in(&self.root),
                decision: Some(SettingsDecision::Approved),
                hook: Some(hook.clone()),
            })
            .collect();
        if changes.is_empty() {
            return Ok(None);
        }
        approvals::record(&self.root, changes)
    }

    /// Adds an approved hook that its file does not declare any more. `new` describes the hook as it was declared, and
    /// `identity` is its `ApprovedHook::identity`. The index of `new` must differ from those of the declared hooks.
    pub fn add_missing(&mut self, new: NewItem, identity: String, hook: ApprovedHook) {
        let named = find_named_paths(&self.root, &new.dir, &new.command);
        self.items.push(GuardedItem {
            files: Dependencies { named, own: None },
            command: new.command,
            approved: Some(ApprovedContent::from(&hook)),
            must_remember: false,
            unchanged: Mutex::default(),
            item: TrustItem {
                kind: new.kind,
                name: new.name,
                file: new.file,
                index: new.index,
                runs: new.runs,
                effect: IS_MISSING,
                is_own: false,
                own_uses: String::new(),
                digest: Ok(identity),
                decision: None,
                hook: Some(hook),
                change: Some(HookChange::Missing),
            },
        });
    }

    /// Checks that the user has approved the current content of a server or hook. Finds the server or hook by `kind`,
    /// by `file` (with `None`, in any file), and by `index` (with `None`, by `name`). The user's own servers need
    /// approval only if they would use files of the project.
    ///
    /// # Errors
    /// Returns why the server or hook must not be started, and how to approve it.
    fn check(
        &self,
        kind: ItemKind,
        file: Option<&str>,
        name: &str,
        index: Option<usize>,
    ) -> Result<(), NotApproved> {
        let found = self.items.iter().find(|GuardedItem { item, .. }| {
            item.kind == kind
                && file.is_none_or(|file| item.file == file)
                && index.map_or(item.name == name, |index| item.index == index)
        });
        let Some(GuardedItem {
            item,
            files,
            approved,
            unchanged,
            ..
        }) = found
        else {
            return Err(NotApproved {
                why: format!(
                    "{name} was not declared when crewdeck read the files of this project, so it does not run: restart crewdeck"
                ),
                has_changed: false,
            });
        };
        let found = files.own.as_ref().map(|_| files.format_files(&self.root));
        if found.as_ref().is_some_and(String::is_empty) {
            return Ok(());
        }
        if let Some(names) = found.filter(|_| item.decision != Some(SettingsDecision::Approved)) {
            return Err(NotApproved {
                why: format!(
                    "{} does not run: it would use {names} of this project, which you have not approved. {}",
                    item.title(),
                    item.remedy()
                ),
                has_changed: false,
            });
        }
        let Some(approved) = approved else {
            return Err(NotApproved {
                why: format!(
                    "{} is not approved and does not run. {}",
                    item.title(),
                    item.remedy()
                ),
                has_changed: false,
            });
        };
        let stamp = stamp(&self.root, &item.file, files);
        let mut unchanged = unchanged.lock().unwrap_or_else(PoisonError::into_inner);
        if stamp.is_some() && stamp == *unchanged {
            return Ok(());
        }
        let bytes =
            regular_file::read(&self.root.join(&item.file), json::FILE_MAX).unwrap_or_default();
        let declared = (item.kind, item.file.as_str(), approved.index);
        let now = digest(&self.root, declared, &bytes, files, Counted::All);
        if now == approved.digest {
            *unchanged = stamp;
            return Ok(());
        }
        *unchanged = None;
        let what = match item.change {
            Some(HookChange::Missing) => "was approved, but its file does not declare it any more",
            _ => "or a file that it runs has changed since its approval",
        };
        Err(NotApproved {
            why: format!(
                "{} {what}, so it does not run. {}",
                item.title(),
                item.remedy()
            ),
            has_changed: digest(&self.root, declared, &bytes, files, Counted::Guards)
                != approved.guards,
        })
    }
}

impl ExtensionTrust {
    /// Checks that the files that a hook's command names have the same content in the worktree `dir` as in the project
    /// directory. A file that is missing in the worktree is not compared. Returns `Ok` if `dir` is the project directory.
    ///
    /// # Errors
    /// Returns the first file that differs, or why the files cannot be determined.
    fn check_copy(&self, hook: &HookSpec, dir: &Path) -> Result<(), NotApproved> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (root, dir) = (real(&self.root), real(dir));
        if root == dir {
            return Ok(());
        }
        let Some(GuardedItem { command, .. }) = self.find_hook(hook) else {
            return Ok(());
        };
        let refused = |why: String, has_changed| NotApproved {
            why: format!("Hook {} of {} {why}", hook.label(), hook.source.file),
            has_changed,
        };
        let hash = |path: &Path| {
            let meta = fs::metadata(path).ok().filter(Metadata::is_file)?;
            Some(content_hash(path, &meta))
        };
        let place = CommandPlace {
            root: &root,
            dir: &dir,
            within: &dir,
            is_folder: Path::is_dir,
        };
        let named = named_files::paths(&place, command).map_err(|why| refused(why, true))?;
        for path in named.files {
            let Ok(below) = path.strip_prefix(&dir) else {
                continue;
            };
            // A file that is missing in the worktree cannot run. Two files that cannot be hashed count as equal if the
            // reason is the same.
            let copy = hash(&path);
            if copy.is_some() && copy != hash(&root.join(below)) {
                let name = json::format_line(&below.to_string_lossy());
                let why = format!(
                    "does not run in {}, where {name} differs from the approved file: commit the approved file, or begin its path in the hook with $CLAUDE_PROJECT_DIR",
                    json::format_line(&dir.to_string_lossy())
                );
                return Err(refused(why, !is_project_file(&dir, &path)));
            }
        }
        Ok(())
    }
}

impl ExtensionTrust {
    /// Checks whether the user has approved a server with the current content of its files. `server` must be one of the
    /// servers that were read together with this list.
    ///
    /// # Errors
    /// Returns why the server must not be started.
    pub fn check_server(&self, server: &ServerConfig) -> Result<(), NotApproved> {
        let is_known = self.items.iter().any(|GuardedItem { item, .. }| {
            item.kind == ItemKind::Server && item.name == server.name
        });
        match server.source {
            // A user's server that is not in the list is reached by HTTP, so it runs no files of the project.
            ServerSource::User if !is_known => Ok(()),
            _ => self.check(ItemKind::Server, None, &server.name, None),
        }
    }

    /// Checks whether the user has approved a hook with the current content of its files, and, if `dir` is a worktree,
    /// whether the copies of the files there have the same content. `hook` must be one of the hooks that were read
    /// together with this list.
    ///
    /// # Errors
    /// Returns why the hook must not run.
    pub fn check_hook(&self, hook: &HookSpec, dir: &Path) -> Result<(), NotApproved> {
        if !hook.source.is_project {
            return Ok(());
        }
        // The approval is checked first, because a hook without approval has no approved files with which to compare.
        self.check(
            ItemKind::Hook,
            Some(&hook.source.file),
            &hook.label(),
            Some(hook.source.index),
        )?;
        self.check_copy(hook, dir)
    }
}
