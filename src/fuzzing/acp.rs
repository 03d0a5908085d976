//! Fuzz target for the reports of external agents.

use serde_json::Value;

use super::{CheckResult, check_size, ensure};
use crate::acp::tool_calls::ToolCallTable;
use crate::acp::update::{Report, TITLE_MAX, parse_update};
use crate::domain::agent_update::{AgentToolCall, AgentToolStatus};
use crate::domain::redact::Redactor;

/// A secret that parsed reports must not contain.
const SECRET: &str = "fuzz-secret-value";
/// Maximum total size, in bytes, of the markers and placeholders that cutting and redacting add to the texts of a tool
/// call.
const MARKS_MAX: usize = 64 * 1024;

/// Checks the parser for the reports of an external agent:
///
/// - Reports other than streamed text contain no secret.
/// - The size of the texts has a limit, which depends on the size of the input.
/// - A tool call does not run again right after it has ended.
///
/// Each line of the input is a report.
pub fn acp(bytes: &[u8]) -> CheckResult {
    let redactor = Redactor::new([("FUZZ".to_string(), SECRET.to_string())]);
    let mut table = ToolCallTable::default();
    let mut ended: Option<String> = None;
    for line in bytes.split(|b| *b == b'\n') {
        let Ok(update) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        let Some(report) = parse_update(&update, &redactor) else {
            continue;
        };
        // Texts are redacted as a stream, where they are put together.
        if !matches!(report, Report::Text(_) | Report::Thought(_)) {
            let shown = format!("{report:?}");
            ensure(!shown.contains(SECRET), || format!("a secret in {shown}"))?;
        }
        match report {
            Report::ToolCall(change) => {
                let call = table.merge(change);
                check_call(&call, bytes.len())?;
                if ended.as_ref() == Some(&call.id) {
                    ensure(call.status.is_final(), || format!("{} runs again", call.id))?;
                }
                ended = call.status.is_final().then_some(call.id);
            }
            Report::Text(text) | Report::Thought(text) => {
                check_size("the text", text.len(), line.len(), 1)?;
            }
            Report::Title(title) | Report::Notice(title) => check_title(&title)?,
            Report::Plan(entries) => entries.iter().try_for_each(|e| check_title(&e.text))?,
            Report::Commands(names) => names.iter().try_for_each(|name| check_title(name))?,
            Report::Context(usage) => {
                let is_cost = |cost: f64| cost.is_finite() && cost >= 0.0;
                ensure(usage.cost.is_none_or(is_cost), || format!("{usage:?}"))?;
            }
            Report::Mode(_) => {}
        }
    }
    let open = table.take_open();
    ensure(
        open.iter().all(|call| {
            matches!(
                call.status,
                AgentToolStatus::Pending | AgentToolStatus::InProgress
            )
        }),
        || "an ended call is open".into(),
    )
}

fn check_title(title: &str) -> CheckResult {
    ensure(title.chars().count() <= TITLE_MAX, || {
        format!("{} characters in a title", title.chars().count())
    })
}

/// Checks the size of the texts of a tool call. `input` is the size of all reports, in bytes.
fn check_call(call: &AgentToolCall, input: usize) -> CheckResult {
    check_title(&call.title)?;
    let files = call
        .diffs
        .iter()
        .map(|diff| diff.path.len() + diff.new.len() + diff.old.as_ref().map_or(0, String::len));
    let locations = call.locations.iter().map(|location| location.path.len());
    let size = call.text.len() + files.sum::<usize>() + locations.sum::<usize>();
    // A secret is shorter than its placeholder.
    ensure(size <= 4 * input + MARKS_MAX, || {
        format!("a call of {size} bytes from {input}")
    })
}
