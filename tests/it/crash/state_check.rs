//! Checks the state files and the repository of a crew that has completed its work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crewdeck::domain::chat::{Block, Role, validate as check_chat};
use crewdeck::domain::conversation::{Conversation, LogRecord};
use serde_json::Value;

use crate::common::process_tree::{FoundProcess, find_by_variable};
use crate::common::repository::{git, git_output};

pub fn try_git(dir: &Path, args: &[&str]) -> (bool, String) {
    let out = git_output(dir, args);
    let text = if out.status.success() {
        &out.stdout
    } else {
        &out.stderr
    };
    (
        out.status.success(),
        String::from_utf8_lossy(text).trim_end().into(),
    )
}

/// Returns the files of a folder, sorted. A missing folder counts as empty.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut all: Vec<PathBuf> = entries
        .map(|e| e.unwrap().path())
        .filter(|p| p.is_file())
        .collect();
    all.sort();
    all
}

pub fn all_files(dir: &Path, into: &mut Vec<PathBuf>) {
    into.extend(files(dir));
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            all_files(&entry.path(), into);
        }
    }
}

/// Returns the paths and object hashes of all files on the base branch.
pub fn tree(project: &Path) -> String {
    git(project, &["ls-tree", "-r", "main"])
}

/// Returns everything that is wrong in the files of a crew that has completed its work. `tree`, if given, is the
/// expected content of the base branch.
pub fn check(project: &Path, tree: Option<&str>) -> Vec<String> {
    let mut problems = Vec::new();
    check_state_files(project, &mut problems);
    check_board(project, &mut problems);
    check_journal(project, &mut problems);
    check_messages(project, &mut problems);
    check_requests(project, &mut problems);
    check_git(project, tree, &mut problems);
    problems
}

pub fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Checks that every state file can be parsed, and that none was set aside as damaged.
pub fn check_state_files(project: &Path, problems: &mut Vec<String>) {
    let mut all = Vec::new();
    for folder in [".tasks", ".team", ".transcripts", ".crewdeck"] {
        all_files(&project.join(folder), &mut all);
    }
    all.extend(files(&project.join(".worktrees")));
    for path in all {
        let (shown, text) = (
            path.strip_prefix(project).unwrap().display(),
            std::fs::read_to_string(&path),
        );
        if name(&path).contains("damaged") {
            problems.push(format!("{shown} was set aside: {text:?}"));
        }
        // The objects of checkpoints are not text.
        if path.starts_with(project.join(".crewdeck/checkpoints/git")) {
            continue;
        }
        let Ok(text) = text else {
            problems.push(format!("{shown} cannot be read"));
            continue;
        };
        let is = |end: &str| path.extension().is_some_and(|e| e == end);
        if is("json") && serde_json::from_str::<Value>(&text).is_err() {
            problems.push(format!("{shown} is not valid JSON"));
        }
        if is("jsonl") {
            // Two writers may both end a line, so empty lines are allowed.
            for line in text.split_inclusive('\n').filter(|l| *l != "\n") {
                if !line.ends_with('\n') || serde_json::from_str::<Value>(line).is_err() {
                    problems.push(format!("{shown} has a torn line: {line}"));
                }
            }
        }
    }
}

pub fn values(dir: &Path) -> Vec<Value> {
    let json = |p: &PathBuf| p.extension().is_some_and(|e| e == "json");
    let read = |p: PathBuf| serde_json::from_str(&std::fs::read_to_string(p).unwrap()).ok();
    files(dir)
        .into_iter()
        .filter(json)
        .filter_map(read)
        .collect()
}

pub fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|l| serde_json::from_str(l).ok())
        .collect()
}

/// Checks that every task is completed, exists once, and was claimed once.
fn check_board(project: &Path, problems: &mut Vec<String>) {
    let tasks = values(&project.join(".tasks"));
    let mut subjects = BTreeMap::<String, u32>::new();
    for task in &tasks {
        let (id, subject) = (&task["id"], task["subject"].as_str().unwrap_or_default());
        *subjects.entry(subject.to_string()).or_default() += 1;
        if task["status"] != "completed" {
            problems.push(format!(
                "task {id} ({subject}) is {} of {}",
                task["status"], task["owner"]
            ));
        }
        if task["attempts"] != 1 {
            problems.push(format!(
                "task {id} ({subject}) was claimed {} times",
                task["attempts"]
            ));
        }
    }
    if tasks.is_empty() {
        problems.push("there are no tasks".into());
    }
    for (subject, _) in subjects.iter().filter(|(_, count)| **count > 1) {
        problems.push(format!("task {subject} exists more than once"));
    }
}

/// Checks that the journal has no error notices, and that no task passed from one owner to another.
pub fn check_journal(project: &Path, problems: &mut Vec<String>) {
    let mut all = Vec::new();
    all_files(&project.join(".crewdeck"), &mut all);
    let journals: Vec<PathBuf> = all
        .into_iter()
        .filter(|p| name(p) == "journal.jsonl")
        .collect();
    let mut known = BTreeMap::<u64, (String, String)>::new();
    for event in journals.iter().flat_map(|path| lines(path)) {
        let is_trouble = event["type"] == "notice" && event["level"] == "error";
        if is_trouble {
            problems.push(format!("error: {}", event["text"]));
        }
        if event["type"] != "board_changed" {
            continue;
        }
        for task in event["changed"].as_array().into_iter().flatten() {
            let text = |key: &str| task[key].as_str().unwrap_or_default().to_string();
            let (id, now) = (
                task["id"].as_u64().unwrap(),
                (text("status"), text("owner")),
            );
            if let Some(before) = known.insert(id, now.clone())
                && !before.1.is_empty()
                && before.1 != now.1
            {
                problems.push(format!("task {id} went from {before:?} to {now:?}"));
            }
        }
    }
}

/// Returns the conversation of each agent by its name, and checks that each is valid.
pub fn conversations(project: &Path, problems: &mut Vec<String>) -> BTreeMap<String, Conversation> {
    let mut all = BTreeMap::new();
    for path in files(&project.join(".transcripts")) {
        let name = name(&path);
        let Some((_, agent)) = name.trim_end_matches(".jsonl").split_once('-') else {
            continue;
        };
        let records: Vec<LogRecord> = lines(&path)
            .into_iter()
            .filter_map(|l| serde_json::from_value(l).ok())
            .collect();
        let conversation = Conversation::from_records(records);
        if let Err(error) = check_chat(&conversation.messages) {
            problems.push(format!("{name}: {error}"));
        }
        all.insert(agent.to_string(), conversation);
    }
    all
}

/// Checks that each message in an inbox is exactly once in the recipient's conversation. A teammate that has shut down
/// need not have read all of them.
pub fn check_messages(project: &Path, problems: &mut Vec<String>) {
    let all = conversations(project, problems);
    let team: Value = serde_json::from_str(
        &std::fs::read_to_string(project.join(".team/config.json")).unwrap_or_default(),
    )
    .unwrap_or_default();
    let is_shut_down = |name: &str| {
        let members = team["members"].as_array();
        members
            .into_iter()
            .flatten()
            .any(|m| m["name"] == name && m["status"] == "shutdown")
    };
    for path in files(&project.join(".team/inbox")) {
        let file = name(&path);
        let Some(to) = file.strip_suffix(".jsonl") else {
            continue;
        };
        let mut sent = BTreeMap::<String, i64>::new();
        for message in lines(&path) {
            // The crew handles a shutdown request without the model.
            if message["type"] != "shutdown_request" {
                *sent.entry(message_key(&message)).or_default() += 1;
            }
        }
        let mut read = BTreeMap::<String, i64>::new();
        for message in all.get(to).map(received_messages).unwrap_or_default() {
            if message["type"] != "shutdown_request" {
                *read.entry(message_key(&message)).or_default() += 1;
            }
        }
        for (message, count) in &sent {
            let found = read.get(message).copied().unwrap_or(0);
            // A teammate that has shut down need not have read the last messages.
            if found > *count || (found < *count && !is_shut_down(to)) {
                problems.push(format!(
                    "{to}: a message was sent {count} times and read {found} times: {message}"
                ));
            }
        }
    }
}

fn message_key(message: &Value) -> String {
    format!(
        "{} {} {} {}",
        message["from"], message["type"], message["content"], message["request_id"]
    )
}

/// Returns the messages that the agent of this conversation has received.
fn received_messages(conversation: &Conversation) -> Vec<Value> {
    let users = conversation
        .messages
        .iter()
        .filter(|m| m.role == Role::User);
    let texts = users.flat_map(|m| &m.blocks).filter_map(|b| match b {
        Block::Text { text } => text
            .strip_prefix("<inbox>")?
            .trim_end()
            .strip_suffix("</inbox>"),
        Block::Image(_)
        | Block::Thinking { .. }
        | Block::ProviderItem(_)
        | Block::ToolCall(_)
        | Block::ToolResult { .. } => None,
    });
    texts
        .flat_map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap())
        .collect()
}

/// Checks that each request is decided, that a teammate was shut down, and that each approved shutdown was answered
/// once.
fn check_requests(project: &Path, problems: &mut Vec<String>) {
    let answers = lines(&project.join(".team/inbox/lead.jsonl"));
    let mut shutdowns = 0;
    for request in values(&project.join(".team/requests")) {
        let (id, kind) = (&request["id"], &request["kind"]);
        if request["status"] == "pending" || request["decided_by"] == "" {
            problems.push(format!("{kind} request {id} is not decided"));
        }
        if kind == "shutdown" && request["status"] == "approved" {
            shutdowns += 1;
            let about = |l: &&Value| l["type"] == "shutdown_response" && l["request_id"] == *id;
            let count = answers.iter().filter(about).count();
            if count != 1 {
                problems.push(format!("shutdown {id} was answered {count} times"));
            }
        }
    }
    if shutdowns == 0 {
        problems.push("no teammate was shut down".into());
    }
}

/// Checks that the base branch has the files of `baseline` (except two that depend on the moment of a kill), all
/// branches are merged, all worktrees are clean, and no locks of git are left.
pub fn check_git(project: &Path, baseline: Option<&str>, problems: &mut Vec<String>) {
    if let Some(baseline) = baseline {
        let (ok, now) = try_git(project, &["ls-tree", "-r", "main"]);
        if !ok || now != baseline {
            let difference = |a: &str, b: &str| -> Vec<String> {
                let missing = a.lines().filter(|l| !b.lines().any(|m| m == *l));
                missing
                    .filter_map(|l| l.split('\t').nth(1))
                    .map(String::from)
                    .collect()
            };
            let (mut extra, mut missing) = (difference(&now, baseline), difference(baseline, &now));
            // A killed `sed -i` of a scripted teammate leaves its temporary file, which is committed like any other leftover.
            extra.retain(|file| !(file.starts_with("sed") && file.len() == 9));
            // In the demo a message triggers this file. A scripted teammate that is killed at that point does not create it.
            missing.retain(|file| file != "tests/empty.test.sh");
            if !missing.is_empty() || !extra.is_empty() {
                problems.push(format!("main lacks {missing:?} and has extra {extra:?}"));
            }
        }
    }
    let branches = try_git(
        project,
        &["for-each-ref", "--format=%(refname:short)", "refs/heads/wt"],
    )
    .1;
    for branch in branches.lines() {
        if !try_git(project, &["merge-base", "--is-ancestor", branch, "main"]).0 {
            problems.push(format!("{branch} is not merged"));
        }
    }
    let mut worktrees = vec![project.to_path_buf()];
    let entries = std::fs::read_dir(project.join(".worktrees"));
    worktrees.extend(
        entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.is_dir()),
    );
    for worktree in worktrees {
        let (_, status) = try_git(&worktree, &["status", "--porcelain"]);
        if !status.is_empty() {
            problems.push(format!("{} is not clean: {status}", name(&worktree)));
        }
    }
    let mut inside = Vec::new();
    all_files(&project.join(".git"), &mut inside);
    for path in inside {
        let name = name(&path);
        if name == "MERGE_HEAD" || path.extension().is_some_and(|e| e == "lock") {
            problems.push(format!("{} is left behind", path.display()));
        }
    }
}

/// Returns whether a task id below the highest one is missing.
pub fn has_id_gap(project: &Path) -> bool {
    let task_id = |path: &PathBuf| -> Option<usize> {
        let name = path.file_stem()?.to_str()?;
        name.strip_prefix("task_")?.parse().ok()
    };
    let ids: Vec<usize> = files(&project.join(".tasks"))
        .iter()
        .filter_map(task_id)
        .collect();
    ids.iter().max().is_some_and(|last| *last != ids.len())
}

/// Waits up to 30 s until no process has `variable=home` in its environment, and returns those that remain (Linux
/// only).
pub fn remaining_processes(variable: &str, home: &Path) -> Vec<String> {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let remaining = remaining_now(variable, home);
        if remaining.is_empty() || Instant::now() > until {
            return remaining;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the processes that have `variable=home` in their environment at this moment (Linux only).
pub fn remaining_now(variable: &str, home: &Path) -> Vec<String> {
    let found = find_by_variable(variable, &home.display().to_string());
    let text = |p: FoundProcess| format!("process {} still runs: {}", p.id, p.words.join(" "));
    found.into_iter().map(text).collect()
}
