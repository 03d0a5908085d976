//! `crewdeck run`: runs a crew without the dashboard. Prints text, or one JSON event per line.

use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};

use super::journal::JournalWriter;
use super::pending_requests::PendingRequests;
use super::unfinished_work::UnfinishedWork;
use super::update_calls::{UpdateCalls, UpdateLine};
use crate::agent::FULL_TEXT;
use crate::commands::OutputFormat;
use crate::crew::Crew;
use crate::domain::chat::Outcome;
use crate::domain::ids::Name;
use crate::domain::mention::{self, Mention};
use crate::domain::request::{Approver, Decision, Request, RequestKind, Verdict};
use crate::domain::server_offers::split_resource;
use crate::domain::subagent::SubagentKind;
use crate::domain::team::Activity;
use crate::domain::text::{clip, escape_control_chars, escape_json, one_line};
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{AgentEvent, CrewEvent, EventKind, NoticeLevel, TeamEvent, TurnEnd};
use crate::protocol::{Command, CommandIds, Event, EventReceiver};
use crate::store::Board;
use crate::ui::{render_command, transcript};

/// Maximum length of a progress line, in characters.
const LINE_MAX: usize = 2000;
/// Why a run ends when its host has lost its session on the hub.
const LOST: &str = "the hub could not be reached for too long, so this host no longer leads the crew: continue with crewdeck run --resume and the same --hub";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// The lead has answered, the crew is idle, no request is pending and no task is open.
    Done,
    /// The lead has answered, the crew is idle and no request is pending, but tasks are open or teammates are stuck.
    /// The text names them.
    Open(String),
    /// The program that reads the output closed the pipe.
    OutputClosed,
    /// The lead could not answer, a request is pending that no user can decide, the crew did not accept the prompt or
    /// ended, or its host has lost its session on the hub. The text says why and what to do.
    Failed(String),
    /// The prompt was not sent, usually because a file in it cannot be attached. The text says why.
    Rejected(String),
    /// Ctrl-C, SIGTERM or SIGHUP ended the run.
    Interrupted,
}

/// Returns whether standard input and standard error are terminals, so that a user can answer questions. If not, as in
/// a script or a pipe, the approver `ask` is replaced by `deny`.
pub fn has_user() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Sends `prompt` to the lead, and prints events until the crew is idle. Without a prompt, a resumed lead continues
/// its unfinished turn.
///
/// # Errors
/// Fails if signal handlers cannot be installed, if standard output cannot be written, or if the board cannot be read at
/// the end. A closed pipe is no error.
pub async fn run(
    crew: &Crew,
    events: &mut EventReceiver,
    journal: &mut JournalWriter,
    board: &Board,
    prompt: Option<Command>,
    form: OutputFormat,
) -> Result<RunOutcome> {
    let mut ids = CommandIds::default();
    let mut sent_prompt = None;
    if let Some(prompt) = prompt {
        let sent = ids.assign(prompt);
        sent_prompt = Some(sent.id);
        if crew.submit(sent).is_err() {
            return Ok(RunOutcome::Failed(
                "the crew did not accept the prompt: try again".into(),
            ));
        }
    }
    let began = super::now();
    let mut last = TurnEnd::Done;
    let mut pending = PendingRequests::default();
    let mut unfinished = UnfinishedWork::default();
    let mut updates = UpdateCalls::default();
    let (mut terminate, mut hangup) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
    );
    let ended = async {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => RunOutcome::Interrupted,
            _ = terminate.recv() => RunOutcome::Interrupted,
            _ = hangup.recv() => RunOutcome::Interrupted,
            () = crew.lost() => RunOutcome::Failed(LOST.into()),
        }
    };
    tokio::pin!(ended);
    loop {
        let event = tokio::select! {
            outcome = &mut ended => return Ok(outcome),
            event = events.next() => match event {
                Some(event) => event,
                None => return Ok(RunOutcome::Failed("the crew ended unexpectedly".into())),
            },
        };
        if let Some(text) = journal.note(&event) {
            eprint_line(&format!("warning: {text}"));
        }
        let written = match form {
            OutputFormat::Json => json_line(&event),
            OutputFormat::Text => print_event(&event, began, &mut updates),
        };
        if let Err(error) = written {
            // The program that reads the output has closed the pipe. This is a normal end.
            if error.kind() == std::io::ErrorKind::BrokenPipe {
                return Ok(RunOutcome::OutputClosed);
            }
            return Err(error.into());
        }
        pending.update(&event.kind);
        unfinished.update(&event.kind);
        match event.kind {
            EventKind::Agent {
                agent,
                event: AgentEvent::TurnEnded { end },
            } if agent.is_lead() => last = end,
            EventKind::Team(TeamEvent::RequestChanged { request })
                if request.is_pending() && request.approver == Approver::Ask =>
            {
                tokio::select! {
                    outcome = &mut ended => return Ok(outcome),
                    () = decide(crew, &mut ids, request, form) => {}
                }
            }
            EventKind::Crew(CrewEvent::AllIdle) => {
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
            EventKind::Crew(CrewEvent::CommandRejected { command, why })
                if command.is_some() && command == sent_prompt =>
            {
                return Ok(RunOutcome::Rejected(why));
            }
            EventKind::Crew(CrewEvent::CommandRejected { why, .. }) if last == TurnEnd::Done => {
                eprint_line(&why);
            }
            _ => {}
        }
    }
}

/// Returns the command that sends `text` and the files that it mentions to the lead. A mention with quotes or a leading
/// `/`, `./`, `../` or `~/` must name a file. Any other mention may be ordinary text; if it names no file but contains
/// `/` or `.`, prints a warning.
pub fn prompt(root: &Path, text: String) -> Command {
    let attachments = mention::mentions(&text, |_| false);
    for Mention { path, is_required } in &attachments {
        // A mention `@server:uri` of a resource is not checked: only the crew knows the servers.
        let is_missing =
            !is_required && split_resource(path).is_none() && !root.join(path).exists();
        if is_missing && path.contains(['/', '.']) {
            eprint_line(&format!(
                "warning: there is no file {path}, so @{path} is sent as plain text. With @./{path}, a missing file is an error."
            ));
        }
    }
    Command::Prompt {
        to: Name::lead(),
        text,
        attachments,
    }
}

/// Prints an event as a line of JSON on standard output.
pub fn json_line(event: &Event) -> std::io::Result<()> {
    let line = escape_json(&serde_json::to_string(event)?);
    writeln!(std::io::stdout().lock(), "{line}")
}

/// Prints an event as text: the lead's answers on standard output, progress on standard error.
pub fn print_event(
    event: &Event,
    began: Timestamp,
    updates: &mut UpdateCalls,
) -> std::io::Result<()> {
    match &event.kind {
        EventKind::Agent {
            agent,
            event: AgentEvent::AnswerFinished { text, .. },
        } if agent.is_lead() && !text.trim().is_empty() => {
            writeln!(
                std::io::stdout().lock(),
                "{}",
                escape_control_chars(text.trim_end())
            )?;
            if transcript::contains_tool_call(text) {
                eprint_line(&format!("warning: {}", transcript::CALL_AS_TEXT_WARNING));
            }
        }
        EventKind::Agent { agent, event: what } => {
            let text = match updates.note(agent, what) {
                UpdateLine::None => None,
                UpdateLine::Result(text) => Some(text),
                UpdateLine::OtherEvent => agent_progress(agent, what, event.at),
            };
            if let Some(text) = text {
                eprint_line(&format!("{agent} · {text}"));
            }
        }
        // Decisions of earlier runs are read from disk at the start and are not progress.
        EventKind::Team(TeamEvent::RequestChanged { request })
            if !request.is_pending() && request.decided_at.0 >= began.0 =>
        {
            eprint_line(&format!(
                "{} of {} {} by {}",
                request.kind,
                request.target,
                request.status_word(),
                request.decided_by
            ));
        }
        EventKind::Crew(CrewEvent::Ready(setup)) => {
            let scripted = if setup.scripted { " (scripted)" } else { "" };
            eprint_line(&format!(
                "crewdeck · {} · {}{scripted}",
                setup.provider, setup.model
            ));
        }
        EventKind::Crew(CrewEvent::JobChanged { job }) => {
            let (agent, title, status) = (&job.agent, job.title(), job.status());
            eprint_line(&format!("{agent} · background job {status}: {title}"));
        }
        EventKind::Crew(CrewEvent::Notice { level, text, .. }) => {
            let mark = match level {
                NoticeLevel::Info => "",
                NoticeLevel::Warn => "warning: ",
                NoticeLevel::Error => "crewdeck: ",
            };
            eprint_line(&format!("{mark}{text}"));
        }
        _ => {}
    }
    Ok(())
}

/// Returns a progress line that describes an agent's event, without the agent's name. `None` for events that are not
/// printed.
fn agent_progress(agent: &Name, event: &AgentEvent, at: Timestamp) -> Option<String> {
    Some(match event {
        AgentEvent::ToolStarted { tool, on, .. } => format!("{tool} {}", clip(on, 100)),
        AgentEvent::ToolFinished {
            tool,
            outcome: Outcome::Error,
            output,
            ..
        } => format!("{tool} failed: {}", clip(output, 160)),
        AgentEvent::Prompted { .. } if !agent.is_lead() => "message from user".into(),
        AgentEvent::ContextAdded { what, .. } => what.clone(),
        AgentEvent::Compacted { compaction } => {
            let (before, after) = (compaction.before, compaction.after);
            // The summary can make a short conversation longer.
            if after < before {
                format!("conversation compacted from {before} to {after} tokens")
            } else {
                format!("conversation summarised, {after} tokens now")
            }
        }
        AgentEvent::SubagentStarted { kind, .. } => {
            let kind = match kind {
                SubagentKind::Explore => "explore",
                SubagentKind::General => "general",
            };
            format!("started ({kind} subagent)")
        }
        AgentEvent::ActivityChanged {
            activity:
                Activity::Backoff {
                    cause,
                    until,
                    attempt,
                    attempts_max,
                },
        } => {
            let seconds = until.since(at).as_secs_f64();
            match attempt {
                0 => format!("{cause}; all agents wait {seconds:.1} s"),
                _ => {
                    let next = attempt.saturating_add(1);
                    format!("{cause}; attempt {next} of {attempts_max} in {seconds:.1} s")
                }
            }
        }
        AgentEvent::TurnEnded {
            end: TurnEnd::Failed { error, hint },
        } if !agent.is_lead() => format!("{error}. {hint}"),
        _ => return None,
    })
}

/// Says on standard error that the key in the environment variable `key` is sent to `address`.
pub(super) fn eprint_key_address(key: &str, address: &str) {
    eprint_line(&format!(
        "crewdeck: the API key in {key} is sent to {address}"
    ));
}

/// Prints a progress line to standard error. Write errors are ignored.
pub(super) fn eprint_line(text: &str) {
    let text = clip(&one_line(text), LINE_MAX);
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Asks the user at the terminal to decide a request, and sends the decision to the crew. Does nothing if no user is at
/// a terminal, or if the output is JSON.
async fn decide(crew: &Crew, ids: &mut CommandIds, request: Request, form: OutputFormat) {
    if !has_user() || form == OutputFormat::Json {
        return;
    }
    let (body, warning) = printed_body(&request);
    let question = format!(
        "\n{} asks ({}):\n{body}\n{}",
        request.from,
        request.kind,
        how_to_answer(&request)
    );
    let answer = tokio::task::spawn_blocking(move || {
        let answer = ask(&question)?;
        match warning.filter(|_| is_yes(&answer)) {
            Some(warning) => ask(&warning),
            None => Ok(answer),
        }
    })
    .await;
    // If a question cannot be printed, the request is rejected.
    let answer = answer.ok().and_then(Result::ok).unwrap_or_default();
    let (verdict, comment) = parse_answer(&request, &answer);
    let decision = Decision::on(&request, verdict, Name::user(), comment);
    if crew.submit(ids.assign(Command::Decide(decision))).is_err() {
        eprint_line("the crew did not accept the decision");
    }
}

/// Prints `question` to standard error and returns the line that the user types, without the blanks around it; empty at
/// the end of input.
fn ask(question: &str) -> std::io::Result<String> {
    write!(std::io::stderr().lock(), "{question}")?;
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.map(|_| line.trim().to_string())
}

/// Returns the body of a request as it is printed on the terminal. If a part of a permission request is not printed,
/// also returns a second question, else `None`. The request is approved only if the user answers yes to both questions.
fn printed_body(request: &Request) -> (String, Option<String>) {
    if request.kind != RequestKind::Permission {
        return (escape_control_chars(&request.body), None);
    }
    let shown = render_command(&request.body);
    let mut text = escape_control_chars(&shown.text);
    // The end of a long command scrolls its beginning off the screen.
    if let Some((summary, _)) = text.split_once(FULL_TEXT) {
        text = format!("{text}\n{summary}");
    }
    let missing = [
        (shown.cut_bytes, "bytes in the middle are cut"),
        (shown.folded_chars, "characters of comments are hidden"),
    ];
    let missing: Vec<String> = missing
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let warning = (!missing.is_empty()).then(|| {
        format!(
            "The request is not fully shown: {}. Allow it without reading them? [y/N] ",
            missing.join(" and ")
        )
    });
    (text, warning)
}

/// Returns the last lines of a request that is printed on the terminal: the numbered choices, if any, and how to
/// answer.
fn how_to_answer(request: &Request) -> String {
    match request.kind {
        RequestKind::Plan
        | RequestKind::Shutdown
        | RequestKind::Permission
        | RequestKind::Budget => "Allow? [y/N] ".into(),
        RequestKind::Question => {
            let choices = request.choices.iter().enumerate();
            let mut lines: Vec<String> = choices
                .map(|(at, choice)| format!("{}  {}", at + 1, one_line(choice)))
                .collect();
            lines.push("Answer (empty: let the agent decide): ".into());
            lines.join("\n")
        }
    }
}

/// Converts `line`, which the user typed, to the verdict on `request` and a comment. For a question, the comment is the
/// answer, and an empty line rejects. For other requests, `y` or `yes` approves, and anything else rejects.
fn parse_answer(request: &Request, line: &str) -> (Verdict, String) {
    match request.kind {
        RequestKind::Plan
        | RequestKind::Shutdown
        | RequestKind::Permission
        | RequestKind::Budget => {
            let verdict = if is_yes(line) {
                Verdict::Approve
            } else {
                Verdict::Reject
            };
            (verdict, String::new())
        }
        RequestKind::Question if line.is_empty() => (Verdict::Reject, String::new()),
        RequestKind::Question => (Verdict::Approve, request.resolve_answer(line)),
    }
}

fn is_yes(line: &str) -> bool {
    ["y", "yes"].contains(&line.to_lowercase().as_str())
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
