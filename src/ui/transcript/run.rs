//! A tool call: its input, progress and output, and one-line summaries of input and output.

use jiff::tz::TimeZone;
use serde_json::Value;

use crate::domain::chat::Outcome;
use crate::domain::ids::Name;
use crate::domain::mcp::shown_name;
use crate::domain::text::{head_and_tail, one_line};
use crate::ui::text::wrap::width;
use crate::ui::transcript::cell::Fold;
use crate::ui::transcript::fields as transcript_fields;
use crate::ui::transcript::fields::{Field, OutputFields};
use crate::ui::transcript::tool_display::{OutputKind, USER_COMMAND, tool_display};

/// The beginnings of the note that says that a command has exited but left a program running: the current wording
/// first, then the wordings of older versions. The note is a part of the command's output.
const LEFT_RUNNING: &[&str] = &[
    "[The command exited but left a program running.",
    "[The command left a program running;",
];

/// Maximum length of the stored output of a finished call, and of its diff, in bytes. Longer texts are cut in the
/// middle.
const OUTPUT_MAX: usize = 256 * 1024;
/// Number of bytes that are kept from the end of a running call's output. The stored output is cut to this length each
/// time it exceeds twice this length.
const LIVE_MAX: usize = 16 * 1024;
/// Maximum total length of the stored input values, in bytes. The value that exceeds this limit is cut in the middle.
const INPUT_MAX: usize = 16 * 1024;
/// Maximum number of lines of a diff, including its three header lines, for which a call is opened when it ends. A call
/// with a longer diff is not opened.
const OPEN_DIFF_LINES: usize = 24;
/// Maximum length of a diff, in bytes, for which a call is opened when it ends. A call with a longer diff is not
/// opened.
const OPEN_DIFF_BYTES: usize = 4 * 1024;
/// Maximum width, in columns, of an output that is shown in the row of the folded call. The output must also have only
/// one line.
const SUMMARY_WIDTH_MAX: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCallState {
    Running,
    /// The call succeeded.
    Done,
    Failed,
    /// The turn ended before the call returned a result.
    Abandoned,
}

/// A tool call. Its texts can contain control characters, which are escaped when the call is drawn.
#[derive(Debug)]
pub struct ToolRun {
    pub tool: String,
    /// What the call acts on, such as a path or a command, on one line; may be empty.
    pub subject: String,
    /// The input of the call as fields; may be empty.
    pub input: Vec<Field>,
    pub state: ToolCallState,
    /// While the call runs, the end of its output. After the call has ended, the whole output, cut in the middle if it
    /// is too long; empty if `output_fields` holds the output.
    pub output: String,
    /// The output as fields if crewdeck has written it as JSON; otherwise empty.
    pub output_fields: Vec<Field>,
    /// One-line summary of `output_fields`; may be empty.
    pub summary: String,
    /// The changes to files as a unified diff; may be empty.
    pub diff: String,
    /// Duration of the call in milliseconds; 0 while it runs.
    pub took_ms: u64,
    /// The subagent that the call started; `None` if it started none, or if that was not reported yet.
    pub subagent: Option<Name>,
    pub fold: Fold,
}

impl ToolRun {
    /// Creates a running, folded call without output. `on` is what the call acts on, such as a path.
    pub fn new(tool: &str, on: &str, input: &Value, zone: &TimeZone) -> ToolRun {
        ToolRun {
            tool: shown_name(&one_line(tool)),
            subject: one_line(on),
            input: transcript_fields::of_input(input, zone, INPUT_MAX),
            state: ToolCallState::Running,
            output: String::new(),
            output_fields: Vec::new(),
            summary: String::new(),
            diff: String::new(),
            took_ms: 0,
            subagent: None,
            fold: Fold::Folded,
        }
    }

    /// Creates the call for a shell command of the user. It is running and open.
    pub fn user_command(command: &str) -> ToolRun {
        ToolRun {
            fold: Fold::Open,
            ..ToolRun::new(USER_COMMAND, command, &Value::Null, &TimeZone::UTC)
        }
    }

    /// Appends output to the running call. Keeps about the last [`LIVE_MAX`] bytes, and at most twice as many.
    pub fn append_output(&mut self, chunk: &str) {
        // Only the end of the chunk is appended, because a chunk can be longer than the limit.
        self.output.push_str(tail(chunk, LIVE_MAX));
        if self.output.len() > LIVE_MAX * 2 {
            self.output = tail(&self.output, LIVE_MAX).to_string();
        }
    }

    /// Ends the call with its outcome, its whole output, its diff (empty if it has none) and its duration in
    /// milliseconds. `output` replaces the output of the running call. Renders the output as fields if crewdeck has
    /// written it as JSON. If the call has a short diff, opens the call.
    pub fn end(
        &mut self,
        outcome: Outcome,
        output: &str,
        diff: &str,
        took_ms: u64,
        zone: &TimeZone,
    ) {
        self.state = match outcome {
            Outcome::Ok => ToolCallState::Done,
            Outcome::Error => ToolCallState::Failed,
        };
        self.output.clear();
        let rendered = match tool_display(&self.tool).output {
            OutputKind::Crewdeck => {
                transcript_fields::of_output(output, &self.input, zone, OUTPUT_MAX)
            }
            OutputKind::RepeatsInput if outcome == Outcome::Ok => {
                self.input.clear();
                None
            }
            OutputKind::RepeatsInput | OutputKind::External | OutputKind::User => None,
        };
        match rendered {
            Some(OutputFields { summary, fields }) => {
                (self.summary, self.output_fields) = (one_line(&summary), fields);
            }
            None => self.output = head_and_tail(output, OUTPUT_MAX),
        }
        self.diff = head_and_tail(diff, OUTPUT_MAX);
        let is_short = diff.len() <= OPEN_DIFF_BYTES && diff.lines().count() <= OPEN_DIFF_LINES;
        if is_short && !diff.is_empty() {
            self.fold = Fold::Open;
        }
        self.took_ms = took_ms;
    }

    /// Returns the length of the call's input, output and diff together, in bytes.
    pub fn bytes(&self) -> usize {
        let fields =
            |all: &[Field]| -> usize { all.iter().map(|f| f.name.len() + f.value.len()).sum() };
        fields(&self.input) + fields(&self.output_fields) + self.output.len() + self.diff.len()
    }

    /// Returns the call as text for the clipboard: tool and subject, input, diff and output.
    pub fn text(&self) -> String {
        let head = format!("{} {}", self.tool, self.subject);
        let fields = [&self.input, &self.output_fields].map(|f| transcript_fields::text(f));
        let [input, output_fields] = &fields;
        let parts = [
            head.trim_end(),
            input,
            &self.diff,
            output_fields,
            &self.output,
        ];
        let parts: Vec<&str> = parts
            .iter()
            .map(|p| p.trim_end())
            .filter(|p| !p.is_empty())
            .collect();
        parts.join("\n")
    }

    /// Returns the numbers of added and removed lines; `None` if the call has no diff.
    pub fn changes(&self) -> Option<(usize, usize)> {
        (!self.diff.is_empty()).then(|| diff_counts(&self.diff))
    }

    /// Returns the part of the output that an open call shows. If the call has no diff, this is the whole output. If it
    /// has one, most of the output only repeats the diff: returns the first line if there are further lines that are
    /// not blank, else an empty text.
    pub fn shown_output(&self) -> &str {
        match self.output.split_once('\n') {
            _ if self.diff.is_empty() => &self.output,
            Some((first, rest)) if !rest.trim().is_empty() => first,
            Some(_) | None => "",
        }
    }

    /// Returns a short result for the row of the call: for example `exit 1`, `12 lines`, the name of the subagent, or a
    /// short output itself. The duration follows if it is at least a second. Empty if there is nothing to show. Does
    /// not include the counts of [`ToolRun::changes`].
    pub fn result(&self) -> String {
        // Of a subagent only the name is shown, because Enter opens its answer and `o` its conversation.
        let mut words: Vec<String> = self.subagent.iter().map(ToString::to_string).collect();
        match self.state {
            ToolCallState::Running => {}
            ToolCallState::Abandoned => words.push("not finished".to_string()),
            ToolCallState::Failed => words.extend(ended_by(&self.output)),
            ToolCallState::Done if self.subagent.is_some() => {}
            // The answer of the user is shown below the call; an output that repeats the input says nothing new.
            ToolCallState::Done
                if matches!(
                    tool_display(&self.tool).output,
                    OutputKind::User | OutputKind::RepeatsInput
                ) => {}
            ToolCallState::Done if !self.summary.is_empty() => words.push(self.summary.clone()),
            ToolCallState::Done => {
                let output = Some(&self.output).filter(|_| self.diff.is_empty());
                words.extend(output.and_then(|output| output_summary(output)));
            }
        }
        if self.took_ms >= 1000 {
            words.push(duration(self.took_ms));
        }
        words.join(" · ")
    }

    /// Returns the error of a failed call in one line, taken from its output; empty if the output does not contain one.
    pub fn error_line(&self) -> String {
        // A command writes its error at the end of the output, a tool at the beginning.
        let mut lines = self.output.lines().filter(|l| !l.trim().is_empty());
        let line = match ended_by(&self.output) {
            Some(_) => {
                lines.next_back();
                lines.rfind(|l| !LEFT_RUNNING.iter().any(|start| l.starts_with(start)))
            }
            None => lines.next(),
        };
        one_line(line.unwrap_or_default().trim_start())
    }
}

/// Returns how a command ended, such as `exit 1` or `timed out`. Reads this from the last line of the output, where it
/// is written in brackets. Returns `None` if there is no such line.
fn ended_by(output: &str) -> Option<String> {
    let last = output.trim_end().lines().next_back()?;
    let inside = last.strip_prefix('[')?.strip_suffix(']')?;
    if let Some(code) = inside.strip_prefix("exit code ") {
        return code.parse::<i32>().is_ok().then(|| format!("exit {code}"));
    }
    if inside.contains("Timeout") {
        return Some("timed out".into());
    }
    let known = inside.starts_with("ended by signal ") || inside == "interrupted";
    known.then(|| one_line(inside))
}

fn output_summary(output: &str) -> Option<String> {
    let output = output.trim_end();
    match output.lines().count() {
        0 => None,
        1 if output.starts_with(['{', '[']) => None,
        1 if width(output) <= SUMMARY_WIDTH_MAX => Some(one_line(output)),
        1 => Some("1 line".into()),
        n => Some(format!("{n} lines")),
    }
}

fn diff_counts(diff: &str) -> (usize, usize) {
    let count = |sign: char, header: &str| {
        let is_change = |l: &&str| l.starts_with(sign) && !l.starts_with(header);
        diff.lines().filter(is_change).count()
    };
    (count('+', "+++ "), count('-', "--- "))
}

/// Formats a duration in milliseconds, rounded down: `3.2 s`, `1m 05s`, `2h 01m`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..60 => format!("{seconds}.{} s", ms % 1000 / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600.. => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns the last `max` bytes of `text`. Returns fewer bytes if the first of them is in the middle of a character.
fn tail(text: &str, max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(outcome: Outcome, output: &str, diff: &str, took_ms: u64) -> ToolRun {
        let mut run = ToolRun::new("bash", "", &Value::Null, &TimeZone::UTC);
        run.end(outcome, output, diff, took_ms, &TimeZone::UTC);
        run
    }

    #[test]
    fn result_summaries_are_short() {
        use Outcome::{Error, Ok};
        let diff = "--- a\n+++ b\n@@ -1 +1,3 @@\n-x\n+y\n+z\n+++w\n";
        let long = "a sentence that is too long for the folded line";
        let cases = [
            (done(Ok, "", "", 0), "", ""),
            (done(Ok, "short\n", "", 999), "short", "short"),
            (done(Ok, long, "", 1000), "1 line · 1.0 s", long),
            (done(Ok, "{\"id\": 1}", "", 0), "", "{\"id\": 1}"),
            (done(Ok, "a\nb\nc", "", 3_250), "3 lines · 3.2 s", "a"),
            (done(Ok, "Edited", diff, 0), "", "Edited"),
            (
                done(Error, "building\nerror: no\n[exit code 101]", "", 65_000),
                "exit 101 · 1m 05s",
                "error: no",
            ),
            (
                done(Error, "half\n[Error: Timeout (120s): ended]", "", 7_300_000),
                "timed out · 2h 01m",
                "half",
            ),
            (
                done(
                    Error,
                    "[x]\n[The command exited but left a program running. crewdeck killed that program.]\n[ended by signal 9]",
                    "",
                    0,
                ),
                "ended by signal 9",
                "[x]",
            ),
            (
                done(Error, "\n  no such file\nhelp", "", 0),
                "",
                "no such file",
            ),
            (done(Error, "[exit code 1]", "", 0), "exit 1", ""),
        ];
        for (run, result, why) in cases {
            assert_eq!(
                (run.result().as_str(), run.error_line().as_str()),
                (result, why)
            );
        }
    }

    #[test]
    fn running_output_keeps_the_end() {
        let mut run = ToolRun::new("bash", "", &Value::Null, &TimeZone::UTC);
        for _ in 0..1000 {
            run.append_output(&"中文\n".repeat(1000));
        }
        run.append_output(&("é".repeat(1_000_000) + "end"));
        assert!(run.output.len() <= LIVE_MAX * 2 && run.output.ends_with("end"));
    }
}
