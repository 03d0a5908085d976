//! Summaries of the earlier sessions of a project, from their journals, and the command that resumes a session.

use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueEnum;

use super::resume;
use crate::cli::{ApproverArg, GlobalOptions};
use crate::domain::ids::TaskId;
use crate::domain::task::TaskStatus;
use crate::protocol::{AgentEvent, BoardEvent, EventKind};
use crate::store::{self, Journal, Roster};
use crate::ui::SessionSummary;

/// Maximum number of sessions in the list. Older ones are left out.
const SESSIONS_MAX: usize = 100;
/// Journals are read completely, newest session first, until their total size reaches this many bytes. From the other
/// journals, only the first part is read.
const READ_MAX: usize = 64 * 1024 * 1024;
/// Maximum length, in characters, of the first prompt of a session in the list.
const PROMPT_MAX: usize = 300;

/// Lists the newest [`SESSIONS_MAX`] sessions of a project. The session with the newest event comes first; sessions
/// without events come last. Empty if the sessions cannot be read. Blocks for up to a few hundred milliseconds to read
/// files.
pub fn list(root: &Path) -> Vec<SessionSummary> {
    let ids = store::sessions(root).unwrap_or_default();
    let mut room = READ_MAX;
    let newest = ids.into_iter().rev().take(SESSIONS_MAX);
    let mut all: Vec<SessionSummary> = newest.map(|id| summary(root, id, &mut room)).collect();
    all.sort_by(|a, b| {
        let time = |s: &SessionSummary| s.last.map_or(0.0, |at| at.0);
        time(b).total_cmp(&time(a))
    });
    all
}

fn summary(root: &Path, id: String, room: &mut usize) -> SessionSummary {
    let head = Journal::head(root, &id).unwrap_or_default();
    let whole = if *room > 0 {
        Journal::read(root, &id).unwrap_or_default()
    } else {
        Vec::new()
    };
    *room = room.saturating_sub(whole.iter().map(String::len).sum());
    let lines = if whole.is_empty() { &head } else { &whole };
    SessionSummary {
        prompt: first_prompt(head.iter().chain(&whole)).unwrap_or_default(),
        last: lines.iter().rev().find_map(|l| Some(resume::event(l)?.at)),
        tasks: (!whole.is_empty()).then(|| tasks(&whole)),
        id,
    }
}

fn first_prompt<'a>(lines: impl Iterator<Item = &'a String>) -> Option<String> {
    let mut prompts = lines.filter(|line| line.contains(r#""prompted""#));
    prompts.find_map(|line| match resume::event(line)?.kind {
        EventKind::Agent {
            agent,
            event: AgentEvent::Prompted { text, .. },
        } if agent.is_lead() => Some(text.chars().take(PROMPT_MAX).collect()),
        _ => None,
    })
}

/// Returns the number of completed tasks and the number of all tasks on the board, as of the last event in `lines`.
fn tasks(lines: &[String]) -> (usize, usize) {
    let mut board: BTreeMap<TaskId, TaskStatus> = BTreeMap::new();
    for line in lines.iter().filter(|l| l.contains(r#""board_changed""#)) {
        let Some(EventKind::Board(BoardEvent::BoardChanged { changed, removed })) =
            resume::event(line).map(|event| event.kind)
        else {
            continue;
        };
        board.extend(changed.iter().map(|task| (task.id, task.status)));
        board.retain(|id, _| !removed.contains(id));
    }
    let done = board.values().filter(|s| **s == TaskStatus::Completed);
    (done.count(), board.len())
}

/// Returns the command line that resumes `session` of the project `root` with the same options. `--team` is not
/// repeated, because a resumed session restores its own team. `--model` is not repeated if the user has chosen another
/// model for the lead during the session, because the session restores this choice. `None` if the session has no
/// conversation on disk.
pub fn resume_command(options: &GlobalOptions, root: &Path, session: &str) -> Option<String> {
    let all = store::sessions(root).ok()?;
    all.iter().find(|id| *id == session)?;
    let team = Roster::open(root).read().unwrap_or_default();
    let restores_model = team.lead_models.contains_key(session);
    let model = options.model.clone().filter(|_| !restores_model);
    let demo = options.demo.then(|| "--demo".to_string());
    let approver = |who: Option<ApproverArg>| {
        let value = who?.to_possible_value()?;
        Some(value.get_name().to_string())
    };
    let valued = [
        (
            "--dir",
            options.dir.as_ref().map(|dir| dir.display().to_string()),
        ),
        ("--hub", options.hub.clone()),
        ("--provider", options.provider.clone()),
        ("--base-url", options.base_url.clone()),
        ("--model", model),
        (
            "--tools",
            options.tools.as_ref().map(|names| names.join(",")),
        ),
        ("--plan", approver(options.plan)),
        ("--shutdown", approver(options.shutdown)),
        ("--tool", approver(options.tool)),
        ("--speed", options.speed.map(|speed| speed.to_string())),
        ("--resume", Some(session.to_string())),
    ];
    let valued = valued
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", quote(&value?))));
    let words: Vec<String> = ["crewdeck".to_string()]
        .into_iter()
        .chain(demo)
        .chain(valued)
        .collect();
    Some(words.join(" "))
}

/// Quotes a word for the shell if necessary.
pub(super) fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clap::Parser;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::cli::Cli;
    use crate::domain::ids::Name;
    use crate::domain::team::ModelChoice;
    use crate::domain::timestamp::Timestamp;
    use crate::protocol::Event;

    /// Writes a session with these events, one per second from `start`.
    fn session(root: &Path, id: &str, start: f64, events: Vec<EventKind>) {
        let folder = root.join(".transcripts");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{id}-lead.jsonl")), "").unwrap();
        let mut journal = Journal::open(root, id).unwrap();
        for (seq, kind) in (0..).zip(events) {
            let at = Timestamp(start);
            let event = Event { seq, at, kind };
            journal
                .append(&serde_json::to_string(&event).unwrap())
                .unwrap();
        }
    }

    fn prompt_event(agent: Name, text: &str) -> EventKind {
        AgentEvent::prompt(text).of(agent)
    }

    #[test]
    fn sessions_have_first_prompt_time_and_tasks() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        assert_eq!(list(root), Vec::new());
        let board = EventKind::Board(BoardEvent::BoardChanged {
            changed: crate::ui::fixture::board()
                .tasks()
                .cloned()
                .map(Arc::new)
                .collect(),
            removed: Vec::new(),
        });
        let bob = Name::party("bob").unwrap();
        let first = vec![
            prompt_event(bob, "not this"),
            prompt_event(Name::lead(), "Write a parser"),
            prompt_event(Name::lead(), "and test it"),
            board,
        ];
        // The older session was resumed later.
        session(root, "0190aaaa", 900.0, first);
        session(root, "0190bbbb", 500.0, vec![]);
        let all = list(root);
        let ids: Vec<&str> = all.iter().map(|s| s.id.as_str()).collect();
        assert_eq!(ids, ["0190aaaa", "0190bbbb"]);
        assert_eq!(all[0].prompt, "Write a parser");
        assert_eq!(all[0].last, Some(Timestamp(900.0)));
        let (done, count) = all[0].tasks.unwrap();
        assert!(done > 0 && count > done, "{done} of {count}");
        assert_eq!((all[1].prompt.as_str(), all[1].last), ("", None));
    }

    #[test]
    fn resume_command_has_the_options_and_needs_a_conversation() {
        let dir = tempfile::tempdir().unwrap();
        session(dir.path(), "0190aaaa", 1.0, vec![]);
        let cases = [
            ("", "crewdeck --resume 0190aaaa"),
            ("--resume 0177", "crewdeck --resume 0190aaaa"),
            (
                "--demo --dir /tmp/d",
                "crewdeck --demo --dir /tmp/d --resume 0190aaaa",
            ),
            (
                "--provider openai --model qwen3:8b",
                "crewdeck --provider openai --model qwen3:8b --resume 0190aaaa",
            ),
            // The session is one of a crew on a hub.
            (
                "--hub nats://hub:4222/web",
                "crewdeck --hub nats://hub:4222/web --resume 0190aaaa",
            ),
            // A resumed session is not less restricted than before.
            (
                "--tool deny --plan lead --shutdown auto --tools bash,read_file",
                "crewdeck --tools bash,read_file --plan lead --shutdown auto --tool deny --resume 0190aaaa",
            ),
            (
                "--demo --speed 0.5 --team reviewers",
                "crewdeck --demo --speed 0.5 --resume 0190aaaa",
            ),
        ];
        for (typed, expected) in cases {
            let words = ["crewdeck"].into_iter().chain(typed.split_whitespace());
            let options = Cli::try_parse_from(words).unwrap().global;
            let command = resume_command(&options, dir.path(), "0190aaaa");
            assert_eq!(command.as_deref(), Some(expected));
            assert_eq!(resume_command(&options, dir.path(), "0190ffff"), None);
        }
        let choice = ModelChoice {
            name: "fast".into(),
            named: false,
        };
        store::prepare(dir.path()).unwrap();
        let roster = Roster::open(dir.path());
        roster.set_lead_model("0190aaaa", Some(choice)).unwrap();
        let words = ["crewdeck", "--provider", "openai", "--model", "slow"];
        let options = Cli::try_parse_from(words).unwrap().global;
        let command = resume_command(&options, dir.path(), "0190aaaa");
        let expected = "crewdeck --provider openai --resume 0190aaaa";
        assert_eq!(command.as_deref(), Some(expected));
        assert_eq!(quote("it's here"), r"'it'\''s here'");
    }
}
