//! The approval of a project's servers and hooks. A server or hook that the user has not approved, or that has changed
//! since the approval, is not started.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, Metadata};
use std::hash::{Hash, Hasher};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use ring::digest::{Context, SHA256};

use crate::config::approvals::{self, Decisions, SettingsDecision};
use crate::domain::hook::HookSpec;
use crate::domain::mcp::{ServerConfig, ServerSource};
use crate::domain::trust::{ApprovalCheck, NotApproved};
use crate::store::{FileFingerprint, regular_file};

use super::json;
use super::named_files::{self, CommandPlace, CommandWords, NamedPaths};

/// Maximum size of a file that a command names, in bytes. A command that names a larger one cannot be approved.
const NAMED_MAX: u64 = 256 * 1024 * 1024;
/// Maximum number of entries of a folder of libraries. A command that names a larger one cannot be approved.
const LIBRARY_MAX: usize = 1024;
/// Endings of the files that count in a folder of libraries of the user's own servers: `python -m` loads modules from the
/// work directory, so that folder can be the project directory.
const MODULE_ENDS: &[&str] = &["py", "pyc", "so"];
/// The file that a package runner reads. For the user's own servers it counts only if it declares programs.
const PACKAGE_FILE: &str = "package.json";
/// Folders of agent configuration.
const CONFIGURATION: &[&str] = &[".claude", ".crewdeck"];
/// Folders of installed or built files, which agents replace when they install or build.
const GENERATED: &[&str] = &[
    "node_modules",
    "venv",
    ".venv",
    "vendor",
    "target",
    "build",
    "dist",
];
/// Maximum number of files that a message names.
const SHOWN_FILES_MAX: usize = 3;
/// The first field of each digest. It must be changed whenever the other fields or their order change.
const VERSION: &str = "crewdeck extension 2";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemKind {
    Server,
    Hook,
}

/// A server or hook of a project, which runs only after approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustItem {
    pub kind: ItemKind,
    /// The name of the server, or the event and the matcher of the hook.
    pub name: String,
    /// The file that declares it, relative to the project directory.
    pub file: String,
    /// The position in the file: of a server among the valid ones, of a hook among all.
    pub index: usize,
    /// The command or URL with its environment variables and headers, on one line and without control characters.
    pub runs: String,
    /// Tells the user what it can do once it is approved.
    pub effect: &'static str,
    /// Whether the user declares it, and not the project.
    pub is_own: bool,
    /// The first of the project's files that it would run, if it is the user's own; empty if there are none.
    pub runs_files: String,
    /// The hash of the project directory, the content of the declaring file, the item's position and the content of the
    /// files that its command names. `Err`: why it cannot be approved.
    pub digest: Result<String, String>,
    /// The user's decision about exactly this content, if there is one.
    pub decision: Option<SettingsDecision>,
}

/// An item, and what is needed to check it again.
#[derive(Debug)]
struct GuardedItem {
    item: TrustItem,
    files: Dependencies,
    /// From this, the files in a worktree are found.
    command: CommandWords,
    /// The hash of the files' metadata when their content had the digest of `item`; `None` if the content must be read
    /// again.
    unchanged: Mutex<Option<u64>>,
}

/// What a server or hook depends on, besides the project directory.
#[derive(Debug, Clone, Default)]
struct Dependencies {
    named: NamedPaths,
    /// What is approved in place of the declaring file; `Some` for a server that the user declares.
    own: Option<Vec<u8>>,
}

/// An item before its digest is computed. The fields are those of [`TrustItem`].
pub struct NewItem {
    pub kind: ItemKind,
    pub name: String,
    pub file: String,
    pub index: usize,
    pub runs: String,
    pub effect: &'static str,
    /// Whether the user declares it. It needs approval only if it would run files of the project.
    pub is_own: bool,
    pub command: CommandWords,
    /// The directory in which it starts.
    pub dir: PathBuf,
}

/// The servers and hooks of a project, and what the user has decided about them.
#[derive(Debug, Default)]
pub struct ExtensionTrust {
    root: PathBuf,
    items: Vec<GuardedItem>,
}

impl ExtensionTrust {
    pub fn new(root: &Path) -> ExtensionTrust {
        ExtensionTrust {
            root: root.to_owned(),
            items: Vec::new(),
        }
    }

    /// Returns the servers and hooks of the project, and the user's own servers that would run files of it.
    pub fn items(&self) -> impl Iterator<Item = &TrustItem> {
        let items = self.items.iter().map(|guarded| &guarded.item);
        items.filter(|item| !item.is_own || !item.runs_files.is_empty())
    }

    /// Returns the existing files that agents must not change because the user has approved them: those that declare
    /// approved servers and hooks, and the scripts of approved hooks. Other named files, such as `package.json`, are
    /// often part of an agent's work; after a change of them, the user is asked again.
    pub fn approved_files(&self) -> Vec<PathBuf> {
        let mut out = Vec::new();
        let approved = self.items.iter().filter(|GuardedItem { item, .. }| {
            !item.is_own && item.decision == Some(SettingsDecision::Approved)
        });
        for GuardedItem { item, files, .. } in approved {
            out.push(self.root.join(&item.file));
            if item.kind == ItemKind::Hook {
                let named = files.named.files.iter();
                out.extend(named.filter(|path| is_hook_script(path)).cloned());
            }
        }
        out.retain(|path| path.is_file());
        out.sort();
        out.dedup();
        out
    }

    /// Adds an item and returns the user's decision about its content, if there is one. `bytes` is the content of the
    /// declaring file from which the item was parsed.
    ///
    /// # Errors
    /// Returns why the item cannot be approved, as a sentence that names it. The item is added nevertheless.
    pub fn add(
        &mut self,
        new: NewItem,
        bytes: &[u8],
        decisions: &Decisions,
    ) -> Result<Option<SettingsDecision>, String> {
        let (named, refused) = match named(&self.root, &new.dir, &new.command) {
            Ok(named) => (named, None),
            Err(why) => (NamedPaths::default(), Some(why)),
        };
        let own = new.is_own.then(|| new.runs.clone().into_bytes());
        let files = Dependencies { named, own };
        let stamp = stamp(&self.root, &new.file, &files);
        let digest = match refused {
            Some(why) => Err(why),
            None => digest(&self.root, new.kind, &new.file, new.index, bytes, &files),
        };
        let runs_files = if new.is_own {
            files.shown(&self.root)
        } else {
            String::new()
        };
        let decision = digest.as_ref().ok().and_then(|d| decisions.about(d));
        let item = TrustItem {
            kind: new.kind,
            name: new.name,
            file: new.file,
            index: new.index,
            runs: match runs_files.as_str() {
                "" => new.runs,
                names => format!("{}, which runs {names}", new.runs),
            },
            runs_files,
            is_own: new.is_own,
            effect: new.effect,
            digest,
            decision,
        };
        let unchanged = Mutex::new(stamp);
        let found = item.digest.as_ref().map(|_| decision);
        let found =
            found.map_err(|why| format!("{} {why}, so it cannot be approved", item.title()));
        self.items.push(GuardedItem {
            item,
            files,
            command: new.command,
            unchanged,
        });
        found
    }

    /// Checks that the user has approved the current content of an item. It is found by `kind`, by `file` if given, and
    /// by `index` if given, else by `name`.
    ///
    /// # Errors
    /// Returns why the item must not be started, and how to approve it.
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
        let found = files.own.as_ref().map(|_| files.shown(&self.root));
        if found.as_ref().is_some_and(String::is_empty) {
            return Ok(());
        }
        if let Some(names) = found.filter(|_| item.decision != Some(SettingsDecision::Approved)) {
            return Err(NotApproved {
                why: format!(
                    "{} is your own, but in this project it would run {names}, which you have not approved, so it does not run. {}, then restart crewdeck if it is running",
                    item.title(),
                    item.remedy()
                ),
                has_changed: false,
            });
        }
        if item.decision != Some(SettingsDecision::Approved) {
            return Err(NotApproved {
                why: format!(
                    "{} is not approved and does not run. {}, then restart crewdeck if it is running",
                    item.title(),
                    item.remedy()
                ),
                has_changed: false,
            });
        }
        let stamp = stamp(&self.root, &item.file, files);
        let mut unchanged = unchanged.lock().unwrap_or_else(PoisonError::into_inner);
        if stamp.is_some() && stamp == *unchanged {
            return Ok(());
        }
        let bytes =
            regular_file::read(&self.root.join(&item.file), json::FILE_MAX).unwrap_or_default();
        let now = digest(&self.root, item.kind, &item.file, item.index, &bytes, files);
        if now == item.digest {
            *unchanged = stamp;
            return Ok(());
        }
        *unchanged = None;
        Err(NotApproved {
            why: format!(
                "{} or a file that it runs has changed since you approved it, so it does not run. {}, then restart crewdeck",
                item.title(),
                item.remedy()
            ),
            has_changed: true,
        })
    }
}

impl ExtensionTrust {
    /// Checks that the files in the worktree `dir` that a hook's command names have the same content as those in the
    /// project directory. Does nothing if `dir` is the project directory.
    fn check_copy(&self, hook: &HookSpec, dir: &Path) -> Result<(), NotApproved> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (root, dir) = (real(&self.root), real(dir));
        if root == dir {
            return Ok(());
        }
        let found = self.items.iter().find(|GuardedItem { item, .. }| {
            item.kind == ItemKind::Hook
                && item.file == hook.source.file
                && item.index == hook.source.index
        });
        let Some(GuardedItem { command, .. }) = found else {
            return Ok(());
        };
        let refused = |why: String| NotApproved {
            why: format!("Hook {} of {} {why}", hook.label(), hook.source.file),
            has_changed: true,
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
        let named = named_files::paths(&place, command).map_err(refused)?;
        for path in named.files {
            let Ok(below) = path.strip_prefix(&dir) else {
                continue;
            };
            // A file that the worktree does not have cannot run. Two files that cannot be hashed are equal if the error
            // is.
            let copy = hash(&path);
            if copy.is_some() && copy != hash(&root.join(below)) {
                let name = json::shown(&below.to_string_lossy());
                return Err(refused(format!(
                    "does not run in {}, where {name} differs from the one that you approved",
                    json::shown(&dir.to_string_lossy())
                )));
            }
        }
        Ok(())
    }
}

impl TrustItem {
    /// Returns kind, name and file, such as `Server git of .mcp.json`.
    pub fn title(&self) -> String {
        match self.kind {
            ItemKind::Server => format!("Server {} of {}", self.name, self.file),
            ItemKind::Hook => format!("Hook {} of {}", self.name, self.file),
        }
    }

    /// Returns whether the item can be approved and the user has not decided about it.
    pub fn is_waiting(&self) -> bool {
        self.decision.is_none() && self.digest.is_ok()
    }

    /// Returns a sentence with the command that approves the item.
    fn remedy(&self) -> String {
        match self.kind {
            ItemKind::Server => format!(
                "To review and approve it: crewdeck mcp approve {}",
                self.name
            ),
            ItemKind::Hook => "To review and approve it: crewdeck trust".into(),
        }
    }
}

impl ApprovalCheck for ExtensionTrust {
    fn check_server(&self, server: &ServerConfig) -> Result<(), NotApproved> {
        let is_known = self.items.iter().any(|GuardedItem { item, .. }| {
            item.kind == ItemKind::Server && item.name == server.name
        });
        match server.source {
            // Reached by HTTP.
            ServerSource::User if !is_known => Ok(()),
            _ => self.check(ItemKind::Server, None, &server.name, None),
        }
    }

    fn check_hook(&self, hook: &HookSpec, dir: &Path) -> Result<(), NotApproved> {
        if !hook.source.is_project {
            return Ok(());
        }
        // First, because a hook that was never approved has no approved copy.
        self.check(
            ItemKind::Hook,
            Some(&hook.source.file),
            &hook.label(),
            Some(hook.source.index),
        )?;
        self.check_copy(hook, dir)
    }
}

/// Returns what a command names below `root`, which it starts in `dir`.
fn named(root: &Path, dir: &Path, command: &CommandWords) -> Result<NamedPaths, String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (root, dir) = (real(root), real(dir));
    let place = CommandPlace {
        root: &root,
        dir: &dir,
        within: &root,
        is_folder: Path::is_dir,
    };
    named_files::paths(&place, command)
}

impl Dependencies {
    /// Returns the existing files among those that the command names, and those in its folders of libraries.
    ///
    /// # Errors
    /// Fails if a folder has more than [`LIBRARY_MAX`] files or cannot be read.
    fn existing(&self, root: &Path) -> Result<Vec<PathBuf>, String> {
        // Most words of a command are no files.
        let files = self.named.files.iter().filter(|path| path.is_file());
        let mut out: Vec<PathBuf> = files
            .filter(|path| self.own.is_none() || !is_harmless_package_file(path))
            .cloned()
            .collect();
        for folder in self.named.libraries.iter().filter(|path| path.is_dir()) {
            let refused = |why: String| {
                let below = folder.strip_prefix(root).unwrap_or(folder);
                let name = json::shown(&below.to_string_lossy());
                format!("loads files of the folder {name}, which {why}")
            };
            let entries =
                fs::read_dir(folder).map_err(|e| refused(format!("cannot be read: {e}")))?;
            let before = out.len();
            for entry in entries.flatten() {
                let path = entry.path();
                let ending = path.extension().and_then(|ending| ending.to_str());
                let is_module = ending.is_some_and(|ending| MODULE_ENDS.contains(&ending));
                let package = path.join("__init__.py");
                if package.is_file() {
                    out.push(package);
                } else if (is_module || self.own.is_none()) && path.is_file() {
                    out.push(path);
                }
                if out.len() - before > LIBRARY_MAX {
                    return Err(refused(format!("has more than {LIBRARY_MAX} files")));
                }
            }
        }
        out.sort();
        out.dedup();
        Ok(out)
    }

    /// Returns the names of the first existing files, or why they cannot be determined; empty if there are none.
    fn shown(&self, root: &Path) -> String {
        let files = match self.existing(root) {
            Ok(files) => files,
            Err(why) => return format!("files that cannot be checked: it {why}"),
        };
        let real = root.canonicalize();
        let root = real.as_deref().unwrap_or(root);
        let names = files.iter().take(SHOWN_FILES_MAX).map(|path| {
            let below = path.strip_prefix(root).unwrap_or(path);
            json::shown(&below.to_string_lossy())
        });
        let names = names.collect::<Vec<_>>().join(", ");
        match files.len().saturating_sub(SHOWN_FILES_MAX) {
            0 => names,
            more => format!("{names} and {more} more files of the project"),
        }
    }
}

/// Returns whether a file that a hook names is probably a script that serves only hooks: it is in a folder of agent
/// configuration, or it is executable and was not installed or built.
fn is_hook_script(path: &Path) -> bool {
    let has = |names: &[&str]| {
        let mut parts = path.iter();
        parts.any(|part| names.iter().any(|name| part == *name))
    };
    let is_executable = fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o111 != 0);
    has(CONFIGURATION) || (is_executable && !has(GENERATED))
}

/// Returns whether a path is that of a `package.json` that declares no programs.
fn is_harmless_package_file(path: &Path) -> bool {
    if path.file_name().is_none_or(|name| name != PACKAGE_FILE) {
        return false;
    }
    let bytes = regular_file::read(path, json::FILE_MAX).unwrap_or_default();
    let parsed = serde_json::from_slice::<serde_json::Value>(&bytes);
    parsed.is_ok_and(|file| {
        file.is_object()
            && ["bin", "directories", "workspaces"]
                .iter()
                .all(|field| file.get(field).is_none())
    })
}

/// Returns a hash of the metadata of all files on which the digest depends. Returns `None` if a file changed so
/// recently that another change could leave its metadata as it is, or if the files cannot be determined.
fn stamp(root: &Path, file: &str, files: &Dependencies) -> Option<u64> {
    let now = SystemTime::now();
    let mut hash = DefaultHasher::new();
    for path in std::iter::once(root.join(file)).chain(files.existing(root).ok()?) {
        path.hash(&mut hash);
        match fs::metadata(&path) {
            Ok(meta) => {
                FileFingerprint::of(&meta, now)?.hash(&mut hash);
                fs::canonicalize(&path).ok().hash(&mut hash);
            }
            Err(e) => e.raw_os_error().hash(&mut hash),
        }
    }
    Some(hash.finish())
}

/// Returns the digest of an item, in hex. `bytes` is the content of the declaring file.
fn digest(
    root: &Path,
    kind: ItemKind,
    file: &str,
    index: usize,
    bytes: &[u8],
    files: &Dependencies,
) -> Result<String, String> {
    let mut hash = Context::new(&SHA256);
    let mut field = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    field(VERSION.as_bytes());
    field(root.as_os_str().as_bytes());
    field(match kind {
        ItemKind::Server => b"server",
        ItemKind::Hook => b"hook",
    });
    field(file.as_bytes());
    field(&(index as u64).to_be_bytes());
    field(files.own.as_deref().unwrap_or(bytes));
    for path in files.existing(root)? {
        let content = fs::metadata(&path)
            .map_err(|e| format!("cannot be read: {e}"))
            .and_then(|meta| content_hash(&path, &meta))
            .map_err(|why| {
                let below = path.strip_prefix(root).unwrap_or(&path);
                format!(
                    "names {}, which {why}",
                    json::shown(&below.to_string_lossy())
                )
            })?;
        let real = fs::canonicalize(&path).unwrap_or_default();
        field(path.as_os_str().as_bytes());
        field(real.as_os_str().as_bytes());
        field(content.as_bytes());
    }
    Ok(approvals::hex(hash))
}

fn content_hash(path: &Path, meta: &Metadata) -> Result<String, String> {
    if meta.len() > NAMED_MAX {
        return Err(format!("is larger than {} MiB", NAMED_MAX / 1024 / 1024));
    }
    let unreadable = |e: std::io::Error| format!("cannot be read: {e}");
    let mut file = regular_file::open(path)
        .map_err(unreadable)?
        .take(NAMED_MAX + 1);
    let mut hash = Context::new(&SHA256);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match file.read(&mut chunk).map_err(unreadable)? {
            0 => return Ok(approvals::hex(hash)),
            n => hash.update(&chunk[..n]),
        }
    }
}
