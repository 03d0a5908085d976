//! Checks what the processes of a crew have recorded, and what the server has stored, against the promises about hosts: no
//! task is done or owned twice, none is lost, each message arrives once, each request is decided once, and a host that has
//! lost its lease has stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use crewdeck::domain::ids::{RequestId, TaskId};
use crewdeck::domain::task::TaskStatus;
use crewdeck::store::Stores;

use super::host_process::{CREATED, ROLES};
use super::records::{RecordLine, TaskVersion, all_records};

/// Written by the test: which process it killed, and when.
pub const PARENT: &str = "parent";

/// What a round has shown.
#[derive(Debug, Default)]
pub struct RoundReport {
    pub tasks: usize,
    pub messages: usize,
    pub requests: usize,
    pub joins: usize,
    pub lost_sessions: usize,
    pub released: usize,
    pub adopted: usize,
    /// Changes of the board that no reader of the history has seen.
    pub gaps: u64,
    /// Overlaps that are explained by a process that was stopped for longer than it can notice.
    pub excused: usize,
    /// Messages that were delivered twice after a cut that was longer than the server remembers ids.
    pub doubled: usize,
    /// What breaks a promise.
    pub problems: Vec<String>,
}

impl fmt::Display for RoundReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} tasks, {} messages, {} requests, {} joins, {} lost sessions, {} tasks released, {} adoptions, {} unseen changes, {} excused overlaps, {} doubled messages, {} problems",
            self.tasks,
            self.messages,
            self.requests,
            self.joins,
            self.lost_sessions,
            self.released,
            self.adopted,
            self.gaps,
            self.excused,
            self.doubled,
            self.problems.len()
        )
    }
}

impl RoundReport {
    pub fn add(&mut self, other: RoundReport) {
        self.tasks += other.tasks;
        self.messages += other.messages;
        self.requests += other.requests;
        self.joins += other.joins;
        self.lost_sessions += other.lost_sessions;
        self.released += other.released;
        self.adopted += other.adopted;
        self.gaps += other.gaps;
        self.excused += other.excused;
        self.doubled += other.doubled;
        self.problems.extend(other.problems);
    }
}

/// Checks a round after all processes have ended. `may_double` allows messages that were delivered twice.
pub fn check(
    stores: &Stores,
    root: &Path,
    history: &[TaskVersion],
    may_double: bool,
) -> RoundReport {
    let roles = [&ROLES[..], &[PARENT]].concat();
    let lines = all_records(root, &roles);
    let count = |event: &str| lines.iter().filter(|line| line.event == event).count();
    let mut report = RoundReport {
        joins: count("joined"),
        lost_sessions: count("invalid"),
        released: count("released"),
        adopted: count("adopted"),
        ..RoundReport::default()
    };
    let unexpected = ["error", "unclear", "accepted-late"];
    for line in lines
        .iter()
        .filter(|l| unexpected.contains(&l.event.as_str()))
    {
        let what = format!("{} {}: {}", line.role, line.event, line.arguments.join(" "));
        report.problems.push(what);
    }
    check_tasks(&mut report, stores, &lines);
    check_history(&mut report, history);
    check_sessions(&mut report, &lines);
    check_messages(&mut report, stores, root, &lines, may_double);
    check_requests(&mut report, stores, &lines);
    report
}

fn check_tasks(report: &mut RoundReport, stores: &Stores, lines: &[RecordLine]) {
    let graph = stores.board.read().unwrap().graph;
    report.tasks = graph.len();
    let problems = &mut report.problems;
    problems.extend(graph.find_cycle());
    for task in graph.tasks() {
        if task.status != TaskStatus::Completed {
            problems.push(format!("task {} was lost: {}", task.id, task.status));
        }
    }
    for line in lines.iter().filter(|line| line.event == CREATED) {
        let id = TaskId(line.argument(0).parse().unwrap());
        if graph.get(id).is_none() {
            problems.push(format!("task {id} was created, but is not on the board"));
        }
    }
    let mut completed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.event == "completed") {
        completed
            .entry(line.argument(0))
            .or_default()
            .push(line.argument(1));
    }
    for (id, sessions) in completed {
        if sessions.len() > 1 {
            problems.push(format!("task {id} was completed by {sessions:?}"));
        }
        let task = graph.get(TaskId(id.parse().unwrap()));
        let claim = task.and_then(|task| task.claim.as_ref());
        if claim.is_none_or(|claim| claim.session != sessions[0]) {
            let session = sessions[0];
            problems.push(format!(
                "task {id} was completed by {session}, not {claim:?}"
            ));
        }
    }
}

/// Checks that each change of an owner was made under the claim that was current.
fn check_history(report: &mut RoundReport, history: &[TaskVersion]) {
    let mut last: BTreeMap<&str, (usize, &TaskVersion)> = BTreeMap::new();
    let mut expected = history.first().map_or(1, |first| first.sequence);
    for (at, version) in history.iter().enumerate() {
        report.gaps += version.sequence.saturating_sub(expected);
        expected = version.sequence + 1;
        let Some((before_at, before)) = last.insert(&version.id, (at, version)) else {
            continue;
        };
        // A change that was not seen may explain the difference.
        if version.sequence - before.sequence != (at - before_at) as u64 {
            continue;
        }
        let is_same = before.session == version.session;
        // A new session of a host may take over the claims of the one before.
        let is_same_host = !version.session.is_empty() && before.host == version.host;
        let is_allowed = match (before.status.as_str(), version.status.as_str()) {
            ("completed", "completed") => is_same && before.owner == version.owner,
            ("in_progress", "in_progress") => is_same || is_same_host,
            ("in_progress", "completed") => is_same && !version.session.is_empty(),
            ("completed", _) | (_, "completed") => false,
            _ => true,
        };
        if !is_allowed {
            let what = format!("a change without a current claim: {before:?} -> {version:?}");
            report.problems.push(what);
        }
    }
}

/// A time in which something was true for a session, in milliseconds.
#[derive(Debug, Clone)]
struct Interval {
    what: String,
    session: String,
    role: String,
    from: u64,
    to: u64,
}

/// Returns the intervals between the lines `begins` and `ends`. An interval without an end lasts until its process was
/// killed. `key` returns what a line is about, and its session.
fn intervals(
    lines: &[RecordLine],
    begins: &str,
    ends: &[&str],
    key: impl Fn(&RecordLine) -> (String, String),
) -> Vec<Interval> {
    let mut out: Vec<Interval> = Vec::new();
    for line in lines {
        if line.event == begins {
            let (what, session) = key(line);
            out.push(Interval {
                what,
                session,
                role: line.role.clone(),
                from: line.at,
                to: u64::MAX,
            });
        } else if line.event == "killed" {
            let killed = out.iter_mut().filter(|open| open.role == line.argument(0));
            for open in killed.filter(|open| open.to == u64::MAX) {
                open.to = line.at;
            }
        } else if ends.contains(&line.event.as_str()) {
            let (what, session) = key(line);
            let own = |open: &&mut Interval| {
                open.what == what && open.session == session && open.to == u64::MAX
            };
            if let Some(open) = out.iter_mut().find(own) {
                open.to = line.at;
            }
        }
    }
    out
}

fn check_sessions(report: &mut RoundReport, lines: &[RecordLine]) {
    let work = intervals(lines, "begin", &["end"], |line| {
        (line.argument(0).into(), line.argument(1).into())
    });
    let leads: Vec<RecordLine> = lines
        .iter()
        .filter(|line| line.role.starts_with("lead") || line.event == "killed")
        .cloned()
        .collect();
    let leads = intervals(&leads, "joined", &["invalid", "left"], |line| {
        ("the lead".into(), line.argument(0).into())
    });
    let stalls: BTreeSet<&str> = lines
        .iter()
        .filter(|line| line.event == "stalled")
        .map(|line| line.argument(0))
        .collect();
    for (at, one) in work.iter().chain(&leads).enumerate() {
        for other in work.iter().chain(&leads).skip(at + 1) {
            let is_overlap = one.what == other.what
                && one.session != other.session
                && one.from < other.to
                && other.from < one.to;
            if !is_overlap {
                continue;
            }
            let sessions = [one.session.as_str(), other.session.as_str()];
            if sessions.iter().any(|session| stalls.contains(session)) {
                report.excused += 1;
            } else {
                let what = format!("two sessions at the same time: {one:?} and {other:?}");
                report.problems.push(what);
            }
        }
    }
    // A session also becomes invalid when its process leaves.
    let ends: BTreeSet<&str> = ["refused", "lost", "stopped", "left"].into();
    for lost in lines.iter().filter(|line| line.event == "invalid") {
        let session = lost.argument(0);
        let is_refused =
            |line: &&RecordLine| ends.contains(line.event.as_str()) && line.argument(0) == session;
        let was_killed = |line: &&RecordLine| {
            line.event == "killed" && line.argument(0) == lost.role && line.at >= lost.at
        };
        if !lines
            .iter()
            .any(|line| is_refused(&line) || was_killed(&line))
        {
            let what = format!("{} was not refused after it lost {session}", lost.role);
            report.problems.push(what);
        }
    }
}

fn check_messages(
    report: &mut RoundReport,
    stores: &Stores,
    root: &Path,
    lines: &[RecordLine],
    may_double: bool,
) {
    let mut logs = String::new();
    for entry in std::fs::read_dir(root.join(".transcripts")).unwrap() {
        logs.push_str(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    let sent: BTreeSet<&str> = lines
        .iter()
        .filter(|line| line.event == "sent")
        .map(|line| line.argument(0))
        .collect();
    report.messages = sent.len();
    for text in sent {
        match logs.matches(text).count() {
            1 => {}
            2.. if may_double => report.doubled += 1,
            count => {
                let what = format!("message {text} was delivered {count} times");
                report.problems.push(what);
            }
        }
    }
    let unread = stores.mailbox.count_unread().unwrap();
    if !unread.is_empty() {
        report.problems.push(format!("unread messages: {unread:?}"));
    }
}

fn check_requests(report: &mut RoundReport, stores: &Stores, lines: &[RecordLine]) {
    let asked = lines.iter().filter(|line| line.event == "asked");
    let asked: BTreeSet<&str> = asked.map(|line| line.argument(0)).collect();
    report.requests = asked.len();
    let mut decided: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.event == "decided") {
        decided
            .entry(line.argument(0))
            .or_default()
            .push(line.argument(1));
    }
    for id in asked {
        let decisions = decided.get(id).map_or(&[][..], Vec::as_slice);
        let stored = stores.requests.get(&RequestId(id.into())).unwrap();
        let Some(stored) = stored else {
            report.problems.push(format!("request {id} was lost"));
            continue;
        };
        let is_stored = decisions.iter().all(|comment| *comment == stored.comment);
        if stored.is_pending() || decisions.len() > 1 || !is_stored {
            let status = stored.status;
            let what = format!("request {id} is {status:?}, and was decided by {decisions:?}");
            report.problems.push(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn version(sequence: u64, status: &str, session: &str) -> TaskVersion {
        TaskVersion {
            sequence,
            id: "1".into(),
            status: status.into(),
            owner: "worker-1".into(),
            host: if session.is_empty() { "" } else { "worker-1" }.into(),
            session: session.into(),
        }
    }

    fn problems(history: &[TaskVersion]) -> usize {
        let mut report = RoundReport::default();
        check_history(&mut report, history);
        report.problems.len()
    }

    #[test]
    fn history_with_current_claims_has_no_problem() {
        let history = [
            version(1, "pending", ""),
            version(2, "in_progress", "a"),
            version(3, "pending", ""),
            version(4, "in_progress", "b"),
            version(5, "in_progress", "c"),
            version(6, "completed", "c"),
        ];
        assert_eq!(problems(&history), 0);
    }

    #[test]
    fn completion_without_a_current_claim_is_a_problem() {
        for history in [
            [version(1, "pending", ""), version(2, "completed", "a")],
            [version(1, "in_progress", "a"), version(2, "completed", "b")],
            [version(1, "completed", "a"), version(2, "completed", "b")],
            [version(1, "completed", "a"), version(2, "pending", "")],
        ] {
            assert_eq!(problems(&history), 1, "{history:?}");
        }
        // The change in between was not seen.
        let gap = [version(1, "pending", ""), version(3, "completed", "a")];
        assert_eq!(problems(&gap), 0);
    }

    fn line(at: u64, role: &str, words: &str) -> RecordLine {
        let mut words = words.split(' ').map(str::to_string);
        RecordLine {
            at,
            role: role.into(),
            event: words.next().unwrap(),
            arguments: words.collect(),
        }
    }

    #[test]
    fn work_of_two_sessions_at_the_same_time_is_a_problem() {
        let overlapping = [
            line(1, "worker-1", "begin 1 a"),
            line(2, "worker-2", "begin 1 b"),
            line(3, "worker-1", "end 1 a"),
            line(4, "worker-2", "end 1 b"),
        ];
        let count = |lines: &[RecordLine]| {
            let mut report = RoundReport::default();
            check_sessions(&mut report, lines);
            (report.problems.len(), report.excused)
        };
        assert_eq!(count(&overlapping), (1, 0));
        let stalled = [&overlapping[..], &[line(3, "worker-1", "stalled a")]].concat();
        assert_eq!(count(&stalled), (0, 1));
        let killed = [
            line(1, "worker-1", "begin 1 a"),
            line(2, "parent", "killed worker-1"),
            line(3, "worker-2", "begin 1 b"),
            line(4, "worker-2", "end 1 b"),
        ];
        assert_eq!(count(&killed), (0, 0));
    }
}
