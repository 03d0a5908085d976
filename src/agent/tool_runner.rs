//! Executes tool calls: finds the tool, applies the policy, asks for approval, runs it, and publishes events.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::hooks::{AgentHooks, HookPermission, RequestHook};
use super::mailbox::AgentMailbox;
use super::permission_card::{self, SHOWN_MAX};
use super::server_tools::ServerTools;
use crate::domain::chat::ToolCall;
use crate::domain::ids::Name;
use crate::domain::mcp::server_of;
use crate::domain::redact::Redactor;
use crate::domain::request::{NewRequest, PendingCall, RequestKind, RequestStatus};
use crate::domain::text::head_and_tail;
use crate::domain::timestamp::Timestamp;
use crate::store::{Skills, Stores};
use crate::tools::file_snapshots::FileSnapshots;
use crate::tools::host::Host;
use crate::tools::policy::{self, PermissionRules, PolicyContext, Ruling};
use crate::tools::{
    Access, Supervisor, Tool, ToolContext, ToolOutput, path_below_root, pending, reach, table,
};

/// Maximum size, in bytes, of one tool result in the conversation.
pub const RESULT_MAX: usize = 64 * 1024;
/// Maximum size, in bytes, of an approver's comment in a tool result.
const COMMENT_MAX: usize = 8 * 1024;

/// The crew's permission rules, shared by all agents. They include the session permissions, which change while the
/// agents work.
pub type SharedRules = Arc<RwLock<PermissionRules>>;

#[derive(Clone)]
pub struct ToolRunner {
    pub tools: Arc<Vec<&'static Tool>>,
    pub rules: SharedRules,
    pub mailbox: Arc<AgentMailbox>,
    pub skills: Skills,
    /// Access to the crew's services.
    pub host: Arc<dyn Host>,
    /// The project's root directory. `workdir` differs from it while the agent works in a worktree.
    pub root: PathBuf,
    pub stores: Stores,
    pub workdir: PathBuf,
    /// Maximum run time of a program that a tool starts.
    pub timeout: Duration,
    /// Removes secrets from tool results, approval requests and texts for other agents.
    pub redactor: Redactor,
    /// Supervises and sandboxes programs. With `None`, programs run directly.
    pub supervisor: Option<Arc<Supervisor>>,
    /// For each file that the agent has read or written, the state of the file at that time.
    pub snapshots: Arc<FileSnapshots>,
    /// The tools of MCP servers; `None` if the agent may use no server.
    pub servers: Option<Arc<ServerTools>>,
    /// Calls the hooks for the events of this agent; `None` if no hook is configured.
    pub hooks: Option<Arc<AgentHooks>>,
    /// Whether the agent is an external one.
    pub is_external: bool,
    pub clock: fn() -> Timestamp,
}

/// The result of a permission check that allows a call.
pub(super) struct Permit {
    /// A note with the approver's comment, to be appended to the result of the call; may be empty.
    pub note: String,
    /// The input that a hook has set instead of the call's input; `None` if no hook has.
    pub input: Option<Value>,
}

impl ToolRunner {
    /// Returns the call that may run: with `input` if a hook has set one, else `call` unchanged.
    pub(super) async fn permitted_call<'a>(
        &self,
        agent: &Name,
        call: &'a ToolCall,
        input: Option<Value>,
    ) -> Cow<'a, ToolCall> {
        match input {
            Some(input) => Cow::Owned(self.replace_input(agent, call, input).await),
            None => Cow::Borrowed(call),
        }
    }

    /// Executes one tool call as [`ToolRunner::carry_out`] does, but without the PreToolUse and PostToolUse hooks. The
    /// PermissionRequest hooks run. `hooked` is the decision of the PreToolUse hooks, which have already run.
    pub(super) async fn execute(
        &self,
        agent: &Name,
        call: &ToolCall,
        hooked: &HookPermission,
    ) -> (ToolOutput, Duration) {
        let Some(tool) = self.tools.iter().find(|t| t.name == call.name) else {
            return self.call_server(agent, call, hooked).await;
        };
        let judge = |call: &ToolCall| {
            let ruling =
                self.with_policy_context(|standing| policy::decide(tool, &call.input, standing));
            self.asking_for_network(ruling, agent, tool, call)
        };
        let permit = match self.permit(agent, call, judge, hooked).await {
            Ok(permit) => permit,
            Err(why) => return (ToolOutput::error(why), Duration::ZERO),
        };
        let call = &*self.permitted_call(agent, call, permit.input).await;
        let cancel = CancellationToken::new();
        let _ends_with_this = cancel.clone().drop_guard();
        let context = ToolContext {
            agent: agent.clone(),
            is_external: self.is_external,
            call: call.id.clone(),
            root: self.root.clone(),
            stores: self.stores.clone(),
            workdir: self.workdir.clone(),
            skills: self.skills.clone(),
            host: Arc::clone(&self.host),
            cancel,
            timeout: self.timeout,
            redactor: self.redactor.clone(),
            supervisor: self.supervisor.clone(),
            snapshots: Arc::clone(&self.snapshots),
            clock: self.clock,
        };
        let began = Instant::now();
        let output = (tool.run)(context, self.input_for(tool, call)).await;
        let took = began.elapsed();
        (self.finish(output, &permit.note), took)
    }

    /// Redacts secrets in an output, shortens its text to make room for `note` within [`RESULT_MAX`], and appends
    /// `note` to the text. Does not redact or shorten `note`; a note longer than half of [`RESULT_MAX`] makes the text
    /// longer than that limit.
    pub(super) fn finish(&self, mut output: ToolOutput, note: &str) -> ToolOutput {
        // A cut through a secret would hide the secret from the redactor, so the text is redacted first.
        output.text = self.redactor.text(&output.text).into_owned();
        output.diff = self.redactor.text(&output.diff).into_owned();
        output.text = head_and_tail(&output.text, RESULT_MAX - note.len().min(RESULT_MAX / 2));
        output.text.push_str(note);
        output
    }

    /// Returns the input that the tool receives. In texts for others (messages, tasks, plans, questions), secrets are
    /// redacted. Commands and files stay as the model wrote them.
    fn input_for(&self, tool: &Tool, call: &ToolCall) -> Value {
        match tool.access {
            Access::Crew => self.redactor.data(call.input.clone()),
            Access::Read | Access::Write | Access::Run | Access::Delegate => call.input.clone(),
        }
    }

    /// Returns the ruling that also considers the call's network access. If the settings require approval for it, the
    /// result requires approval, with this reason added to the reason in `ruling`. A denial stays unchanged.
    fn asking_for_network(
        &self,
        ruling: Ruling,
        agent: &Name,
        tool: &Tool,
        call: &ToolCall,
    ) -> Ruling {
        let command = call.input.get("command").and_then(Value::as_str);
        let question = command
            .filter(|_| tool.access == Access::Run)
            .and_then(|text| reach::network_question(self.supervisor.as_deref(), agent, text));
        match (ruling, question) {
            (Ruling::Allow, Some(why)) => Ruling::Ask { why },
            (Ruling::Ask { why }, Some(more)) => Ruling::Ask {
                why: format!("{why}; {more}"),
            },
            (ruling, _) => ruling,
        }
    }

    pub(super) fn with_policy_context<T>(&self, judge: impl FnOnce(&PolicyContext<'_>) -> T) -> T {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        judge(&PolicyContext {
            rules: &rules,
            gate: self.mailbox.gate(),
            workdir: &self.workdir,
        })
    }

    /// Decides whether a call may run. `judge` applies the permission rules, and `hooked` is the decision of the
    /// PreToolUse hooks. If these two require approval, runs the PermissionRequest hooks. If these hooks decide
    /// nothing, waits for the approver.
    ///
    /// # Errors
    /// Returns the error text of the call if it may not run.
    pub(super) async fn permit(
        &self,
        agent: &Name,
        call: &ToolCall,
        judge: impl Fn(&ToolCall) -> Ruling,
        hooked: &HookPermission,
    ) -> Result<Permit, String> {
        let permit = |note: String, input| Ok(Permit { note, input });
        let denied = |why: String| Err(format!("Error: not allowed: {why}"));
        let why = match hooked.apply(judge(call)) {
            Ruling::Allow => return permit(String::new(), None),
            Ruling::Deny { why } => return denied(why),
            Ruling::Ask { why } => why,
        };
        match self.run_request_hooks(agent, call).await {
            RequestHook::Denied(why) => return Err(why),
            RequestHook::Approved(None) => return permit(String::new(), None),
            RequestHook::Approved(Some(input)) => {
                let changed = ToolCall {
                    input: input.clone(),
                    ..call.clone()
                };
                return match judge(&changed) {
                    Ruling::Deny { why } => denied(why),
                    Ruling::Allow | Ruling::Ask { .. } => permit(String::new(), Some(input)),
                };
            }
            RequestHook::Ask => {}
        }
        // A hook asks for approval although the rules may allow the call, so the rules must not approve this request.
        let asked = match hooked {
            HookPermission::MustAsk(_) => None,
            HookPermission::Rules | HookPermission::Allowed => self.asked_call(call, &why),
        };
        permit(self.ask(agent, call, &why, asked).await?, None)
    }

    /// Requests approval of a call. `asked` is the call in the form that the request stores. With it, session
    /// permissions can approve the request, and identical requests share one decision. If it is `None`, only the
    /// approver decides, and only about this call. Returns the approver's comment as a note that is appended to the
    /// call's result; empty if there is no comment.
    ///
    /// # Errors
    /// Returns the error text of the call if it was not approved.
    pub(super) async fn ask(
        &self,
        agent: &Name,
        call: &ToolCall,
        why: &str,
        asked: Option<PendingCall>,
    ) -> Result<String, String> {
        let names = ["command", permission_card::RUNS];
        let command = names
            .iter()
            .find_map(|name| call.input.get(*name)?.as_str());
        let command = command.filter(|_| server_of(&call.name).is_none());
        let parts = command.map_or_else(Vec::new, |c| {
            self.with_policy_context(|s| policy::flagged_parts(c, s))
        });
        // A cut through a secret would hide the secret from the redactor, so the parts are redacted first.
        let clean = |part: &String| self.redactor.text(part).into_owned();
        let parts: Vec<String> = parts.iter().map(clean).collect();
        let body = permission_card::body(&call.name, &call.input, why, &parts);
        let body = self.redactor.text(&body).into_owned();
        let asking = NewRequest {
            workdir: path_below_root(&self.root, &self.workdir),
            call: asked,
            ..NewRequest::new(RequestKind::Permission, agent, body)
        };
        let asked = self.host.ask(agent, asking).await;
        let request = asked.map_err(|e| format!("Error: approval could not be requested: {e}"))?;
        let comment = head_and_tail(&request.comment, COMMENT_MAX);
        let said = if comment.is_empty() {
            String::new()
        } else {
            format!(": {comment}")
        };
        let by = match request.decided_by.as_str() {
            "user" => "the user",
            other => other,
        };
        match request.status {
            // A comment by an automatic rule has nothing to do with this call, so it is left out.
            RequestStatus::Approved if comment.is_empty() || by == Name::policy().as_str() => {
                Ok(String::new())
            }
            RequestStatus::Approved => {
                Ok(format!("\n[Approved by {by} with the comment: {comment}]"))
            }
            RequestStatus::Rejected => Err(format!(
                "Error: rejected by {by}{said}. Do not retry this call: find another way or ask."
            )),
            RequestStatus::Pending | RequestStatus::Withdrawn => Err(format!(
                "Error: not run: the approval request was withdrawn before a decision{said}"
            )),
        }
    }

    /// Returns the call in the form that its approval request stores, so that identical calls can share one decision.
    /// `None` if the call is too long to be stored whole, or contains a secret. Also `None` for an external agent's own
    /// tool that runs no command, because different calls could then look identical.
    pub(super) fn asked_call(&self, call: &ToolCall, why: &str) -> Option<PendingCall> {
        let is_command = table::find(&call.name).is_some_and(|tool| tool.access == Access::Run);
        if self.is_external && !is_command && server_of(&call.name).is_none() {
            return None;
        }
        // A tool of an MCP server may have an input named `command` that is not a shell command.
        let command = call
            .input
            .get("command")
            .filter(|_| server_of(&call.name).is_none());
        let shown = match command.and_then(Value::as_str) {
            Some(command) => command.to_string(),
            None => call.input.to_string(),
        };
        if shown.len() > SHOWN_MAX || self.redactor.has_secret(&shown) {
            return None;
        }
        let mut asked = PendingCall {
            tool: call.name.clone(),
            input: shown,
            why: why.into(),
            scopes: Vec::new(),
        };
        asked.scopes = match server_of(&call.name) {
            Some(_) => {
                let definition = self.definition_of(&call.name);
                policy::servers::offered_scopes(&call.name, definition, &asked.input)
            }
            None => self.with_policy_context(|s| pending::scopes(&asked, s)),
        };
        Some(asked)
    }
}
