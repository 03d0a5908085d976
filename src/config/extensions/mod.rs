//! Loads the MCP servers and hooks that the files of the user and of the project declare. Also loads the user's
//! decisions about the project's servers and hooks.
//!
//! If none of these files exists, loading only tries to open each of them, and reads the file with the decisions.

mod approval;
mod command_words;
mod content_digest;
mod dependencies;
mod edit;
mod hook_files;
mod json;
mod live;
mod named_files;
mod own_servers;
mod project_hooks;
mod role_servers;
mod servers;
mod trust;
mod trust_item;
mod variables;

use std::cell::LazyCell;
use std::path::Path;

use super::approvals::{Decisions, SettingsDecision};
use super::user_folder;
use crate::domain::hook::HookSpec;
use crate::domain::mcp::{ServerConfig, ServerSource, ServerTransport};
use crate::domain::secret_env;
use crate::domain::trust::NotApproved;
pub use approval::ApprovalRequest;
use command_words::CommandWords;
pub use edit::{NewServer, ServerScope, add_server, remove_server, unknown_server};
pub use hook_files::{ParsedHooks, parse as parse_hooks};
pub use json::FileProblem;
use json::format_line;
pub use live::LiveExtensions;
pub use servers::{ParsedServer, ParsedServers, parse as parse_servers};
pub use trust::ExtensionTrust;
use trust::NewItem;
pub use trust_item::{HookChange, ItemKind, TrustItem};
pub use variables::{Variable, expand};

/// The file with the project's MCP servers, relative to the project root.
pub const SERVER_FILE: &str = ".mcp.json";
/// The files with the project's hooks, relative to the project root.
pub const HOOK_FILES: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".crewdeck/hooks.json",
];

/// Maximum number of server names in each list of the notice about servers and hooks that wait for approval. Further
/// servers are only counted.
const NAMES_MAX: usize = 4;

// The texts that tell the user what a server or hook can do once it is approved.
const RUNS_PROGRAM: &str = "runs a program with your rights, outside of the sandbox";
const OWN_USES_FILES: &str = "your own server; files of this project can make it run anything with your rights, outside of the sandbox";
const SENDS: &str =
    "receives what agents send to it, and the environment variables in its configuration";

/// The MCP servers and hooks of the user and of the project.
#[derive(Debug, Default)]
pub struct Extensions {
    /// All valid servers, whether approved or not. The user's servers come first. Names are unique.
    pub servers: Vec<ServerConfig>,
    /// All valid hooks, whether approved or not. The user's hooks come first.
    pub hooks: Vec<HookSpec>,
    /// All servers that `crewdeck mcp list` shows, including invalid ones.
    pub listing: Vec<ListedServer>,
    /// Problems in the files: what is wrong or has no effect.
    pub problems: Vec<FileProblem>,
    /// The servers and hooks that need approval, with the user's decisions. Used to check the approval before each
    /// start.
    pub trust: ExtensionTrust,
}

/// A server as `crewdeck mcp list` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedServer {
    pub name: String,
    pub source: ServerSource,
    /// The role whose file declares the server; `None` if no role does.
    pub role: Option<String>,
    /// The command line or the URL as it is written in the file; empty if the server is invalid.
    pub target: String,
    pub state: ListedState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedState {
    /// The server starts when it is needed: the user has approved it, or it needs no approval.
    Approved,
    NeedsApproval,
    /// The user has decided that the server does not start.
    Ignored,
    /// The server is invalid or cannot be approved, for this reason.
    Problem(String),
}

impl Extensions {
    /// Reads the files of the user and of the project `root` that declare servers and hooks, and the user's decisions.
    /// The lists in the result do not change when a file changes later.
    pub fn load(root: &Path) -> Extensions {
        Extensions::load_with(root, Decisions::load)
    }

    /// Like [`Extensions::load`], with these decisions of the user.
    fn load_with(root: &Path, decisions: impl FnOnce() -> Decisions) -> Extensions {
        let user = user_folder();
        Extensions::load_from(root, user.as_deref(), decisions, |name| {
            let value = std::env::var_os(name)?;
            Some(value.to_string_lossy().into_owned())
        })
    }

    /// Returns a notice with the names of the servers and the number of hooks that wait for approval; `None` if none
    /// does.
    pub fn waiting_notice(&self) -> Option<String> {
        let waiting: Vec<&TrustItem> = self.trust.items().filter(|i| i.is_waiting()).collect();
        let servers: Vec<&str> = waiting
            .iter()
            .filter(|item| item.kind == ItemKind::Server && !item.is_own)
            .map(|item| item.name.as_str())
            .collect();
        let own = waiting.iter().filter(|item| item.is_own);
        let own: Vec<&str> = own.map(|item| item.name.as_str()).collect();
        let mut parts = Vec::new();
        if !own.is_empty() {
            parts.push(format!(
                "files that your own MCP servers would use ({})",
                first_names(&own)
            ));
        }
        match servers[..] {
            [] => {}
            [name] => parts.push(format!("the MCP server {}", first_names(&[name]))),
            _ => parts.push(format!("the MCP servers {}", first_names(&servers))),
        }
        match waiting.len() - servers.len() - own.len() {
            0 => {}
            1 => parts.push("1 hook".into()),
            n => parts.push(format!("{n} hooks")),
        }
        let blocking = match waiting.iter().filter(|item| item.change.is_some()).count() {
            0 => String::new(),
            1 => "; 1 changed or removed hook blocks what it guarded".into(),
            n => format!("; {n} changed or removed hooks block what they guarded"),
        };
        let how = match (parts.len(), waiting.len()) {
            (0, _) => return None,
            (_, 1) if own.is_empty() => "waits for your approval and does not run",
            _ => "wait for your approval and do not run",
        };
        let approve = if servers.is_empty() && own.is_empty() {
            "crewdeck trust"
        } else {
            "crewdeck trust, or crewdeck mcp approve for the servers"
        };
        Some(format!(
            "this project has {}, which {how}{blocking}. To review and approve: {approve}",
            parts.join(" and ")
        ))
    }

    fn load_from(
        root: &Path,
        user: Option<&Path>,
        decisions: impl FnOnce() -> Decisions,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Extensions {
        let mut loader = Loader {
            root,
            environment: &environment,
            decisions: LazyCell::new(decisions),
            out: Extensions {
                trust: ExtensionTrust::new(root),
                ..Extensions::default()
            },
        };
        if let Some(user) = user {
            loader.user_servers(&user.join("mcp.json"));
        }
        loader.project_servers();
        loader.role_servers(user);
        let mut are_hooks_off = false;
        if let Some(user) = user {
            are_hooks_off = loader.user_hooks(&user.join("hooks.json"));
        }
        for file in HOOK_FILES.iter().filter(|_| !are_hooks_off) {
            loader.project_hooks(file);
        }
        loader.out
    }
}

/// Returns a list of the first [`NAMES_MAX`] names that ends with the number of the others, such as `a, b, c, d and 2
/// more`.
fn first_names(names: &[&str]) -> String {
    let first = &names[..names.len().min(NAMES_MAX)];
    match names.len() - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

impl Extensions {
    /// Checks whether the user has approved one of [`Extensions::servers`], with the current content of its files.
    ///
    /// # Errors
    /// Returns why the server must not be started.
    pub fn check_server(&self, server: &ServerConfig) -> Result<(), NotApproved> {
        self.trust.check_server(server)
    }

    /// Returns the user's own hooks and those of the project that the user has approved, whether they have changed since
    /// then or not. [`ExtensionTrust::check_hook`] decides before each run of a hook whether it runs, blocks or is skipped.
    pub fn active_hooks(&self) -> Vec<HookSpec> {
        let is_active = |hook: &&HookSpec| !hook.source.is_project || self.trust.is_approved(hook);
        self.hooks.iter().filter(is_active).cloned().collect()
    }
}

struct Loader<'a, F: FnOnce() -> Decisions> {
    root: &'a Path,
    environment: &'a dyn Fn(&str) -> Option<String>,
    decisions: LazyCell<Decisions, F>,
    out: Extensions,
}

impl<F: FnOnce() -> Decisions> Loader<'_, F> {
    /// Reads a file. Returns `None` if the file is missing or cannot be read; in the latter case, also records a
    /// problem.
    fn read(&mut self, path: &Path, file: &str) -> Option<Vec<u8>> {
        json::read(path).unwrap_or_else(|why| {
            self.problem(file, why);
            None
        })
    }

    fn problem(&mut self, file: &str, text: String) {
        let file = format_line(file);
        self.out.problems.push(FileProblem { file, text });
    }

    /// Looks up an environment variable. If `withholds` is true and the variable looks like a secret (see
    /// [`secret_env::reason`]), returns [`Variable::Withheld`]. If `CLAUDE_PROJECT_DIR` or `CREWDECK_PROJECT_DIR` is not
    /// set, returns the project directory.
    fn variable(&self, name: &str, withholds: bool) -> Variable {
        match (self.environment)(name) {
            Some(value) if withholds && secret_env::reason(name, &value).is_some() => {
                Variable::Withheld
            }
            Some(value) => Variable::Value(value),
            None if matches!(name, "CLAUDE_PROJECT_DIR" | "CREWDECK_PROJECT_DIR") => {
                Variable::Value(self.root.to_string_lossy().into_owned())
            }
            None => Variable::Unset,
        }
    }

    fn parse(&self, bytes: &[u8], source: ServerSource, withholds: bool) -> ParsedServers {
        servers::parse(bytes, source, &|name| self.variable(name, withholds))
    }

    fn project_servers(&mut self) {
        let Some(bytes) = self.read(&self.root.join(SERVER_FILE), SERVER_FILE) else {
            return;
        };
        let parsed = self.parse(&bytes, ServerSource::Project, true);
        for text in parsed.problems {
            self.problem(SERVER_FILE, text);
        }
        // The names of approved servers that use a secret. They are parsed again, with the value of the secret.
        let mut with_secrets = Vec::new();
        for (index, server) in parsed.servers.into_iter().enumerate() {
            let name = server.config.name.clone();
            if self.out.servers.iter().any(|user| user.name == name) {
                let what = format!("server {name}: your own server of this name is used instead");
                self.problem(SERVER_FILE, what);
                continue;
            }
            let (state, decision) = match self.approve_server(SERVER_FILE, index, &server, &bytes) {
                Ok(Some(SettingsDecision::Approved)) => (ListedState::Approved, true),
                Ok(Some(SettingsDecision::Ignored)) => (ListedState::Ignored, false),
                Ok(None) => (ListedState::NeedsApproval, false),
                Err(why) => {
                    self.problem(SERVER_FILE, why.clone());
                    (ListedState::Problem(why), false)
                }
            };
            self.list(&server, state);
            if decision && server.is_withheld {
                with_secrets.push(name);
            }
            self.out.servers.push(server.config);
        }
        self.list_unusable(parsed.unusable, ServerSource::Project);
        if with_secrets.is_empty() {
            return;
        }
        for server in self.parse(&bytes, ServerSource::Project, false).servers {
            let same = |known: &&mut ServerConfig| known.name == server.config.name;
            if with_secrets.contains(&server.config.name)
                && let Some(known) = self.out.servers.iter_mut().find(same)
            {
                *known = server.config;
            }
        }
    }

    fn approve_server(
        &mut self,
        file: &str,
        index: usize,
        server: &ParsedServer,
        bytes: &[u8],
    ) -> Result<Option<SettingsDecision>, String> {
        let (dir, effect) = match &server.config.transport {
            ServerTransport::Program { dir, args, .. }
                if server.config.source == ServerSource::User =>
            {
                (
                    own_servers::named_folder(args).or_else(|| dir.clone()),
                    OWN_USES_FILES,
                )
            }
            ServerTransport::Program { dir, .. } => (dir.clone(), RUNS_PROGRAM),
            ServerTransport::Http { .. } => (None, SENDS),
        };
        let dir = self.root.join(dir.unwrap_or_default());
        let is_own = server.config.source == ServerSource::User;
        let mut command = server.command.clone();
        if is_own {
            command.libraries.extend(command.module_folder());
        }
        let new = NewItem {
            kind: ItemKind::Server,
            name: server.config.name.clone(),
            file: file.into(),
            index,
            runs: server.details.clone(),
            effect,
            is_own,
            command: self.add_search_folders(command),
            dir,
            declaration: None,
        };
        self.out.trust.add(new, bytes, &self.decisions)
    }

    /// Adds the folders of crewdeck's own `PATH` to [`CommandWords::search`], because one of them can be in the
    /// project.
    fn add_search_folders(&self, mut command: CommandWords) -> CommandWords {
        let search = (self.environment)("PATH").unwrap_or_default();
        command.search.extend(search.split(':').map(str::to_string));
        command
    }

    fn list(&mut self, server: &ParsedServer, state: ListedState) {
        self.out.listing.push(ListedServer {
            name: server.config.name.clone(),
            source: server.config.source,
            role: server.config.role.clone(),
            target: server.target.clone(),
            state,
        });
    }

    fn list_unusable(&mut self, servers: Vec<(String, String)>, source: ServerSource) {
        let listed = servers.into_iter().map(|(name, why)| ListedServer {
            name,
            source,
            role: None,
            target: String::new(),
            state: ListedState::Problem(why),
        });
        self.out.listing.extend(listed);
    }

    /// Reads the user's hooks. Returns whether the user's file disables all hooks.
    fn user_hooks(&mut self, path: &Path) -> bool {
        let file = path.display().to_string();
        let Some(bytes) = self.read(path, &file) else {
            return false;
        };
        let parsed = hook_files::parse(&bytes, &format_line(&file), false);
        for text in parsed.problems {
            self.problem(&file, text);
        }
        self.out.hooks.extend(parsed.hooks);
        parsed.is_disabled
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trust_tests;
