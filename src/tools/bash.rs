//! `bash`: runs a command in the work directory.

use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call, error_output,
    format_field, policy, reach, schema_of,
};
use crate::domain::chat::Outcome;
use crate::process::{self, CommandSpec, HeadTailBuffer, JobExit};
use crate::store::os_errors;

/// Maximum size of the output in the tool result, in bytes, as in learn-claude-code. From a longer output, the model
/// gets the beginning and the end.
const OUTPUT_MAX: usize = 50_000;

/// The text that is appended to the result of a successful command that does nothing but change the directory.
const CD_ENDS: &str =
    "\n[The next call starts in the work directory again: write `cd DIR && COMMAND` in one call]";

pub const TOOL: Tool = Tool {
    name: "bash",
    text: include_str!("bash.md"),
    schema: schema_of::<Input>,
    access: Access::Run,
    audience: Audience::Everyone,
    used_for: ToolUse::Work,
    show: |input| format_field(input, "command"),
    run: |context, input| call(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The command, run with `bash -c`.
    command: String,
    /// Seconds after which the command is stopped; null for the maximum.
    timeout_s: Option<u64>,
}

/// The sentence about [`background_run`](super::background_run) in the tool description. [`text`] removes it for
/// agents without that tool.
const BACKGROUND: &str = " For longer commands and servers, use background_run.";
/// The time limit in the tool's description file. [`text`] replaces it with the configured limit.
const DESCRIBED_TIMEOUT: &str = "120 seconds";

/// Returns the tool description for an agent whose commands may run for `timeout`. `has_background` says whether the
/// agent has the tool `background_run`, which the description then recommends.
pub fn text(timeout: Duration, has_background: bool) -> String {
    let text = TOOL.text.trim();
    let text = text.replace(DESCRIBED_TIMEOUT, &format!("{} seconds", timeout.as_secs()));
    if has_background {
        text
    } else {
        text.replace(BACKGROUND, "")
    }
}

async fn run(context: ToolContext, input: Input) -> ToolResult {
    let asked = input
        .timeout_s
        .map_or(context.timeout, |s| Duration::from_secs(s.max(1)));
    let only_cd = policy::only_changes_directory(&input.command);
    let job = CommandSpec {
        reach: reach::of(
            context.supervisor.as_deref(),
            &context.agent,
            &context.workdir,
            &input.command,
        ),
        argv: process::shell(input.command),
        dir: context.workdir.clone(),
        timeout: asked.min(context.timeout),
        keep: OUTPUT_MAX,
        supervisor: context.supervisor.clone(),
        added: context.host.added_environment(&context.workdir).await,
    };
    // Buffer the output here and not in the process: secrets must be redacted before the output is cut.
    let mut clean = context.redactor.stream();
    let mut keep = HeadTailBuffer::new(OUTPUT_MAX);
    let live = |bytes: &[u8]| {
        let bytes = clean.push(bytes);
        keep.push(&bytes);
        let chunk = String::from_utf8_lossy(&bytes).into_owned();
        context.host.output(&context.agent, &context.call, chunk);
    };
    let ended = process::run(&job, &context.cancel, live).await;
    let report = ended.map_err(|error| {
        let why = os_errors::explain(&error);
        error_output(format!("cannot start the shell: {why}"))
    })?;
    let rest = clean.end();
    keep.push(&rest);
    let chunk = String::from_utf8_lossy(&rest).into_owned();
    context.host.output(&context.agent, &context.call, chunk);
    let mut output = to_output(&report, &keep.text(), job.timeout);
    if only_cd && output.outcome == Outcome::Ok {
        output.text.push_str(CD_ENDS);
    }
    Ok(output)
}

fn to_output(report: &process::JobReport, output: &str, timeout: Duration) -> ToolOutput {
    let mut text = output.trim_end().to_string();
    if text.is_empty() {
        text.push_str("(no output)");
    }
    if report.had_leftovers {
        text.push('\n');
        text.push_str(process::LEFTOVERS_KILLED_NOTE);
    }
    if let Some(note) = &report.note {
        text.push('\n');
        text.push_str(note);
    }
    match report.ended {
        JobExit::Code(0) => ToolOutput::ok(text),
        JobExit::Code(code) => ToolOutput::error(format!("{text}\n[exit code {code}]")),
        JobExit::Signal(signal) => ToolOutput::error(format!("{text}\n[ended by signal {signal}]")),
        JobExit::TimedOut => ToolOutput::error(format!(
            "{text}\n[Error: Timeout ({}s): the command and every process it started were stopped]",
            timeout.as_secs()
        )),
        JobExit::Cancelled => ToolOutput::error(format!("{text}\n[interrupted]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_names_shell_limits_and_background_tool() {
        let two_minutes = text(Duration::from_secs(120), true);
        assert_eq!(two_minutes, TOOL.text.trim());
        for part in [
            "bash, or sh",
            "120 seconds",
            "shorten this, not extend it",
            "background_run",
            "variables do not carry over to the next call",
        ] {
            assert!(two_minutes.contains(part), "{part}");
        }
        assert!(two_minutes.contains(&OUTPUT_MAX.to_string()));
        // A subagent has no background tools, and the settings may allow more time.
        let ten = text(Duration::from_secs(600), false);
        assert!(
            ten.contains("600 seconds") && !ten.contains("background"),
            "{ten}"
        );
    }
}
