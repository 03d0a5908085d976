//! What stands in the files of a crew when its work is done, and what of it must not be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crewdeck::domain::chat::{Block, Role, check as check_chat};
use crewdeck::domain::conversation::{Conversation, Record};
use serde_json::Value;

/// Runs git; it must succeed. Its output, trimmed.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let (ok, out) = try_git(dir, args);
    assert!(ok, "git {args:?}: {out}");
    out
}

pub fn try_git(dir: &Path, args: &[&str]) -> (bool, String) {
    let out = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("LC_ALL", "C")
        .output()
        .unwrap();
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

/// The files of a folder; none where it is missing.
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

/// The files of the base branch with their content.
pub fn tree(project: &Path) -> String {
    git(project, &["ls-tree", "-r", "main"])
}

/// All that is wrong in the files of a crew that has done its work.
pub fn check(project: &Path, tree: Option<&str>) -> Vec<String> {
    let mut wrong = Vec::new();
    state_files(project, &mut wrong);
    board(project, &mut wrong);
    journal(project, &mut wrong);
    letters(project, &mut wrong);
    requests(project, &mut wrong);
    work(project, tree, &mut wrong);
    wrong
}

/// The last part of a path.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Every file parses whole; nothing was set aside, nothing is left behind.
fn state_files(project: &Path, wrong: &mut Vec<String>) {
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
            wrong.push(format!("{shown} was set aside: {text:?}"));
        }
        let Ok(text) = text else {
            wrong.push(format!("{shown} can not be read"));
            continue;
        };
        let is = |end: &str| path.extension().is_some_and(|e| e == end);
        if is("json") && serde_json::from_str::<Value>(&text).is_err() {
            wrong.push(format!("{shown} is no whole JSON"));
        }
        if is("jsonl") {
            // Two writers may both end a line: an empty one says nothing.
            for line in text.split_inclusive('\n').filter(|l| *l != "\n") {
                if !line.ends_with('\n') || serde_json::from_str::<Value>(line).is_err() {
                    wrong.push(format!("{shown} has a torn line: {line}"));
                }
            }
        }
    }
}

fn values(dir: &Path) -> Vec<Value> {
    let json = |p: &PathBuf| p.extension().is_some_and(|e| e == "json");
    let read = |p: PathBuf| serde_json::from_str(&std::fs::read_to_string(p).unwrap()).ok();
    files(dir)
        .into_iter()
        .filter(json)
        .filter_map(read)
        .collect()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|l| serde_json::from_str(l).ok())
        .collect()
}

/// Every task is completed, none twice on the board, none was given up.
fn board(project: &Path, wrong: &mut Vec<String>) {
    let tasks = values(&project.join(".tasks"));
    let mut subjects = BTreeMap::<String, u32>::new();
    for task in &tasks {
        let (id, subject) = (&task["id"], task["subject"].as_str().unwrap_or_default());
        *subjects.entry(subject.to_string()).or_default() += 1;
        if task["status"] != "completed" {
            wrong.push(format!(
                "task {id} ({subject}) is {} of {}",
                task["status"], task["owner"]
            ));
        }
        if task["attempts"] != 1 {
            wrong.push(format!(
                "task {id} ({subject}) was claimed {} times",
                task["attempts"]
            ));
        }
    }
    if tasks.is_empty() {
        wrong.push("there are no tasks".into());
    }
    for (subject, _) in subjects.iter().filter(|(_, count)| **count > 1) {
        wrong.push(format!("task {subject} is there more than once"));
    }
}

/// In the order in which it was told: nobody took a task that another had, nobody completed one that was completed.
fn journal(project: &Path, wrong: &mut Vec<String>) {
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
            wrong.push(format!("error: {}", event["text"]));
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
                wrong.push(format!("task {id} went from {before:?} to {now:?}"));
            }
        }
    }
}

/// The conversations of all agents, by name.
fn conversations(project: &Path, wrong: &mut Vec<String>) -> BTreeMap<String, Conversation> {
    let mut all = BTreeMap::new();
    for path in files(&project.join(".transcripts")) {
        let name = name(&path);
        let Some((_, agent)) = name.trim_end_matches(".jsonl").split_once('-') else {
            continue;
        };
        let records: Vec<Record> = lines(&path)
            .into_iter()
            .filter_map(|l| serde_json::from_value(l).ok())
            .collect();
        let conversation = Conversation::of(records);
        if let Err(error) = check_chat(&conversation.messages) {
            wrong.push(format!("{name}: {error}"));
        }
        all.insert(agent.to_string(), conversation);
    }
    all
}

/// Each letter stands in its recipient's conversation, once.
fn letters(project: &Path, wrong: &mut Vec<String>) {
    let all = conversations(project, wrong);
    let team: Value = serde_json::from_str(
        &std::fs::read_to_string(project.join(".team/config.json")).unwrap_or_default(),
    )
    .unwrap_or_default();
    let is_gone = |name: &str| {
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
        for letter in lines(&path) {
            // That one is obeyed without a model.
            if letter["type"] != "shutdown_request" {
                *sent.entry(key(&letter)).or_default() += 1;
            }
        }
        let mut read = BTreeMap::<String, i64>::new();
        for letter in all.get(to).map(inbox).unwrap_or_default() {
            if letter["type"] != "shutdown_request" {
                *read.entry(key(&letter)).or_default() += 1;
            }
        }
        for (letter, count) in &sent {
            let found = read.get(letter).copied().unwrap_or(0);
            // Who is gone need not have read the last ones.
            if found > *count || (found < *count && !is_gone(to)) {
                wrong.push(format!(
                    "{to}: a letter was sent {count} times and read {found} times: {letter}"
                ));
            }
        }
    }
}

fn key(letter: &Value) -> String {
    format!(
        "{} {} {} {}",
        letter["from"], letter["type"], letter["content"], letter["request_id"]
    )
}

/// The letters in a conversation.
fn inbox(conversation: &Conversation) -> Vec<Value> {
    let users = conversation
        .messages
        .iter()
        .filter(|m| m.role == Role::User);
    let texts = users.flat_map(|m| &m.blocks).filter_map(|b| match b {
        Block::Text { text } => text
            .strip_prefix("<inbox>")?
            .trim_end()
            .strip_suffix("</inbox>"),
        Block::Thinking { .. } | Block::ToolCall(_) | Block::ToolResult { .. } => None,
    });
    texts
        .flat_map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap())
        .collect()
}

/// Each request is decided, by one; a shutdown that was allowed is carried out and answered once.
fn requests(project: &Path, wrong: &mut Vec<String>) {
    let answers = lines(&project.join(".team/inbox/lead.jsonl"));
    let mut shutdowns = 0;
    for request in values(&project.join(".team/requests")) {
        let (id, kind) = (&request["id"], &request["kind"]);
        if request["status"] == "pending" || request["decided_by"] == "" {
            wrong.push(format!("{kind} request {id} is not decided"));
        }
        if kind == "shutdown" && request["status"] == "approved" {
            shutdowns += 1;
            let about = |l: &&Value| l["type"] == "shutdown_response" && l["request_id"] == *id;
            let count = answers.iter().filter(about).count();
            if count != 1 {
                wrong.push(format!("shutdown {id} was answered {count} times"));
            }
        }
    }
    if shutdowns == 0 {
        wrong.push("nobody was shut down".into());
    }
}

/// All work is in the base branch, and nothing is left over in git.
fn work(project: &Path, calm: Option<&str>, wrong: &mut Vec<String>) {
    if let Some(calm) = calm {
        let (ok, now) = try_git(project, &["ls-tree", "-r", "main"]);
        if !ok || now != calm {
            let other = |a: &str, b: &str| -> Vec<String> {
                let beyond = a.lines().filter(|l| !b.lines().any(|m| m == *l));
                beyond
                    .filter_map(|l| l.split('\t').nth(1))
                    .map(String::from)
                    .collect()
            };
            let (mut too_much, mut missing) = (other(&now, calm), other(calm, &now));
            // What `sed -i` of a scripted teammate was just writing when it was killed: its own rubbish is committed
            // as anything else that is left in a worktree.
            too_much.retain(|file| !(file.starts_with("sed") && file.len() == 9));
            // In the demo a letter leads to this one: a scripted teammate that is cut off there forgets it.
            missing.retain(|file| file != "tests/empty.test.sh");
            if !missing.is_empty() || !too_much.is_empty() {
                wrong.push(format!("main lacks {missing:?} and has {too_much:?}"));
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
            wrong.push(format!("{branch} is not merged"));
        }
    }
    let mut places = vec![project.to_path_buf()];
    let trees = std::fs::read_dir(project.join(".worktrees"));
    places.extend(
        trees
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.is_dir()),
    );
    for place in places {
        let (_, status) = try_git(&place, &["status", "--porcelain"]);
        if !status.is_empty() {
            wrong.push(format!("{} is not clean: {status}", name(&place)));
        }
    }
    let mut inside = Vec::new();
    all_files(&project.join(".git"), &mut inside);
    for path in inside {
        let name = name(&path);
        if name == "MERGE_HEAD" || path.extension().is_some_and(|e| e == "lock") {
            wrong.push(format!("{} is left behind", path.display()));
        }
    }
}

/// Whether the numbers of the tasks have a gap.
pub fn lacks_a_number(project: &Path) -> bool {
    let number = |path: &PathBuf| -> Option<usize> {
        let name = path.file_stem()?.to_str()?;
        name.strip_prefix("task_")?.parse().ok()
    };
    let numbers: Vec<usize> = files(&project.join(".tasks"))
        .iter()
        .filter_map(number)
        .collect();
    numbers
        .iter()
        .max()
        .is_some_and(|last| *last != numbers.len())
}

/// The processes that were started for the crew in `place` and still run: programs of a killed crew too. (Linux.)
///
/// What was killed with its crew just now may take a moment to be gone.
pub fn orphans(mark: &str, place: &Path) -> Vec<String> {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let left = left_of(mark, place);
        if left.is_empty() || Instant::now() > until {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The same, as they are now.
pub fn left_of(mark: &str, place: &Path) -> Vec<String> {
    let mark = format!("{mark}={}", place.display());
    let mut left = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let is_ours = environment
            .split(|b| *b == 0)
            .any(|variable| variable == mark.as_bytes());
        if is_ours {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            left.push(format!(
                "process {} is left: {words}",
                entry.file_name().display()
            ));
        }
    }
    left
}
