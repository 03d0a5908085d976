//! Assembles and starts the crew that a `Blueprint` describes. Used by every front end.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};

use super::blueprint::Blueprint;
use super::hub::NO_REMOTE;
use super::journal::JournalWriter;
use super::lock::{self, CrewLock, FreedLock, Holder, LockAttempt};
use super::model_setup::{self, Probe};
use super::named_models::{LeadConnection, ModelConnections};
use super::{
    checks, describe_error, external_agents, jitter, new_id, now, secrets, supervisor, team_size,
    worktree_commands,
};
use crate::config::extensions::{ListedState, LiveExtensions};
use crate::config::{self, Settings};
use crate::crew::{
    BudgetParts, Crew, CrewParts, ExtensionParts, HookParts, HostParts, InstructionParts,
    ModelParts, ServerParts, SessionParts, SharedParts, TeamLimits, WorktreeParts, publish_session,
};
use crate::domain::hook::HookEvent;
use crate::domain::host::HostName;
use crate::domain::mcp::{ServerConfig, ServerTransport};
use crate::domain::memory::ProjectMemory;
use crate::domain::permission::SettingsPermissions;
use crate::domain::request::Approver;
use crate::mcp;
use crate::process::environment;
use crate::process::supervisor::Supervisor;
use crate::protocol::EventSender;
use crate::protocol::event::{EventKind, NoticeLevel, SessionInfo};
use crate::store::{self, HubError, Roles, Skills, SpendingFile, StoreError, Stores};
use crate::tools::policy::PermissionRules;
use crate::tools::table;

/// Pause between two attempts to join a crew on a hub that cannot be reached.
const JOIN_PAUSE: Duration = Duration::from_secs(5);

/// A running crew and the resources that live as long as the crew.
pub struct Assembly {
    pub crew: Crew,
    pub journal: JournalWriter,
    /// Prevents a second crew in the same directory while this crew runs.
    pub lock: CrewLock,
    /// The shared state of the crew.
    pub stores: Stores,
    /// This process as a host of the crew; `None` if the crew is on this machine only.
    pub host: Option<HostParts>,
    /// A check that the server offers the configured model. `None` if no check is needed.
    pub probe: Option<Probe>,
}

/// The result of trying to start a crew.
pub enum Built {
    /// The crew runs in this process.
    Crew(Box<Assembly>),
    /// Another process already runs a crew in this directory.
    RunsElsewhere(Holder),
    /// Another host leads the crew on the hub.
    LedElsewhere(LedElsewhere),
}

/// Another host leads the crew. Its text says which, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct LedElsewhere {
    /// `None` if it is unknown.
    pub host: Option<HostName>,
    text: String,
}

/// Starts the crew. If another process runs one in the same directory, returns [`Built::RunsElsewhere`]; if another host leads
/// it on a hub, [`Built::LedElsewhere`].
///
/// # Errors
/// Fails with [`ModelUnavailable`](super::model_setup::ModelUnavailable) if no model is available. Any other error says
/// why the crew cannot start.
pub async fn build(blueprint: &Blueprint, event_sender: EventSender) -> Result<Built> {
    let root = &blueprint.root;
    let notices = store::prepare(root)?;
    let resumes = blueprint.resume.is_some();
    let session = blueprint.resume.clone().unwrap_or_else(new_id);
    match lock::take(root, &session)? {
        LockAttempt::Acquired(lock) => {
            publish_notices(&event_sender, notices).await;
            let joined = if resumes && blueprint.waits_for_hub {
                join_when_reachable(blueprint, &event_sender).await
            } else {
                shared_parts(blueprint).await
            };
            let shared = match joined {
                Ok(shared) => shared,
                Err(error) => return error.downcast().map(Built::LedElsewhere),
            };
            start_or_leave(blueprint, (lock, shared), session, resumes, event_sender).await
        }
        LockAttempt::Held(holder) => Ok(Built::RunsElsewhere(holder)),
    }
}

/// Resumes `session` in this process, after the process that ran its crew has ended. `freed` is the crew lock that the
/// ended process released and this process has acquired. Never returns [`Built::RunsElsewhere`].
///
/// # Errors
/// Fails as [`build`] does. The crew lock is then released.
pub async fn take_over(
    blueprint: &Blueprint,
    freed: FreedLock,
    session: String,
    event_sender: EventSender,
) -> Result<Built> {
    let lock = freed.take(&session)?;
    let resumes = true;
    let shared = shared_parts(blueprint).await?;
    start_or_leave(blueprint, (lock, shared), session, resumes, event_sender).await
}

/// Starts the crew. If that fails, ends the session of this host on the hub, so that its name and the place of the lead are
/// free at once.
async fn start_or_leave(
    blueprint: &Blueprint,
    (lock, shared): (CrewLock, SharedParts),
    session: String,
    resumes: bool,
    event_sender: EventSender,
) -> Result<Built> {
    let host = shared.host.clone();
    let starting = start_crew(blueprint, (lock, shared), session, resumes, event_sender);
    let started = Box::pin(starting).await;
    if let (Err(_), Some(host)) = (&started, host) {
        let left = tokio::task::spawn_blocking(move || host.session.leave());
        let _ = left.await;
    }
    started
}

/// Joins the crew on the hub as [`shared_parts`] does, and tries again as long as the hub cannot be reached. The user sees the
/// cause.
async fn join_when_reachable(
    blueprint: &Blueprint,
    event_sender: &EventSender,
) -> Result<SharedParts> {
    let mut shown = String::new();
    loop {
        let error = match shared_parts(blueprint).await {
            Ok(shared) => return Ok(shared),
            Err(error) => error,
        };
        let is_outage = matches!(
            error.downcast_ref(),
            Some(StoreError::Hub(
                HubError::Unreachable { .. }
                    | HubError::UnknownHost { .. }
                    | HubError::NoAnswer { .. }
            ))
        );
        if !is_outage {
            return Err(error);
        }
        let cause = describe_error(&error);
        if shown != cause {
            let text = format!(
                "No agent works here: {cause}. crewdeck tries again every {} s.",
                JOIN_PAUSE.as_secs()
            );
            event_sender
                .publish(EventKind::notice(NoticeLevel::Error, text))
                .await;
            shown = cause;
        }
        tokio::time::sleep(JOIN_PAUSE).await;
    }
}

/// Returns where the crew works. Joins the crew on the hub, if it is there.
///
/// # Errors
/// Fails with [`LedElsewhere`] if another host leads the crew, and as [`HubPlan::join`](super::hub::HubPlan::join) does.
async fn shared_parts(blueprint: &Blueprint) -> Result<SharedParts> {
    let root = blueprint.root.clone();
    match blueprint.hub.clone() {
        Some(plan) => {
            let joined = tokio::task::spawn_blocking(move || plan.join(&root)).await?;
            joined.map_err(|error| match error.downcast() {
                Ok(StoreError::LeadInUse { host, text }) => {
                    let host = HostName::parse(&host).ok();
                    LedElsewhere { host, text }.into()
                }
                Ok(error) => error.into(),
                Err(error) => error,
            })
        }
        None => Ok(SharedParts::files(&root)),
    }
}

/// Returns whether the project `root` has earlier sessions. Returns false if the sessions cannot be read.
fn has_earlier(root: &Path) -> bool {
    store::sessions(root).is_ok_and(|all| !all.is_empty())
}

#[allow(clippy::too_many_lines)] // mostly one list of parts
async fn start_crew(
    blueprint: &Blueprint,
    (lock, shared): (CrewLock, SharedParts),
    session: String,
    resumes: bool,
    event_sender: EventSender,
) -> Result<Built> {
    let root = &blueprint.root;
    let settings = &blueprint.settings;
    let extensions = blueprint.extensions.last();
    let servers = &extensions.servers;
    let mut known = secrets::of_models(&settings.models, model_setup::variable);
    if !servers.is_empty() {
        known.extend(prepare_logins(servers));
        known.extend(secrets::of_servers(servers));
    }
    let event_sender = if known.is_empty() {
        event_sender
    } else {
        let redactor = event_sender.redactor().with(known);
        event_sender.with_redactor(redactor)
    };
    for (name, value) in external_agents::secrets(settings) {
        event_sender.redactor().add(&name, &value);
    }
    let approved = extensions.trust.approved_files();
    let supervisor = supervisor::supervisor(root, settings, &approved).map(Arc::new);
    apply_later_approvals(&blueprint.extensions, supervisor.as_deref(), &event_sender);
    environment::set_allowed(settings.pass_env.iter().flatten().cloned());
    environment::set_withheld(secrets::header_variables(&settings.models));
    let named = ModelConnections::new(settings, blueprint.choice.as_ref(), blueprint.speed);
    let LeadConnection {
        connection,
        config: model_config,
        probe,
    } = named.connect_lead(&event_sender).await?;
    let journal = JournalWriter::open(root, &session);
    let calls_max = settings.calls_max();
    let tools = match &settings.tools {
        Some(names) => table::narrow(names).map_err(|why| anyhow!(why))?,
        None => table::TABLE.iter().map(|t| t.name.to_string()).collect(),
    };
    let setup = SessionInfo {
        session,
        root: format_path(root),
        provider: connection.provider.into(),
        model: model_config.name.clone(),
        scripted: connection.scripted,
        git: root.join(".git").exists(),
        window: model_config.window,
        tools,
        earlier: !resumes && has_earlier(root),
        allowed: settings_permissions(blueprint),
        checks: !settings.checks.is_empty(),
    };
    let (stores, host) = (shared.stores.clone(), shared.host.clone());
    // The screen shows the session and the board while the parts below are prepared.
    let published = publish_session(&shared.stores, &setup, &event_sender).await;
    if host.as_ref().is_some_and(|host| host.exchange.is_none()) {
        let notice = EventKind::notice(NoticeLevel::Warn, NO_REMOTE);
        event_sender.publish(notice).await;
    }
    let skills = Skills::open(root, config::user_folder().map(|f| f.join("skills")));
    let skills = skills.with_session(&setup.session);
    let crew = Box::pin(Crew::start(CrewParts {
        shared,
        session: SessionParts {
            info: setup,
            published: Some(published),
        },
        models: ModelParts {
            model_config,
            is_chosen: blueprint.is_model_chosen,
            max_tokens: settings.max_tokens(),
            prices: settings.prices.clone(),
            named: Arc::new(named),
            uses: settings.r#use.clone(),
            calls_max,
        },
        worktrees: settings.worktrees().then(|| WorktreeParts {
            merge: settings.merge.unwrap_or_default(),
            settings: settings.worktree.clone(),
            withheld_teardown: worktree_commands::withheld_teardown(&blueprint.project),
        }),
        approvers: blueprint.approvers,
        limits: TeamLimits {
            agents_max: settings.agents_max.unwrap_or_else(team_size::agents),
            idle_timeout: settings.idle_timeout(),
            checkpoints: settings.checkpoints.limits(),
        },
        budgets: BudgetParts {
            budgets: settings.budget,
            spending: spending_file(settings),
            calls_without_progress: settings.calls_without_progress(),
        },
        rules: PermissionRules {
            allow: settings.allow.clone().unwrap_or_default(),
            ..PermissionRules::default()
        },
        tools: settings.tools.clone(),
        tool_timeout: settings.tool_timeout(),
        supervisor,
        compact_at: settings.compact_at(),
        resumes,
        instructions: InstructionParts {
            memory: Arc::new(memory(root, &blueprint.dir, &event_sender)),
            skills,
            roles: roles(root),
        },
        preset: blueprint.preset.clone(),
        extensions: ExtensionParts {
            checks: checks::parts(settings, root),
            servers: server_parts(&blueprint.extensions),
            hooks: hook_parts(blueprint, &event_sender).await,
            external: Some(external_agents::parts(settings, root)),
        },
        event_sender: event_sender.clone(),
        clock: now,
        new_id,
        jitter,
    }))
    .await?;
    supervisor::warn_about_missing_sandbox(settings, event_sender);
    Ok(Built::Crew(Box::new(Assembly {
        crew,
        journal,
        lock,
        stores,
        host,
        probe,
    })))
}

/// Returns the file with the usage of all crews by day. Returns `None` if there is no home directory. Also returns
/// `None` if no budget limits a day or a month, because the file is then neither read nor written.
fn spending_file(settings: &Settings) -> Option<SpendingFile> {
    let folder = config::state_folder().filter(|_| settings.budget.has_period())?;
    Some(SpendingFile::new(&folder))
}

/// Returns what the setting `allow` lets run without asking, to be shown to the user. Names the file that sets it, relative
/// to the project directory if it is the project's settings file.
fn settings_permissions(blueprint: &Blueprint) -> SettingsPermissions {
    let entries = blueprint.settings.allow.as_deref().unwrap_or_default();
    let file = match &blueprint.allow_file {
        Some(file) if *file == blueprint.root.join(config::PROJECT_FILE) => {
            config::PROJECT_FILE.into()
        }
        Some(file) => format_path(file),
        None => String::new(),
    };
    SettingsPermissions::new(entries, file)
}

/// Returns the roles that agents of the project `root` can have.
pub(super) fn roles(root: &Path) -> Roles {
    let user = config::user_folder().map(|folder| folder.join("agents"));
    Roles::open(root, user, table::names())
}

/// Returns the stored login tokens of the MCP servers over HTTP, as pairs of a label and a token, for the redactor.
/// Creates the folder of the tokens if there are such servers, because only an existing folder can be hidden from
/// commands.
fn prepare_logins(servers: &[ServerConfig]) -> Vec<(String, String)> {
    let urls = servers.iter().filter_map(|server| match &server.transport {
        ServerTransport::Http { url, .. } => Some(url),
        ServerTransport::Program { .. } => None,
    });
    let urls: Vec<&String> = urls.collect();
    let Some(folder) = environment::login_folder().filter(|_| !urls.is_empty()) else {
        return Vec::new();
    };
    // If this fails, the first login reports the error.
    let _ = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder);
    let tokens = urls
        .into_iter()
        .flat_map(|url| mcp::stored_tokens(&folder, url));
    tokens
        .map(|token| (mcp::TOKEN_LABEL.to_string(), token))
        .collect()
}

/// Applies what the user approves in a shell while the crew runs: agents can no longer write the approved files, and the
/// secrets in the configuration of approved servers are redacted.
fn apply_later_approvals(
    extensions: &LiveExtensions,
    supervisor: Option<&Supervisor>,
    event_sender: &EventSender,
) {
    let sandbox = supervisor.and_then(|supervisor| supervisor.sandbox.clone());
    let redactor = event_sender.redactor().clone();
    extensions.on_change(move |now| {
        if let Some(sandbox) = &sandbox {
            sandbox.add_approved(&now.trust.approved_files());
        }
        for (name, secret) in secrets::of_servers(&now.servers) {
            redactor.add(&name, &secret);
        }
    });
}

/// Returns what the crew needs to start MCP servers; `None` if no server is configured.
fn server_parts(live: &Arc<LiveExtensions>) -> Option<ServerParts> {
    let extensions = live.last();
    if extensions.servers.is_empty() {
        return None;
    }
    let unapproved = extensions.listing.iter();
    let unapproved = unapproved.filter(|server| server.state != ListedState::Approved);
    Some(ServerParts {
        configs: extensions.servers.clone(),
        unapproved: unapproved.map(|server| server.name.clone()).collect(),
        trust: Arc::<LiveExtensions>::clone(live),
        logins: environment::login_folder(),
    })
}

/// Returns what the crew needs to run hooks. A hook that has changed since its approval is included too: it does not run,
/// but it still blocks the actions that a hook of its event can prevent. Returns `None` if no hook is declared, or if the
/// user has no home directory.
async fn hook_parts(blueprint: &Blueprint, event_sender: &EventSender) -> Option<HookParts> {
    let extensions = blueprint.extensions.last();
    match extensions.trust.remember_approved() {
        Ok(notice) => publish_notices(event_sender, notice.into_iter().collect()).await,
        Err(why) => {
            let text = format!(
                "The approved hooks could not be stored: {}. A later session may not notice that one of these hooks has changed.",
                describe_error(&why)
            );
            publish_notices(event_sender, vec![text]).await;
        }
    }
    if extensions.hooks.is_empty() {
        return None;
    }
    let mut declared = extensions.hooks.iter();
    Some(HookParts {
        specs: extensions.active_hooks(),
        has_notifications: declared.any(|hook| hook.event == HookEvent::Notification),
        trust: Arc::<LiveExtensions>::clone(&blueprint.extensions),
        scratch: config::state_folder()?.join("hooks"),
        // Check the settings, not the approver in use: without a user at the terminal, `ask` is replaced by `deny`, and
        // hooks may still approve.
        can_approve: blueprint.settings.approvers().2 != Approver::Deny,
    })
}

async fn publish_notices(event_sender: &EventSender, notices: Vec<String>) {
    for text in notices {
        let notice = EventKind::notice(NoticeLevel::Warn, text);
        event_sender.publish(notice).await;
    }
}

/// Reads the instruction files that apply to the directory `dir` of the project `root`, and redacts secrets in them.
fn memory(root: &Path, dir: &Path, event_sender: &EventSender) -> ProjectMemory {
    let mut memory = store::project_memory(root, dir);
    for file in &mut memory.files {
        file.text = event_sender.redactor().text(&file.text).into_owned();
    }
    memory
}

/// Returns a path for display, with `~` for the home directory.
pub(super) fn format_path(path: &Path) -> String {
    match etcetera::home_dir()
        .ok()
        .and_then(|home| path.strip_prefix(home).ok().map(PathBuf::from))
    {
        Some(below) if below.as_os_str().is_empty() => "~".into(),
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}
