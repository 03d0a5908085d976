//! Converts a request to the options among which the user chooses in the editor, and converts the editor's answer to
//! the user's decision.

use agent_client_protocol::v1::schema::{
    CreateElicitationResponse, ElicitationAction, ElicitationContentValue, PermissionOption,
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionResponse,
};
use serde_json::Value;

use super::requests::EditorAnswer;
use super::tool_calls::BODY_MAX;
use crate::domain::ids::Name;
use crate::domain::request::{Decision, Request, RequestKind, Verdict};
use crate::domain::text::{bytes_cut, clip, escape_control_chars, one_line};
use crate::protocol::Command;

/// Maximum length of the name of an option, in characters.
const OPTION_MAX: usize = 200;
/// The name of the field for the answer in a form.
pub const ANSWER_FIELD: &str = "answer";

/// The id of the option that allows or approves a request. The following constants are the ids of other options; the
/// ids of scopes and choices end with an index.
const ALLOW: &str = "allow";
const REJECT: &str = "reject";
const WRITE: &str = "write";
const SCOPE: &str = "scope-";
const CHOICE: &str = "choice-";

fn option(id: impl Into<String>, name: &str, kind: PermissionOptionKind) -> PermissionOption {
    let id: String = id.into();
    PermissionOption::new(id, clip(&one_line(name), OPTION_MAX), kind)
}

/// Returns the options with which the user can decide `request`, in the order in which the editor shows them.
pub fn options(request: &Request) -> Vec<PermissionOption> {
    let (once, always) = (
        PermissionOptionKind::AllowOnce,
        PermissionOptionKind::AllowAlways,
    );
    let mut all = Vec::new();
    match request.kind {
        RequestKind::Permission => {
            let is_whole = request.body.len() <= BODY_MAX && bytes_cut(&request.body) == 0;
            let name = if is_whole {
                "Allow"
            } else {
                "Allow without seeing all of it"
            };
            all.push(option(ALLOW, name, once));
            let scopes = request.call.iter().flat_map(|call| &call.scopes);
            for (at, scope) in scopes.enumerate() {
                let name = format!("Allow the team until crewdeck ends: {scope}");
                all.push(option(format!("{SCOPE}{at}"), &name, always));
            }
        }
        RequestKind::Plan | RequestKind::Shutdown => all.push(option(ALLOW, "Approve", once)),
        RequestKind::Budget => all.push(option(ALLOW, "Continue beyond the budget", once)),
        RequestKind::Question => {
            for (at, choice) in request.choices.iter().enumerate() {
                all.push(option(
                    format!("{CHOICE}{at}"),
                    &escape_control_chars(choice),
                    once,
                ));
            }
            all.push(option(WRITE, "Answer with my next message", once));
        }
    }
    let reject = match request.kind {
        RequestKind::Question => "Let the agent decide",
        _ => "Reject",
    };
    all.push(option(REJECT, reject, PermissionOptionKind::RejectOnce));
    all
}

/// Returns the user's answer to `request` from `answer`, the result of `session/request_permission`. Returns
/// [`EditorAnswer::Later`] if no option or an unknown one was chosen.
pub fn option_answer(request: &Request, answer: Value) -> EditorAnswer {
    let chosen = match serde_json::from_value(answer) {
        Ok(RequestPermissionResponse {
            outcome: RequestPermissionOutcome::Selected(selected),
            ..
        }) => selected.option_id.0,
        Ok(_) | Err(_) => return EditorAnswer::Later,
    };
    let index = |prefix: &str| chosen.strip_prefix(prefix)?.parse::<usize>().ok();
    let approve = |comment: String| decision(request, Verdict::Approve, comment);
    match &*chosen {
        ALLOW if request.kind != RequestKind::Question => approve(String::new()),
        REJECT => decision(request, Verdict::Reject, String::new()),
        WRITE if request.kind == RequestKind::Question => {
            EditorAnswer::NextMessage(request.id.clone())
        }
        _ => {
            let choice = index(CHOICE).and_then(|at| request.choices.get(at));
            let scopes = request.call.as_ref().map(|call| &call.scopes);
            let scope = index(SCOPE).and_then(|at| scopes?.get(at));
            match (choice, scope) {
                (Some(choice), _) => approve(choice.clone()),
                (None, Some(scope)) => {
                    let (request, scope) = (request.id.clone(), scope.clone());
                    EditorAnswer::Decision(request.clone(), Command::Allow { request, scope })
                }
                (None, None) => EditorAnswer::Later,
            }
        }
    }
}

/// Returns the user's answer to the question `request` from `answer`, the result of its form. A form that is declined
/// or empty rejects the question; a cancelled one is [`EditorAnswer::Later`].
pub fn form_answer(request: &Request, answer: Value) -> EditorAnswer {
    let Ok(answer) = serde_json::from_value::<CreateElicitationResponse>(answer) else {
        return EditorAnswer::Later;
    };
    match answer.action {
        ElicitationAction::Accept(accepted) => {
            let content = accepted.content.unwrap_or_default();
            match content.get(ANSWER_FIELD) {
                Some(ElicitationContentValue::String(text)) if !text.trim().is_empty() => {
                    decision(request, Verdict::Approve, text.trim().into())
                }
                _ => decision(request, Verdict::Reject, String::new()),
            }
        }
        ElicitationAction::Decline => decision(request, Verdict::Reject, String::new()),
        _ => EditorAnswer::Later,
    }
}

fn decision(request: &Request, verdict: Verdict, comment: String) -> EditorAnswer {
    EditorAnswer::Decision(request.id.clone(), decide(request, verdict, comment))
}

/// Returns the command that decides `request` in the name of the user.
pub fn decide(request: &Request, verdict: Verdict, comment: String) -> Command {
    Command::Decide(Decision::on(request, verdict, Name::user(), comment))
}
