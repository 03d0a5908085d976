//! `crewdeck run`: a crew without the dashboard. Prints text, or one JSON event per line.

use std::io::{IsTerminal, Write};

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};

use super::journal::JournalWriter;
use super::pending_requests::PendingRequests;
use super::unfinished_work::UnfinishedWork;
use crate::commands::OutputFormat;
use crate::crew::Crew;
use crate::domain::chat::Outcome;
use crate::domain::ids::Name;
use crate::domain::request::{Approver, Decision, Request, RequestKind, Verdict};
use crate::domain::subagent::SubagentKind;
use crate::domain::team::Activity;
use crate::domain::text::{clip, escape_control_chars, escape_json, one_line};
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{EventKind, NoticeLevel, TurnEnd};
use crate::protocol::{Command, Event, EventReceiver};
use crate::store::Board;
use crate::ui::transcript;

/// Maximum length of a progress line, in characters.
const LINE_MAX: usize = 2000;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// The lead has answered, the crew is idle and no task is open.
    Done,
    /// The lead has answered and the crew is idle, but tasks are open or teammates are stuck. The text names them.
    Open(String),
    /// The reader of the output closed it.
    OutputClosed,
    /// The lead could not answer. The text says why and what to do.
    Failed(String),
    /// Ctrl-C, SIGTERM or SIGHUP.
    Interrupted,
}

/// Returns whether standard input and standard error are a terminal, so that a user can answer questions. With a script
/// or a pipe, `ask` means `deny`.
pub fn has_user() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Sends `prompt` to the lead and prints events until the crew is idle. Without a prompt a resumed lead continues its turn.
///
/// # Errors
/// Fails if signal handlers cannot be installed, or if standard output fails for another reason than a closed pipe.
pub async fn run(
    crew: &Crew,
    inlet: &mut EventReceiver,
    journal: &mut JournalWriter,
    board: &Board,
    prompt: Option<String>,
    form: OutputFormat,
) -> Result<RunOutcome> {
    if let Some(text) = prompt {
        let to = Name::lead();
        if crew.submit(Command::Prompt { to, text }).is_err() {
            return Ok(RunOutcome::Failed(
                "the crew did not accept the prompt".into(),
            ));
        }
    }
    let began = super::now();
    let mut last = TurnEnd::Done;
    let mut pending = PendingRequests::default();
    let mut unfinished = UnfinishedWork::default();
    let (mut terminate, mut hangup) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
    );
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
    loop {
        let event = tokio::select! {
            _ = &mut interrupted => return Ok(RunOutcome::Interrupted),
            _ = terminate.recv() => return Ok(RunOutcome::Interrupted),
            _ = hangup.recv() => return Ok(RunOutcome::Interrupted),
            event = inlet.next() => match event {
                Some(event) => event,
                None => return Ok(RunOutcome::Failed("the crew ended".into())),
            },
        };
        if let Some(text) = journal.note(&event) {
            eprint_line(&format!("warning: {text}"));
        }
        let written = match form {
            OutputFormat::Json => json_line(&event),
            OutputFormat::Text => say(&event, began),
        };
        if let Err(error) = written {
            // The reader closed the pipe: a normal end.
            if error.kind() == std::io::ErrorKind::BrokenPipe {
                return Ok(RunOutcome::OutputClosed);
            }
            return Err(error.into());
        }
        pending.update(&event.kind);
        unfinished.update(&event.kind);
        match event.kind {
            EventKind::TurnEnded { agent, end } if agent.is_lead() => last = end,
            EventKind::RequestChanged { request }
                if request.is_pending() && request.decider == Approver::Ask =>
            {
                decide(crew, request, form).await;
            }
            EventKind::CrewAtRest => {
                return Ok(match last {
                    TurnEnd::Failed { error, hint } => {
                        RunOutcome::Failed(format!("{error}. {hint}").trim().to_string())
                    }
                    TurnEnd::Stopped { why } => RunOutcome::Failed(why),
                    TurnEnd::Done | TurnEnd::Interrupted => match pending.summary() {
                        Some(why) => RunOutcome::Failed(why),
                        None => unfinished
                            .summary(&board.read()?.graph)
                            .map_or(RunOutcome::Done, RunOutcome::Open),
                    },
                });
            }
            EventKind::Refused { why, .. } if last == TurnEnd::Done => eprint_line(&why),
            _ => {}
        }
    }
}

fn json_line(event: &Event) -> std::io::Result<()> {
    let line = escape_json(&serde_json::to_string(event)?);
    writeln!(std::io::stdout().lock(), "{line}")
}

/// Prints an event as text: the lead's answers on standard output, progress on standard error.
fn say(event: &Event, began: Timestamp) -> std::io::Result<()> {
    match &event.kind {
        EventKind::Said { agent, text, .. } if agent.is_lead() && !text.trim().is_empty() => {
            writeln!(
                std::io::stdout().lock(),
                "{}",
                escape_control_chars(text.trim_end())
            )?;
            if transcript::contains_tool_call(text) {
                eprint_line(&format!("warning: {}", transcript::CALL_AS_TEXT_WARNING));
            }
        }
        EventKind::CrewReady(setup) => {
            let scripted = if setup.scripted { " (scripted)" } else { "" };
            eprint_line(&format!(
                "crewdeck · {} · {}{scripted}",
                setup.provider, setup.model
            ));
        }
        EventKind::ToolStarted {
            agent, tool, on, ..
        } => {
            eprint_line(&format!("{agent} · {tool} {}", clip(on, 100)));
        }
        EventKind::ToolFinished {
            agent,
            tool,
            outcome: Outcome::Error,
            output,
            ..
        } => {
            eprint_line(&format!("{agent} · {tool} failed: {}", clip(output, 160)));
        }
        EventKind::Prompted { agent, .. } if !agent.is_lead() => {
            eprint_line(&format!("{agent} · message from user"));
        }
        EventKind::Injected { agent, what, .. } => eprint_line(&format!("{agent} · {what}")),
        EventKind::Compacted { agent, compaction } => {
            let (before, after) = (compaction.before, compaction.after);
            // A short conversation may grow by its summary.
            eprint_line(&if after < before {
                format!("{agent} · conversation compacted from {before} to {after} tokens")
            } else {
                format!("{agent} · conversation summarised, {after} tokens now")
            });
        }
        EventKind::JobChanged { job } => {
            let (agent, title, status) = (&job.agent, job.title(), job.status());
            eprint_line(&format!("{agent} · background job {status}: {title}"));
        }
        EventKind::SubagentStarted { agent, kind, .. } => {
            eprint_line(&format!(
                "{agent} · started ({} subagent)",
                match kind {
                    SubagentKind::Explore => "explore",
                    SubagentKind::General => "general",
                }
            ));
        }
        EventKind::ActivityChanged {
            agent,
            activity:
                Activity::Backoff {
                    cause,
                    until,
                    attempt,
                    attempts_max,
                },
        } => {
            let seconds = until.since(event.at).as_secs_f64();
            eprint_line(&match attempt {
                0 => format!("{agent} · {cause}; paused with the team for {seconds:.1} s"),
                _ => {
                    let next = attempt.saturating_add(1);
                    format!("{agent} · {cause}; attempt {next} of {attempts_max} in {seconds:.1} s")
                }
            });
        }
        EventKind::Notice { level, text, .. } => {
            let mark = match level {
                NoticeLevel::Info => "",
                NoticeLevel::Warn => "warning: ",
                NoticeLevel::Error => "crewdeck: ",
            };
            eprint_line(&format!("{mark}{text}"));
        }
        // Decisions of earlier runs are read from disk at the start and are not progress.
        EventKind::RequestChanged { request }
            if !request.is_pending() && request.decided_at.0 >= began.0 =>
        {
            eprint_line(&format!(
                "{} of {} {} by {}",
                request.kind, request.target, request.status, request.decided_by
            ));
        }
        EventKind::TurnEnded {
            agent,
            end: TurnEnd::Failed { error, hint },
        } if !agent.is_lead() => {
            eprint_line(&format!("{agent} · {error}. {hint}"));
        }
        _ => {}
    }
    Ok(())
}

/// Prints a progress line to standard error. Write errors are ignored.
pub(super) fn eprint_line(text: &str) {
    let text = clip(&one_line(text), LINE_MAX);
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Asks the user at the terminal. Does nothing without one: `ask` has become `deny` then.
async fn decide(crew: &Crew, request: Request, form: OutputFormat) {
    if !has_user() || form == OutputFormat::Json {
        return;
    }
    let question = format!(
        "\n{} asks ({}):\n{}\n{}",
        request.from,
        request.kind,
        escape_control_chars(&request.body),
        how_to_answer(&request)
    );
    let answer = tokio::task::spawn_blocking(move || {
        // If the question cannot be printed, the answer is no.
        write!(std::io::stderr().lock(), "{question}")?;
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        read.map(|_| line.trim().to_string())
    })
    .await;
    let answer = answer.ok().and_then(Result::ok).unwrap_or_default();
    let (verdict, comment) = parse_answer(&request, &answer);
    let decision = Decision::on(&request, verdict, Name::user(), comment);
    if crew.submit(Command::Decide(decision)).is_err() {
        eprint_line("the crew did not accept the decision");
    }
}

/// Returns the prompt at the end of the question, with the choices.
fn how_to_answer(request: &Request) -> String {
    match request.kind {
        RequestKind::Plan
        | RequestKind::Shutdown
        | RequestKind::Permission
        | RequestKind::Ceiling => "Allow? [y/N] ".into(),
        RequestKind::Question => {
            let choices = request.choices.iter().enumerate();
            let mut lines: Vec<String> = choices
                .map(|(at, choice)| format!("{}  {}", at + 1, escape_control_chars(choice)))
                .collect();
            lines.push("Answer (empty: let the agent decide): ".into());
            lines.join("\n")
        }
    }
}

/// Parses a typed line into a verdict and a comment.
fn parse_answer(request: &Request, line: &str) -> (Verdict, String) {
    match request.kind {
        RequestKind::Plan
        | RequestKind::Shutdown
        | RequestKind::Permission
        | RequestKind::Ceiling => {
            let is_yes = ["y", "yes"].contains(&line.to_lowercase().as_str());
            let verdict = if is_yes {
                Verdict::Approve
            } else {
                Verdict::Reject
            };
            (verdict, String::new())
        }
        RequestKind::Question if line.is_empty() => (Verdict::Reject, String::new()),
        RequestKind::Question => {
            let number = line.parse::<usize>().ok();
            let choice = number.and_then(|n| request.choices.get(n.checked_sub(1)?));
            (Verdict::Approve, choice.map_or(line, String::as_str).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::RequestId;
    use crate::domain::timestamp::Timestamp;
    use pretty_assertions::assert_eq;

    #[test]
    fn typed_answers_are_parsed_by_request_kind() {
        let (yes, no) = (Verdict::Approve, Verdict::Reject);
        let cases = [
            (RequestKind::Question, "2", yes, "green"),
            (RequestKind::Question, "3", yes, "3"),
            (RequestKind::Question, "0", yes, "0"),
            (RequestKind::Question, "neither", yes, "neither"),
            (RequestKind::Question, "", no, ""),
            (RequestKind::Plan, "Yes", yes, ""),
            (RequestKind::Permission, "y", yes, ""),
            (RequestKind::Permission, "2", no, ""),
            (RequestKind::Shutdown, "", no, ""),
        ];
        for (kind, line, verdict, comment) in cases {
            let id = RequestId("r1".into());
            let mut request = Request::new(
                id,
                kind,
                Name::lead(),
                Name::lead(),
                "Which?".into(),
                Timestamp(1.0),
            );
            request.choices = vec!["red".into(), "green".into()];
            let expected = (verdict, comment.to_string());
            assert_eq!(parse_answer(&request, line), expected, "{kind} {line}");
        }
    }
}
