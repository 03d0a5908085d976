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
/// Maximum number of files that count in one folder of libraries. A command that names a folder with more cannot be
/// approved.
const LIBRARY_MAX: usize = 1024;
/// File name extensions of code. In a folder of libraries of the user's own server, only files with such an extension
/// count, because the folder can be the whole project directory: `python -m` loads modules from the work directory.
const MODULE_ENDS: &[&str] = &["py", "pyc", "so"];
/// A file that programs such as `npm` read. For the user's own servers, it counts only if it declares programs.
const PACKAGE_FILE: &str = "package.json";
/// Names of folders that contain the configuration of agents.
const CONFIGURATION: &[&str] = &[".claude", ".crewdeck"];
/// Names of folders with installed or built files. Agents change these files when they install packages or build.
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
/// The first field of each digest. It must be changed whenever the other fields or their order change, so that earlier
/// approvals no longer apply.
const VERSION: &str = "crewdeck extension 2";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemKind {
    Server,
    Hook,
}

/// A server or hook that runs only after approval: one of the project, or the user's own server that would run files of
/// the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustItem {
    pub kind: ItemKind,
    /// The name of the server, or the event, matcher and permission rule of the hook.
    pub name: String,
    /// The file that declares the server or hook; relative to the project directory if it is in the project.
    pub file: String,
    /// The position in the declaring file, counted from 0: of a server among the file's valid servers or among the
    /// role's servers, of a hook among the file's hooks.
    pub index: usize,
    /// The command with its environment variables, or the URL with its headers, on one line and without control
    /// characters.
    pub runs: String,
    /// A text that tells the user what the server or hook can do once it is approved.
    pub effect: &'static str,
    /// Whether the user declares the server. False if the project declares the server or hook.
    pub is_own: bool,
    /// If the server is the user's own, the names of the first files of the project that it would run; empty if there
    /// are none.
    pub runs_files: String,
    /// A hash of the project directory, the content of the declaring file, the position in this file, and the content
    /// of the project's files that the command may run. For the user's own server, `runs` replaces the content of the
    /// declaring file. `Err` says why the server or hook cannot be approved.
    pub digest: Result<String, String>,
    /// The user's decision about exactly this content, if there is one.
    pub decision: Option<SettingsDecision>,
}

/// A server or hook, and what is needed to check its approval again.
#[derive(Debug)]
struct GuardedItem {
    item: TrustItem,
    files: Dependencies,
    /// The command, from which the corresponding files in a worktree are found.
    command: CommandWords,
    /// A hash of the files' metadata at a time when their content had the digest of `item`. `None` if the content must
    /// be read again in any case.
    unchanged: Mutex<Option<u64>>,
}

/// What the approval of a server or hook depends on, besides the project directory and its position in the declaring
/// file.
#[derive(Debug, Clone, Default)]
struct Dependencies {
    named: NamedPaths,
    /// The content that is hashed instead of the declaring file; `Some` for a server that the user declares, else
    /// `None`.
    own: Option<Vec<u8>>,
}

/// A server or hook before its digest is computed. Fields with the names of those of [`TrustItem`] have the same
/// meaning.
pub struct NewItem {
    pub kind: ItemKind,
    pub name: String,
    pub file: String,
    pub index: usize,
    pub runs: String,
    pub effect: &'static str,
    /// Whether the user declares the server. It then needs approval only if it would run files of the project.
    pub is_own: bool,
    pub command: CommandWords,
    /// The directory in which the server or hook starts.
    pub dir: PathBuf,
}

/// The servers and hooks that may need approval, and the user's decisions about them.
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

    /// Returns the existing files that agents must not change because the user has approved them: files that declare
    /// approved servers and hooks, and the scripts of approved hooks. Other files that a command names, such as
    /// `package.json`, are not returned, because agents often need to change them; after such a change, the user is
    /// asked again.
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

    /// Adds a server or hook, and returns the user's decision about exactly its content, if there is one. `bytes` is
    /// the content of the declaring file from which the server or hook was parsed.
    ///
    /// # Errors
    /// Returns a sentence that says why the server or hook cannot be approved. It is added nevertheless.
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

    /// Checks that the user has approved the current content of a server or hook. Finds it by `kind`, by `file` if that
    /// is `Some`, and by `index`, or by `name` if `index` is `None`.
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
    /// Checks that the files that a hook's command names have the same content in the worktree `dir` as in the project
    /// directory. Does nothing if `dir` is the project directory.
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
            // A file that is missing in the worktree cannot run. Two files that cannot be hashed count as equal if the
            // reason is the same.
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
    /// Returns the kind, the name and the file of the server or hook, such as `Server git of .mcp.json`.
    pub fn title(&self) -> String {
        match self.kind {
            ItemKind::Server => format!("Server {} of {}", self.name, self.file),
            ItemKind::Hook => format!("Hook {} of {}", self.name, self.file),
        }
    }

    /// Returns whether the server or hook can be approved and the user has not decided about it.
    pub fn is_waiting(&self) -> bool {
        self.decision.is_none() && self.digest.is_ok()
    }

    /// Returns a sentence with the command that approves the server or hook.
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
            // A user's server that is not in the list is reached by HTTP, so it runs no files of the project.
            ServerSource::User if !is_known => Ok(()),
            _ => self.check(ItemKind::Server, None, &server.name, None),
        }
    }

    fn check_hook(&self, hook: &HookSpec, dir: &Path) -> Result<(), NotApproved> {
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

/// Returns the files and folders below `root` that a command names. `dir` is the directory in which the command starts.
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
    /// Returns the existing files among those that the command names, and the existing files in its folders of
    /// libraries.
    ///
    /// # Errors
    /// Fails if a folder of libraries cannot be read or has more than [`LIBRARY_MAX`] files that count.
    fn existing(&self, root: &Path) -> Result<Vec<PathBuf>, String> {
        // Most words of a command are not the names of files.
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

    /// Returns the names of the first existing files as a text; empty if there are none. If the files cannot be
    /// determined, the text says why.
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

/// Returns whether a file that a hook names is probably a script that only hooks use: it is in a folder with the
/// configuration of agents, or it is executable and not in a folder with installed or built files.
fn is_hook_script(path: &Path) -> bool {
    let has = |names: &[&str]| {
        let mut parts = path.iter();
        parts.any(|part| names.iter().any(|name| part == *name))
    };
    let is_executable = fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o111 != 0);
    has(CONFIGURATION) || (is_executable && !has(GENERATED))
}

/// Returns whether a file is a `package.json` that declares no programs.
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

/// Returns a hash of the metadata of all files on which the digest depends. Returns `None` if the files cannot be
/// determined, or if one changed so recently that another change might not be visible in its metadata.
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

/// Returns the digest of a server or hook, in hexadecimal. `bytes` is the content of the declaring file.
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
