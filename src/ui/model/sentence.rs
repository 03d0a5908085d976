//! Formats messages and requests as one line of plain text, which the screen shows instead of their JSON.

use serde_json::Value;

use crate::domain::graph::TaskGraph;
use crate::domain::ids::Name;
use crate::domain::mail::{MailKind, MailMessage};
use crate::domain::mcp::shown_name;
use crate::domain::request::{PendingCall, Request, RequestKind, RequestStatus};
use crate::domain::text::one_line;
use crate::ui::text::{display_name, longest_fitting};

/// Returns the content of a message in one line, without sender and recipient.
pub fn message(message: &MailMessage) -> String {
    let words = words(&message.content);
    match &message.kind {
        MailKind::Message => words,
        MailKind::Broadcast => with("to all", &words),
        MailKind::ShutdownRequest => with("please shut down", &words),
        MailKind::ShutdownResponse => match read_approval(message) {
            Some(true) => with("agrees to shut down", &words),
            Some(false) => with("does not shut down", &words),
            None => with("answers the shutdown request", &words),
        },
        MailKind::PlanRequest => with("asks for approval of a plan", &words),
        MailKind::PlanApprovalResponse | MailKind::PlanResponse => match read_approval(message) {
            Some(true) => with("plan approved", &words),
            Some(false) => with("plan rejected", &words),
            None => with("answers the plan", &words),
        },
        MailKind::TaskAssignment => with("assigns this task", &words),
        MailKind::IdleNotification => with("has nothing to do", &words),
        MailKind::PermissionRequest => with("asks for permission", &words),
        MailKind::PermissionResponse => match read_approval(message) {
            Some(true) => with("permission granted", &words),
            Some(false) => with("permission denied", &words),
            None => with("answers the permission request", &words),
        },
        MailKind::Other(kind) => with(&one_line(kind).replace('_', " "), &words),
    }
}

/// Returns the name of a message's recipient for the screen; `all` for a broadcast.
pub fn recipient(message: &MailMessage) -> String {
    match message.kind {
        MailKind::Broadcast => "all".into(),
        _ => display_name(&message.to),
    }
}

/// Returns the text of a message in one line, without the words that [`message`] adds.
pub fn content(message: &MailMessage) -> String {
    words(&message.content)
}

/// Returns a sentence that says who requests what, such as `bob asks you to approve its plan`. The sentence does not
/// name the task.
pub fn request(request: &Request) -> String {
    match request.kind {
        RequestKind::Plan => format!("{} asks you to approve its plan", request.from),
        RequestKind::Permission => format!("{} asks for permission", request.target),
        RequestKind::Budget => format!("{} has reached its budget and waits", request.from),
        RequestKind::Question => format!("{} asks you", request.from),
        RequestKind::Shutdown => {
            format!("{} wants {} to shut down", request.from, request.target)
        }
    }
}

/// Returns the heading of a request's card: the agent, the kind of request and the task. If it does not fit into
/// `columns` columns, returns a shorter form, so that more of the task is visible. Even the shorter form may be wider
/// than `columns`.
pub fn heading(asked: &Request, board: &TaskGraph, columns: usize) -> String {
    let (whole, short) = (request(asked), brief(asked));
    let Some(id) = asked.task else {
        return longest_fitting(&[&whole, &short], columns).to_string();
    };
    let link = match asked.kind {
        RequestKind::Question => "about",
        _ => "for",
    };
    let subject = board.get(id).map(|task| one_line(&task.subject));
    let task = match subject {
        Some(subject) => format!("{id} {subject}"),
        None => id.to_string(),
    };
    let forms = [
        format!("{whole} {link} {task}"),
        format!("{short} {link} {task}"),
    ];
    longest_fitting(&[&forms[0], &forms[1]], columns).to_string()
}

/// Returns in one line what a request is about: for a permission the command, or the tool and its input; for a question
/// its first line. Returns `None` for a plan, a budget or a shutdown, because the heading already says it, and for an
/// empty text.
pub fn about(request: &Request) -> Option<String> {
    let mut lines = request.body.lines();
    let words = match (request.kind, &request.call) {
        (RequestKind::Permission, Some(call)) => call_words(call),
        // The first line of the body names the tool.
        (RequestKind::Permission, None) => {
            let line = lines.nth(1)?;
            one_line(line.strip_prefix("$ ").unwrap_or(line))
        }
        (RequestKind::Question, _) => one_line(lines.next()?),
        (RequestKind::Plan | RequestKind::Budget | RequestKind::Shutdown, _) => return None,
    };
    (!words.trim().is_empty()).then_some(words)
}

/// Returns a call in one line. If the input is a JSON object, the line is the tool and the input. Otherwise the input
/// is a command, and the line is its first line.
fn call_words(call: &PendingCall) -> String {
    match serde_json::from_str::<Value>(&call.input) {
        Ok(input) if input.is_object() => {
            let tool = one_line(&shown_name(&call.tool));
            format!("{tool} {}", one_line(&input.to_string()))
        }
        _ => one_line(call.input.lines().next().unwrap_or_default()),
    }
}

/// Returns the user's decision on a request as one line for the conversation. Returns `None` if the request is open or
/// withdrawn, or if a rule or another agent has decided it. Also returns `None` for a question, because the
/// conversation shows the answer to it.
pub fn decision(request: &Request) -> Option<String> {
    let is_approved = match request.status {
        RequestStatus::Approved => true,
        RequestStatus::Rejected => false,
        RequestStatus::Pending | RequestStatus::Withdrawn => return None,
    };
    if request.decided_by != Name::user().as_str() {
        return None;
    }
    let done = if is_approved { "approved" } else { "rejected" };
    Some(match request.kind {
        RequestKind::Plan => format!("you {done} the plan"),
        RequestKind::Permission => match &request.call {
            Some(call) => format!("you {done} the {} call", shown_name(&call.tool)),
            None => format!("you {done} the permission request"),
        },
        RequestKind::Shutdown => format!("you {done} the shutdown of {}", request.target),
        RequestKind::Budget => format!("you {done} a higher budget"),
        RequestKind::Question => return None,
    })
}

/// Returns a sentence that says how a closed request was decided and by whom. For a decision of the user it is, for
/// example, `Approved bob's plan.`; for another approver, `lead approved bob's plan.`; for a withdrawn request,
/// `Withdrawn: bob's plan.`.
pub fn closed(request: &Request) -> String {
    let Request { from, target, .. } = request;
    let what = match request.kind {
        RequestKind::Plan => format!("{from}'s plan"),
        RequestKind::Permission => match &request.call {
            Some(call) => format!("{target}'s {} call", one_line(&shown_name(&call.tool))),
            None => format!("{target}'s permission request"),
        },
        RequestKind::Shutdown => format!("the shutdown of {target}"),
        RequestKind::Budget => format!("a higher budget for {from}"),
        RequestKind::Question => format!("{from}'s question"),
    };
    let is_question = request.kind == RequestKind::Question;
    let done = match (request.status, is_question) {
        (RequestStatus::Approved, false) => "approved",
        (RequestStatus::Approved, true) => "answered",
        (RequestStatus::Rejected, false) => "rejected",
        (RequestStatus::Rejected, true) => "declined",
        (RequestStatus::Pending | RequestStatus::Withdrawn, _) => {
            return format!("Withdrawn: {what}.");
        }
    };
    let by = request.decided_by.as_str();
    if by.is_empty() || by == Name::user().as_str() {
        let (first, rest) = done.split_at(1);
        return format!("{}{rest} {what}.", first.to_uppercase());
    }
    format!("{} {done} {what}.", one_line(by))
}

/// Returns a shorter form of the text from [`request`], such as `bob: plan`.
fn brief(request: &Request) -> String {
    match request.kind {
        RequestKind::Plan => format!("{}: plan", request.from),
        RequestKind::Permission => format!("{}: permission", request.target),
        RequestKind::Budget => format!("{}: budget reached", request.from),
        RequestKind::Question => format!("{} asks", request.from),
        RequestKind::Shutdown => format!("{}: shut {} down", request.from, request.target),
    }
}

/// Returns `sentence: words`, or only `sentence` if there are no words. If `words` already begins with `sentence`, does
/// not repeat it.
fn with(sentence: &str, words: &str) -> String {
    let words = match words.get(..sentence.len()) {
        Some(start) if start.eq_ignore_ascii_case(sentence) => {
            let behind = &words[sentence.len()..];
            if behind.starts_with(|c: char| c.is_alphanumeric()) {
                words
            } else {
                behind.trim_start_matches([':', '.', ' '])
            }
        }
        Some(_) | None => words,
    };
    if words.is_empty() {
        sentence.into()
    } else {
        format!("{sentence}: {words}")
    }
}

fn read_approval(message: &MailMessage) -> Option<bool> {
    ["approve", "approved"]
        .iter()
        .find_map(|field| message.extra.get(*field))
        .and_then(Value::as_bool)
}

/// Returns the text of a message in one line. Other programs may write a JSON object as the text. Of such an object,
/// returns the texts in its known fields, separated by commas, or the JSON if it has none of these fields.
fn words(content: &str) -> String {
    let text = content.trim();
    if text.starts_with('{')
        && let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(text)
    {
        let named = [
            "text", "message", "content", "reason", "feedback", "comment", "plan", "subject",
        ];
        let found: Vec<&str> = named
            .iter()
            .filter_map(|name| fields.get(*name).and_then(Value::as_str))
            .collect();
        if !found.is_empty() {
            return one_line(&found.join(", "));
        }
    }
    one_line(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_uses_the_longest_form_that_fits() {
        let board = crate::ui::fixture::board();
        let plan = crate::ui::fixture::plan("r1", "1. go");
        let asked = crate::ui::fixture::question("q1", &[]);
        let mut gone = plan.clone();
        gone.task = Some(crate::domain::ids::TaskId(99));
        let mut free = plan.clone();
        free.task = None;
        let whole = "bob asks you to approve its plan for #2 Parse the header of the file";
        let short = "bob: plan for #2 Parse the header of the file";
        let cases = [
            (&plan, 80, whole),
            (&plan, 68, whole),
            (&plan, 67, short),
            (&plan, 20, short),
            (&asked, 80, "alice asks you about #3 Read compressed blocks"),
            (&asked, 42, "alice asks about #3 Read compressed blocks"),
            (&gone, 80, "bob asks you to approve its plan for #99"),
            (&free, 80, "bob asks you to approve its plan"),
            (&free, 10, "bob: plan"),
        ];
        for (request, columns, expected) in cases {
            assert_eq!(heading(request, &board, columns), expected, "{columns}");
        }
    }

    #[test]
    fn permission_shows_its_call_in_one_line() {
        let mut asked = crate::ui::fixture::permission("r1");
        let mut shown = |tool: &str, input: &str| {
            asked.call = Some(PendingCall {
                tool: tool.into(),
                input: input.into(),
                why: String::new(),
                scopes: Vec::new(),
            });
            about(&asked)
        };
        let cases = [
            ("bash", "cargo test\ncargo run", "cargo test"),
            (
                "mcp__git__log",
                "{\n  \"max\": 3\n}",
                "git · log {\"max\":3}",
            ),
            (
                "write_file",
                r#"{"path": "a"}"#,
                r#"write_file {"path":"a"}"#,
            ),
        ];
        for (tool, input, expected) in cases {
            assert_eq!(shown(tool, input).as_deref(), Some(expected));
        }
        assert_eq!(shown("bash", ""), None);
    }

    #[test]
    fn closed_request_names_decision_and_subject() {
        use RequestStatus::{Approved, Rejected, Withdrawn};
        let plan = crate::ui::fixture::plan("r1", "1. go");
        let asked = crate::ui::fixture::question("q1", &[]);
        let allowed = crate::ui::fixture::permission("r2");
        let cases = [
            (&plan, Approved, "user", "Approved bob's plan."),
            (&plan, Rejected, "user", "Rejected bob's plan."),
            (&plan, Rejected, "lead", "lead rejected bob's plan."),
            (&plan, Withdrawn, "", "Withdrawn: bob's plan."),
            (&asked, Approved, "user", "Answered alice's question."),
            (&asked, Rejected, "user", "Declined alice's question."),
            (
                &allowed,
                Approved,
                "user",
                "Approved alice's permission request.",
            ),
        ];
        for (request, status, by, expected) in cases {
            let mut request = request.clone();
            request.status = status;
            request.decided_by = by.into();
            assert_eq!(closed(&request), expected);
        }
    }

    fn read(json: &str) -> String {
        message(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn each_message_kind_has_a_text() {
        let cases = [
            (
                r#"{"type":"message","from":"a","content":"hi\nyou"}"#,
                "hi⏎you",
            ),
            (
                r#"{"type":"broadcast","from":"a","content":"hi"}"#,
                "to all: hi",
            ),
            (
                r#"{"type":"shutdown_request","from":"a","content":""}"#,
                "please shut down",
            ),
            (
                r#"{"type":"shutdown_request","from":"a","content":"Please shut down: finish first."}"#,
                "please shut down: finish first.",
            ),
            (
                r#"{"type":"plan_response","from":"a","content":"Plan approved","approve":true}"#,
                "plan approved",
            ),
            (
                r#"{"type":"shutdown_request","from":"a","content":"Please shut downstream jobs"}"#,
                "please shut down: Please shut downstream jobs",
            ),
            (
                r#"{"type":"shutdown_response","from":"a","content":"busy","approve":false}"#,
                "does not shut down: busy",
            ),
            (
                r#"{"type":"plan_response","from":"a","content":"go","approve":true}"#,
                "plan approved: go",
            ),
            (
                r#"{"type":"task_assignment","from":"a","content":"{\"taskId\":3,\"subject\":\"Fix it\"}"}"#,
                "assigns this task: Fix it",
            ),
            (
                r#"{"type":"idle_notification","from":"a"}"#,
                "has nothing to do",
            ),
            (
                r#"{"type":"odd_kind","from":"a","content":"x"}"#,
                "odd kind: x",
            ),
            (
                r#"{"type":"message","from":"a","content":"{not json"}"#,
                "{not json",
            ),
        ];
        for (json, expected) in cases {
            assert_eq!(read(json), expected, "{json}");
        }
    }
}
