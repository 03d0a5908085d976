//! Opens, lists and closes sessions. One crew runs at a time, so opening a session ends the running one.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    CloseSessionRequest, CloseSessionResponse, Error, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest, NewSessionResponse,
    ResumeSessionRequest, ResumeSessionResponse, SessionId, SessionInfo as ListedSession,
    SessionMode, SessionModeState, SessionUpdate,
};
use agent_client_protocol::{RawJsonRpcId, RawJsonRpcParams};
use anyhow::{Context, Result, bail};

use super::commands;
use super::connection::EditorGone;
use super::server::{EditorServer, RpcResult, parse, result};
use super::session::EditorSession;
use crate::app::headless::eprint_line;
use crate::app::{describe_error, resume, root, sessions, settings};
use crate::cli::GlobalOptions;
use crate::domain::request::Approver;
use crate::domain::text::{clip, one_line};
use crate::store;

/// Maximum length of a session's title in the list, in characters.
const TITLE_MAX: usize = 100;

/// How a session begins.
enum Opening {
    New,
    /// Continues the session with this id, and first shows its conversation so far.
    Load(String),
    /// Continues the session with this id without showing its conversation so far.
    Resume(String),
}

impl EditorServer<'_> {
    pub(super) async fn new_session(
        &mut self,
        id: RawJsonRpcId,
        params: Option<RawJsonRpcParams>,
    ) -> Result<(), EditorGone> {
        let request = match parse::<NewSessionRequest>(params) {
            Ok(request) => request,
            Err(error) => return self.output.respond(id, Err(error)).await,
        };
        let opened = self.open(&request.cwd, Opening::New).await;
        let answer = opened.and_then(|modes| {
            let session = self.session.as_ref().map(|session| session.id.clone());
            let session = session.unwrap_or_else(|| SessionId::new(""));
            result(&NewSessionResponse::new(session).modes(modes))
        });
        self.opened(id, answer, &request.mcp_servers).await
    }

    pub(super) async fn load_session(
        &mut self,
        id: RawJsonRpcId,
        params: Option<RawJsonRpcParams>,
    ) -> Result<(), EditorGone> {
        let request = match parse::<LoadSessionRequest>(params) {
            Ok(request) => request,
            Err(error) => return self.output.respond(id, Err(error)).await,
        };
        let session = request.session_id.to_string();
        let opened = self.open(&request.cwd, Opening::Load(session)).await;
        let answer = opened.and_then(|modes| result(&LoadSessionResponse::new().modes(modes)));
        self.opened(id, answer, &request.mcp_servers).await
    }

    pub(super) async fn resume_session(
        &mut self,
        id: RawJsonRpcId,
        params: Option<RawJsonRpcParams>,
    ) -> Result<(), EditorGone> {
        let request = match parse::<ResumeSessionRequest>(params) {
            Ok(request) => request,
            Err(error) => return self.output.respond(id, Err(error)).await,
        };
        let session = request.session_id.to_string();
        let opened = self.open(&request.cwd, Opening::Resume(session)).await;
        let answer = opened.and_then(|modes| result(&ResumeSessionResponse::new().modes(modes)));
        self.opened(id, answer, &request.mcp_servers).await
    }

    /// Answers a request to open a session. If the session was opened, also sends the slash commands. If the editor has
    /// configured MCP servers, also sends a message that says that the session does not use them.
    async fn opened(
        &mut self,
        id: RawJsonRpcId,
        answer: RpcResult,
        servers: &[McpServer],
    ) -> Result<(), EditorGone> {
        let is_open = answer.is_ok();
        self.output.respond(id, answer).await?;
        let Some(session) = self.session.as_mut().filter(|_| is_open) else {
            return Ok(());
        };
        let commands = SessionUpdate::AvailableCommandsUpdate(commands::available());
        session.notify(commands, &mut self.output).await?;
        if servers.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = servers.iter().take(10).map(server_name).collect();
        let names = clip(&one_line(&names.join(", ")), 300);
        let text = format!(
            "The editor's MCP servers ({names}) are not used: the agents of the crew start their own servers. Add a server with `crewdeck mcp add`.\n"
        );
        session.message(text, &mut self.output).await
    }

    /// Opens a session and returns its modes. A session that already runs continues. If another session runs, ends it
    /// first; fails if an agent of that session works or its prompt has not ended.
    async fn open(&mut self, cwd: &Path, opening: Opening) -> Result<SessionModeState, Error> {
        let opened = self.try_open(cwd, opening).await;
        opened.map_err(|error| {
            let text = describe_error(&error);
            eprint_line(&format!("crewdeck: {text}"));
            Error::new(-32603, text)
        })
    }

    async fn try_open(&mut self, cwd: &Path, opening: Opening) -> Result<SessionModeState> {
        let (root, dir) = self.directory(cwd)?;
        let (resume, is_replayed) = match opening {
            Opening::New => (None, false),
            Opening::Load(id) => (Some(id), true),
            Opening::Resume(id) => (Some(id), false),
        };
        if let Some(id) = &resume
            && !store::sessions(&root).is_ok_and(|all| all.contains(id))
        {
            bail!(
                "there is no session {} in {}",
                clip(&one_line(id), 64),
                root.display()
            );
        }
        let modes = modes(self.options, &root)?;
        let runs = self.session.as_ref().map(|session| session.id.to_string());
        if resume.is_none() || runs != resume {
            self.replace_session(&root, &dir, resume.clone()).await?;
        }
        if let (Some(id), true, Some(session)) = (resume, is_replayed, &mut self.session) {
            let root = root.clone();
            let read = move || resume::read_events(&root, &id);
            let events = tokio::task::spawn_blocking(read).await??;
            // If the editor is gone, the answer to the request fails too, which ends the connection.
            let _ = session.replay(&events, &mut self.output).await;
        }
        Ok(modes)
    }

    async fn replace_session(
        &mut self,
        root: &Path,
        dir: &Path,
        resume: Option<String>,
    ) -> Result<()> {
        if let Some(session) = &self.session
            && session.is_busy()
        {
            bail!(
                "the crew of session {} is still working, and only one crew can run in a project: wait until it is idle, or close that session",
                session.id
            );
        }
        if let Some(session) = self.session.take() {
            session.stop(&mut self.output).await?;
        }
        let session = EditorSession::start(self.options, root, dir, resume, &self.features);
        // The future is large because it contains the start of the whole crew.
        let session = Box::pin(session).await?;
        self.session = Some(session);
        self.project = Some(root.to_path_buf());
        Ok(())
    }

    /// Returns the project directory and the directory in which the crew starts. The crew starts in `cwd`, or in the
    /// project directory if `cwd` belongs to another repository inside the project.
    ///
    /// # Errors
    /// Fails if `cwd` is not accessible, or is outside of the project of this process.
    fn directory(&self, cwd: &Path) -> Result<(PathBuf, PathBuf)> {
        let dir = cwd.canonicalize();
        let dir =
            dir.with_context(|| format!("{} is not an accessible directory", cwd.display()))?;
        let mut options = self.options.clone();
        options.dir = Some(dir.clone());
        let own_root = root(&options)?;
        let project = self.project.clone().unwrap_or_else(|| own_root.clone());
        if !dir.starts_with(&project) {
            let why = match &self.options.dir {
                Some(_) => "the project of the option --dir",
                None => "the project of this process",
            };
            bail!(
                "{} is outside of {}, {why}: open the editor there, or start another crewdeck acp",
                dir.display(),
                project.display()
            );
        }
        // A repository inside the project belongs to the project's crew.
        let dir = if own_root == project {
            dir
        } else {
            project.clone()
        };
        Ok((project, dir))
    }

    pub(super) async fn list_sessions(&mut self, params: Option<RawJsonRpcParams>) -> RpcResult {
        let request: ListSessionsRequest = parse(params)?;
        let root = match (&request.cwd, &self.project) {
            (Some(cwd), _) => self.directory(cwd).map(|(root, _)| root),
            (None, Some(project)) => Ok(project.clone()),
            (None, None) => root(self.options),
        };
        let listed = list(root).await;
        let listed = listed.map_err(|error| Error::new(-32603, describe_error(&error)))?;
        result(&ListSessionsResponse::new(listed))
    }

    pub(super) async fn close_session(&mut self, params: Option<RawJsonRpcParams>) -> RpcResult {
        let request: CloseSessionRequest = parse(params)?;
        let session = self
            .session
            .take_if(|session| session.id == request.session_id);
        if let Some(session) = session {
            let stopped = session.stop(&mut self.output).await;
            stopped.map_err(|error| Error::new(-32603, describe_error(&error)))?;
        }
        result(&CloseSessionResponse::new())
    }
}

/// Lists the sessions of the project `root`, newest first.
async fn list(root: Result<PathBuf>) -> Result<Vec<ListedSession>> {
    let root = root?;
    let at = root.clone();
    let all = tokio::task::spawn_blocking(move || sessions::list(&at)).await?;
    let listed = all.into_iter().map(|session| {
        let title = clip(&one_line(&session.prompt), TITLE_MAX);
        let last = session
            .last
            .and_then(|at| jiff::Timestamp::from_second(seconds(at.0)).ok());
        ListedSession::new(session.id, &root)
            .title((!title.is_empty()).then_some(title))
            .updated_at(last.map(|at| at.to_string()))
    });
    Ok(listed.collect())
}

/// Returns the modes of a session: only the current one, which says who approves tool calls.
pub fn modes(options: &GlobalOptions, root: &Path) -> Result<SessionModeState> {
    let (_, _, approver) = settings(options, root)?.settings.approvers();
    let (id, name, description) = match approver {
        Approver::Ask => ("ask", "Ask", "You approve tool calls that need permission"),
        Approver::Lead => (
            "lead",
            "Lead",
            "The lead approves tool calls that need permission",
        ),
        Approver::Auto => (
            "auto",
            "Auto",
            "All tool calls that need permission are approved",
        ),
        Approver::Deny => (
            "deny",
            "Deny",
            "All tool calls that need permission are denied",
        ),
    };
    let mode = SessionMode::new(id, name).description(description);
    Ok(SessionModeState::new(id, vec![mode]))
}

fn server_name(server: &McpServer) -> &str {
    match server {
        McpServer::Http(server) => &server.name,
        McpServer::Sse(server) => &server.name,
        McpServer::Stdio(server) => &server.name,
        _ => "unknown",
    }
}

fn seconds(at: f64) -> i64 {
    // Times of events are far from the limits.
    #[allow(clippy::cast_possible_truncation)]
    let seconds = at as i64;
    seconds
}
