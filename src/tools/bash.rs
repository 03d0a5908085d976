//! `bash`: runs a command in the work directory.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

use super::{Access, Audience, Tool, ToolContext, ToolOutput, parse, schema_of, shown};
use crate::process::{self, Ended, Job, Keep, Leftovers};
use crate::store::words;

/// Most bytes of output: the reference's number.
const OUTPUT_MAX: usize = 50_000;

/// The tool.
pub const TOOL: Tool = Tool {
    name: "bash",
    text: include_str!("bash.md"),
    schema: schema_of::<Input>,
    access: Access::Run,
    audience: Audience::Everyone,
    show: |input| shown(input, "command"),
    run: |context, input| Box::pin(run(context, input)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The command, for sh.
    command: String,
    /// Seconds that it may run; 120 if missing.
    timeout_s: Option<u64>,
}

async fn run(context: ToolContext, input: Value) -> ToolOutput {
    let input: Input = match parse(input) {
        Ok(input) => input,
        Err(output) => return output,
    };
    let asked = input
        .timeout_s
        .map_or(context.timeout, |s| Duration::from_secs(s.max(1)));
    let job = Job {
        argv: process::shell(input.command),
        dir: context.workdir.clone(),
        timeout: asked.min(context.timeout),
        keep: OUTPUT_MAX,
        guard: context.guard.clone(),
    };
    // Kept here and not by the process: a cut that goes through a secret would leave half of it.
    let mut clean = context.redactor.stream();
    let mut keep = Keep::new(OUTPUT_MAX);
    let live = |bytes: &[u8]| {
        let bytes = clean.push(bytes);
        keep.push(&bytes);
        let chunk = String::from_utf8_lossy(&bytes).into_owned();
        context.host.output(&context.agent, &context.call, chunk);
    };
    match process::run(&job, &context.cancel, live).await {
        Ok(report) => {
            let rest = clean.end();
            keep.push(&rest);
            let chunk = String::from_utf8_lossy(&rest).into_owned();
            context.host.output(&context.agent, &context.call, chunk);
            told(&report, &keep.text(), job.timeout)
        }
        Err(error) => ToolOutput::error(format!(
            "Error: the shell could not be started: {}",
            words::why(&error)
        )),
    }
}

fn told(report: &process::Report, output: &str, timeout: Duration) -> ToolOutput {
    let mut text = output.trim_end().to_string();
    if text.is_empty() {
        text.push_str("(no output)");
    }
    if report.leftovers == Leftovers::Killed {
        text.push('\n');
        text.push_str(process::LEFT_RUNNING);
    }
    if let Some(note) = &report.note {
        text.push('\n');
        text.push_str(note);
    }
    match report.ended {
        Ended::Code(0) => ToolOutput::ok(text),
        Ended::Code(code) => ToolOutput::error(format!("{text}\n[exit code {code}]")),
        Ended::Signal(signal) => ToolOutput::error(format!("{text}\n[ended by signal {signal}]")),
        Ended::TimedOut => ToolOutput::error(format!(
            "{text}\n[Error: Timeout ({}s): the command and all that it had started were ended]",
            timeout.as_secs()
        )),
        Ended::Cancelled => ToolOutput::error(format!("{text}\n[interrupted]")),
    }
}
