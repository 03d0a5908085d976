//! Converts the answer of a hook to a decision. The answer is the exit code and output of a program, or the response of
//! a server.

use serde_json::{Map, Value};

use super::event::HookEvent;
use super::spec::HookSpec;
use crate::domain::text::{clip, escape_control_chars, one_line};

/// Maximum length, in characters, of a hook's text that a message quotes.
const SHOWN_MAX: usize = 200;
/// The exit code with which a hook blocks the event. [`HookEvent::block_effect`] says what a block changes.
const BLOCKS: i32 = 2;
/// The reason that is given for stopping an agent if the hook gives none.
const STOPPED: &str = "a hook stopped the agent";

/// What a hook decides about a tool call, from weakest to strictest. If several hooks decide, the strictest decision
/// counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PermissionVerdict {
    /// The call runs without approval. Has no effect if the permission rules deny the call, or if the settings forbid
    /// hooks to approve calls.
    Allow,
    /// The call needs approval, even if the permission rules allow it.
    Ask,
    /// The permission rules of crewdeck decide.
    Defer,
    /// The call does not run.
    Deny,
}

/// How a hook ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookResult {
    Exited {
        code: i32,
        stdout: String,
        stderr: String,
    },
    /// The server of the hook answered with a status of success (2xx) and this body.
    Responded { body: String },
    /// The hook gave no answer: it could not be started, was killed or ran too long, or its server could not be reached
    /// or responded with an error. `why` continues a sentence that begins with the hook, such as
    /// `responded with status 500`.
    Failed { why: String },
}

/// The decision of one hook.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HookDecision {
    /// The decision about a tool call and its reason, which can be empty; `None` if the hook does not decide.
    pub permission: Option<(PermissionVerdict, String)>,
    /// The new input of the tool call, which replaces the whole input; `None` if the hook does not change the input.
    /// The fields have the names of Claude Code.
    pub updated_input: Option<Value>,
    /// Why the hook blocks the event; `None` if it does not. [`HookEvent::block_effect`] says what a block changes. If
    /// the hook denies a tool call, the reason is in `permission` instead.
    pub block: Option<String>,
    /// Why the hook stops the agent; `None` if it does not.
    pub stop: Option<String>,
    /// A text for the model; `None` if there is none.
    pub context: Option<String>,
    /// A text for the user; `None` if there is none.
    pub message: Option<String>,
    /// The path of the directory that a hook of `WorktreeCreate` has created; `None` for hooks of other events.
    pub worktree: Option<String>,
    /// What went wrong with the hook, on one line for the user; `None` if nothing did. The other fields apply
    /// nevertheless.
    pub problem: Option<String>,
}

impl HookDecision {
    /// Returns why the hook blocks the event or denies the tool call; `None` if it does neither.
    pub fn block_reason(&self) -> Option<&str> {
        match &self.permission {
            _ if self.block.is_some() => self.block.as_deref(),
            Some((PermissionVerdict::Deny, reason)) => Some(reason),
            _ => None,
        }
    }

    /// Returns this decision without its block and its denial of a tool call. Used when the user decides to ignore the
    /// block of a hook. A request to stop the agent stays in effect.
    #[must_use]
    pub fn without_block(mut self) -> HookDecision {
        self.block = None;
        self.permission
            .take_if(|(verdict, _)| *verdict == PermissionVerdict::Deny);
        self
    }
}

/// Returns the decision of a hook that has ended. After exit code 0, the decision is read from standard output; for a
/// hook on a server, it is read from the body of the response. Exit code 2 blocks the event, with the text on standard
/// error as the reason. Any other end of the hook is a problem, and so is an invalid answer. A problem blocks the event
/// only if [`HookSpec::blocks_on_failure`] is set or the event is `WorktreeCreate`.
pub fn decide(hook: &HookSpec, result: HookResult) -> HookDecision {
    let event = hook.event;
    let mut out = match result {
        HookResult::Exited {
            code: 0, stdout, ..
        } => output(event, &stdout),
        HookResult::Exited {
            code: BLOCKS,
            stderr,
            ..
        } => {
            let reason = match stderr.trim() {
                "" => "no reason given on stderr",
                text => text,
            };
            let mut out = HookDecision::default();
            out.block(event, format!("[{}]: {reason}", hook.runs()));
            out
        }
        HookResult::Exited { code, stderr, .. } => {
            let line = stderr.lines().map(str::trim).find(|line| !line.is_empty());
            HookDecision::from_failure(match line {
                Some(line) => format!("exited with code {code}: {}", format_line(line)),
                None => format!("exited with code {code} and no text on stderr"),
            })
        }
        HookResult::Responded { body } if body.trim().is_empty() => HookDecision::default(),
        HookResult::Responded { body } if body.trim_start().starts_with('{') => {
            output(event, &body)
        }
        HookResult::Responded { .. } => {
            HookDecision::from_failure("responded with a body that is not a JSON object".into())
        }
        HookResult::Failed { why } => HookDecision::from_failure(why),
    };
    // The hook of `WorktreeCreate` must return a directory, because the agent needs one to work in.
    let is_required = hook.blocks_on_failure || event == HookEvent::WorktreeCreate;
    if is_required && let Some(problem) = out.problem.clone() {
        out.block(event, format!("[{}]: {problem}", hook.runs()));
    }
    out.problem = out.problem.map(|what| {
        let name = format!("Hook {} of {}", hook.label(), hook.source.file);
        one_line(&escape_control_chars(&format!(
            "{name} ({}) {what}",
            format_line(&hook.runs())
        )))
    });
    out
}

/// Returns the decision for a hook that is not run, because its files have changed since the user approved it, or
/// because the approval could not be checked. If a block by the hook could have prevented something, the hook counts as
/// blocking, with the reason `why`. Otherwise the decision is empty. Without this rule, an agent could switch a hook
/// off by editing its files.
pub fn decide_changed(hook: &HookSpec, why: &str) -> HookDecision {
    let mut out = HookDecision::default();
    if hook.event.block_effect().prevents() {
        out.block(hook.event, format!("[{}]: {why}", hook.runs()));
    }
    out
}

impl HookDecision {
    fn from_failure(why: String) -> HookDecision {
        HookDecision {
            problem: Some(why),
            ..HookDecision::default()
        }
    }

    fn block(&mut self, event: HookEvent, reason: String) {
        match event {
            HookEvent::PreToolUse | HookEvent::PermissionRequest => {
                self.permission = Some((PermissionVerdict::Deny, reason));
                self.updated_input = None;
            }
            _ => self.block = Some(reason),
        }
    }
}

/// Returns the decision in `text`, which is a hook's standard output or the body of a response. Text that is not a JSON
/// object has a meaning for two kinds of events: for `WorktreeCreate`, it is the path of the directory; for the events
/// with [`HookEvent::is_output_context`], it is context for the model. For other events it is ignored.
fn output(event: HookEvent, text: &str) -> HookDecision {
    let text = text.trim();
    if text.starts_with('{') {
        return match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(fields) => AnswerReader {
                event,
                out: HookDecision::default(),
            }
            .read(&fields),
            Err(e) => HookDecision::from_failure(format!(
                "returned invalid JSON, which is ignored: line {}, column {}",
                e.line(),
                e.column()
            )),
        };
    }
    let mut out = HookDecision::default();
    if event == HookEvent::WorktreeCreate {
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        match last {
            Some(path) => out.worktree = Some(path.to_string()),
            None => out.problem = Some("printed no worktree path on stdout".into()),
        }
    } else if event.is_output_context() && !text.is_empty() {
        out.context = Some(text.to_string());
    }
    out
}

/// Reads a decision from the JSON object with which a hook answers.
struct AnswerReader {
    event: HookEvent,
    out: HookDecision,
}

impl AnswerReader {
    fn read(mut self, fields: &Map<String, Value>) -> HookDecision {
        self.out.message = self.text(fields, "systemMessage");
        let reason = self.text(fields, "reason");
        match fields.get("decision") {
            None | Some(Value::Null) => {}
            Some(Value::String(word)) => match (word.as_str(), self.event) {
                ("block" | "deny", event) => {
                    self.out
                        .block(event, reason.unwrap_or_else(|| "no reason given".into()));
                }
                ("approve" | "allow", HookEvent::PreToolUse | HookEvent::PermissionRequest) => {
                    let allow = (PermissionVerdict::Allow, reason.unwrap_or_default());
                    self.out.permission = Some(allow);
                }
                ("approve" | "allow", _) => {}
                (other, _) => {
                    self.wrong(format!(
                        "returned the unknown decision '{}': use approve or block",
                        format_line(other)
                    ));
                }
            },
            Some(_) => self.wrong("returned a decision that is not a string".into()),
        }
        match fields.get("continue") {
            None | Some(Value::Null | Value::Bool(true)) => {}
            Some(Value::Bool(false)) => {
                let reason = self.text(fields, "stopReason");
                self.out.stop = Some(reason.unwrap_or_else(|| STOPPED.into()));
            }
            Some(_) => {
                self.wrong("returned a value for continue that is not true or false".into());
            }
        }
        match fields.get("hookSpecificOutput") {
            None | Some(Value::Null) => {}
            Some(Value::Object(specific)) => self.read_specific(specific),
            Some(_) => self.wrong("returned a hookSpecificOutput that is not an object".into()),
        }
        let is_blocked = self.out.block.is_some();
        if self.event == HookEvent::WorktreeCreate && self.out.worktree.is_none() && !is_blocked {
            self.wrong("returned no worktreePath".into());
        }
        self.out
    }

    fn read_specific(&mut self, fields: &Map<String, Value>) {
        let name = self.text(fields, "hookEventName");
        if name
            .as_deref()
            .is_some_and(|name| name != self.event.name())
        {
            return self.wrong(format!(
                "returned the hookEventName '{}' instead of {}",
                format_line(&name.unwrap_or_default()),
                self.event.name()
            ));
        }
        self.out.context = self.text(fields, "additionalContext");
        match self.event {
            HookEvent::PreToolUse => {
                let reason = self
                    .text(fields, "permissionDecisionReason")
                    .unwrap_or_default();
                let word = self.text(fields, "permissionDecision");
                self.verdict(word.as_deref(), reason);
                self.updated_input(fields);
            }
            HookEvent::PermissionRequest => match fields.get("decision") {
                Some(Value::Object(decision)) => {
                    let reason = self.text(decision, "message").unwrap_or_default();
                    let word = self.text(decision, "behavior");
                    self.verdict(word.as_deref(), reason.clone());
                    self.updated_input(decision);
                    if decision.get("interrupt") == Some(&Value::Bool(true)) {
                        let is_given = !reason.is_empty();
                        self.out.stop = Some(if is_given { reason } else { STOPPED.into() });
                    }
                }
                None | Some(Value::Null) => {}
                Some(_) => self.wrong("returned a decision that is not an object".into()),
            },
            HookEvent::WorktreeCreate => self.out.worktree = self.text(fields, "worktreePath"),
            _ => {}
        }
    }

    fn verdict(&mut self, word: Option<&str>, reason: String) {
        let verdict = match word {
            None => return,
            Some("allow") => PermissionVerdict::Allow,
            Some("ask") => PermissionVerdict::Ask,
            Some("defer") => PermissionVerdict::Defer,
            Some("deny") => PermissionVerdict::Deny,
            Some(other) => {
                return self.wrong(format!(
                    "returned the unknown permission '{}': use allow, ask, defer or deny",
                    format_line(other)
                ));
            }
        };
        // A weaker decision in `hookSpecificOutput` does not replace a stricter one at the top level of the answer.
        let earlier = self.out.permission.as_ref().map(|(verdict, _)| *verdict);
        if earlier < Some(verdict) {
            self.out.permission = Some((verdict, reason));
        }
    }

    fn updated_input(&mut self, fields: &Map<String, Value>) {
        match fields.get("updatedInput") {
            None | Some(Value::Null) => {}
            Some(Value::Object(input)) => self.out.updated_input = Some(input.clone().into()),
            Some(_) => self.wrong("returned an updatedInput that is not an object".into()),
        }
    }

    fn text(&mut self, fields: &Map<String, Value>, name: &str) -> Option<String> {
        match fields.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.is_empty() => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => {
                self.wrong(format!("returned a value for {name} that is not a string"));
                None
            }
        }
    }

    fn wrong(&mut self, what: String) {
        self.out.problem.get_or_insert(what);
    }
}

fn format_line(text: &str) -> String {
    clip(&one_line(&escape_control_chars(text)), SHOWN_MAX)
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
