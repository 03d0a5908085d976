//! Checks what the played team leaves behind.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::workspace::{CHECK, HOME_VARIABLE, Workspace};
use super::{PAIRS, Play, TASKS, tasks};
use crate::common::repository::git;
use crate::crash::{debris, state_check};

/// What is wrong in the repository and the state files of a played team.
pub struct Findings<'a> {
    workspace: &'a Workspace,
    /// The commits of the base branch that were checked.
    checked: BTreeSet<String>,
    list: Vec<String>,
}

impl<'a> Findings<'a> {
    pub fn new(workspace: &'a Workspace) -> Findings<'a> {
        Findings {
            workspace,
            checked: BTreeSet::new(),
            list: Vec::new(),
        }
    }

    pub fn into_list(self) -> Vec<String> {
        self.list
    }

    /// Runs the check on each commit of the base branch, checked out fresh. Call it also while no crew runs after a kill:
    /// what has landed must be green then too.
    pub fn check_base(&mut self) {
        let project = &self.workspace.project;
        let commits = git(project, &["rev-list", "--first-parent", "main"]);
        for commit in commits.lines() {
            if !self.checked.insert(commit.to_string()) {
                continue;
            }
            let dir = tempfile::tempdir().unwrap();
            let unpack = "git archive \"$1\" | tar -x -C \"$2\"";
            let unpacked = Command::new("sh")
                .args(["-c", unpack, "sh", commit])
                .arg(dir.path())
                .current_dir(project)
                .status();
            assert!(unpacked.unwrap().success(), "{commit} is not unpacked");
            let mut check = Command::new("sh");
            let ran = check
                .args(["-c", CHECK])
                .current_dir(&dir)
                .output()
                .unwrap();
            if !ran.status.success() {
                let subject = git(project, &["log", "-1", "--format=%s", commit]);
                let output = String::from_utf8_lossy(&ran.stdout).trim().to_string();
                let text = format!("main is red at {commit} ({subject}): {output}");
                self.list.push(text);
            }
        }
    }

    /// Checks what must hold at the end, also if the crew was killed.
    pub fn check_end(&mut self) {
        let project = &self.workspace.project;
        state_check::check_state_files(project, &mut self.list);
        state_check::check_journal(project, &mut self.list);
        state_check::check_messages(project, &mut self.list);
        state_check::check_git(project, None, &mut self.list);
        self.list.extend(debris::check(project));
        self.check_tasks();
        self.check_liars();
        self.check_pairs();
        self.check_questions();
        self.check_leftovers();
    }

    /// Checks what must hold in addition if the crew was not killed.
    pub fn check_uninterrupted(&mut self) {
        let tasks = self.tasks();
        let expected = usize::try_from(TASKS).unwrap() + PAIRS.len();
        if tasks.len() != expected {
            let subjects: Vec<&Value> = tasks.values().map(|task| &task["subject"]).collect();
            let count = tasks.len();
            let text = format!("{count} tasks instead of {expected}: {subjects:?}");
            self.list.push(text);
        }
        for (id, task) in &tasks {
            if task["attempts"] != 1 {
                let text = format!("task {id} was claimed {} times", task["attempts"]);
                self.list.push(text);
            }
        }
        let asked = self.red_questions().len();
        if asked != 2 {
            self.list.push(format!("the user was asked {asked} times"));
        }
        // A crew without kills has a complete journal.
        for (id, play) in super::tasks().filter(|(_, play)| play.is_liar()) {
            let first = self.completions(id).into_iter().next();
            if first.as_ref().is_none_or(|output| !is_refusal(id, output)) {
                let text = format!("the first completion of task {id} ({play:?}): {first:?}");
                self.list.push(text);
            }
        }
    }

    fn tasks(&self) -> BTreeMap<u64, Value> {
        let all = state_check::values(&self.workspace.project.join(".tasks"));
        all.into_iter()
            .filter_map(|task| Some((task["id"].as_u64()?, task)))
            .collect()
    }

    /// Checks that each task is completed and that its part is on the base branch.
    fn check_tasks(&mut self) {
        let tasks = self.tasks();
        for (id, task) in &tasks {
            if task["status"] != "completed" {
                let text = format!("task {id} ({}) is {}", task["subject"], task["status"]);
                self.list.push(text);
            }
            let overridden = task["checks"].as_array().into_iter().flatten();
            for check in overridden.filter(|check| check["override"].is_string()) {
                self.list.push(format!("task {id} is overridden: {check}"));
            }
        }
        let files = git(
            &self.workspace.project,
            &["ls-tree", "-r", "--name-only", "main"],
        );
        for (id, play) in super::tasks() {
            let Some(task) = tasks.get(&id) else {
                self.list.push(format!("task {id} is lost"));
                continue;
            };
            let is_there = files.lines().any(|file| file == format!("parts/{id}.part"));
            // A kill can hide the question about a task without a change, but the board says that it has none.
            let is_marked = play == Play::NoChange && has_no_changes(task);
            if !is_there && !is_marked {
                self.list.push(format!("part {id} is not on main"));
            }
        }
        if files.lines().any(|file| file.starts_with(".crewdeck")) {
            self.list.push("main has settings of a branch".into());
        }
    }

    /// Checks that the completion of each liar was refused.
    fn check_liars(&mut self) {
        let tasks = self.tasks();
        for (id, play) in super::tasks().filter(|(_, play)| play.is_liar()) {
            let outputs = self.completions(id);
            let is_caught = outputs.iter().any(|output| is_refusal(id, output));
            let is_marked = tasks.get(&id).is_some_and(has_no_changes);
            if !is_caught && !is_marked {
                let text = format!("task {id} ({play:?}) was not refused: {outputs:?}");
                self.list.push(text);
            }
        }
    }

    /// Checks that each pair has one task that names both.
    fn check_pairs(&mut self) {
        let tasks = self.tasks();
        for (first, second) in PAIRS {
            let subjects: Vec<&str> = tasks
                .values()
                .filter_map(|task| task["subject"].as_str())
                .filter(|subject| {
                    let is_of = |id: u64| subject.starts_with(&format!("Fix wt/task-{id}:"));
                    is_of(first) || is_of(second)
                })
                .collect();
            let expected = [(first, second), (second, first)].map(|(out, with)| {
                format!("Fix wt/task-{out}: checks are red together with #{with}")
            });
            if subjects.len() != 1 || !expected.iter().any(|text| text == subjects[0]) {
                let text = format!("the pair of tasks {first} and {second}: {subjects:?}");
                self.list.push(text);
            }
        }
        let repairs = tasks.values().filter_map(|task| task["subject"].as_str());
        let repairs = repairs.filter(|subject| !subject.starts_with("Write part"));
        for subject in repairs {
            let is_known = PAIRS.iter().any(|(first, second)| {
                subject.starts_with(&format!("Fix wt/task-{first}:"))
                    || subject.starts_with(&format!("Fix wt/task-{second}:"))
            });
            if !is_known {
                self.list.push(format!("unexpected task: {subject}"));
            }
        }
    }

    /// Returns the questions to the user about red tasks, each with the number of the task.
    fn red_questions(&self) -> Vec<(u64, Value)> {
        let all = state_check::values(&self.workspace.project.join(".team/requests"));
        let questions = all.into_iter().filter(|r| r["kind"] == "question");
        questions
            .map(|request| {
                let body = request["body"].as_str().unwrap_or_default();
                let id = body.split_once("wants to complete task #");
                let id = id.and_then(|(_, rest)| rest.split_once(' '));
                (id.and_then(|(id, _)| id.parse().ok()).unwrap_or(0), request)
            })
            .collect()
    }

    /// Checks that the user was asked about each task that loops, and about nothing else, and that each question was
    /// decided.
    fn check_questions(&mut self) {
        let questions = self.red_questions();
        let asked: BTreeSet<u64> = questions.iter().map(|(id, _)| *id).collect();
        let loops: BTreeSet<u64> = tasks()
            .filter(|(_, play)| *play == Play::Loops)
            .map(|(id, _)| id)
            .collect();
        if asked != loops {
            let text = format!("the user was asked about {asked:?} instead of {loops:?}");
            self.list.push(text);
        }
        for (id, request) in questions {
            if request["status"] == "pending" || request["decided_by"] == "" {
                let text = format!("the question about task {id} is not decided: {request}");
                self.list.push(text);
            }
        }
    }

    /// Checks that nothing is left of checks, trains and processes.
    fn check_leftovers(&mut self) {
        let project = &self.workspace.project;
        let trees = std::fs::read_dir(project.join(".crewdeck/checks/trees"));
        let trees = trees.into_iter().flatten().flatten();
        let mut left: Vec<PathBuf> = trees.map(|entry| entry.path()).collect();
        left.push(project.join(".worktrees/merge-train"));
        left.push(project.join(".worktrees/landing.json"));
        for path in left.iter().filter(|path| path.exists()) {
            self.list.push(format!("{} is left", path.display()));
        }
        let home = self.workspace.home();
        self.list
            .extend(state_check::remaining_processes(HOME_VARIABLE, home));
    }

    /// Returns the results of all calls that complete task `id`, in order, as far as the journals have them.
    fn completions(&self, id: u64) -> Vec<String> {
        let mut files = Vec::new();
        state_check::all_files(&self.workspace.project.join(".crewdeck"), &mut files);
        let journals = files
            .into_iter()
            .filter(|path| state_check::name(path) == "journal.jsonl");
        let events = journals.flat_map(|path| state_check::lines(&path));
        events
            .filter(|event| event["type"] == "tool_finished" && event["tool"] == "task_update")
            .filter_map(|event| event["output"].as_str().map(String::from))
            .filter(|output| {
                output.contains(&format!("task #{id} "))
                    || output.contains(&format!("\"id\": {id},"))
            })
            .collect()
    }
}

fn is_refusal(id: u64, output: &str) -> bool {
    output.contains(&format!("task #{id} is not completed"))
}

/// Returns whether the board shows that the branch of a task changed nothing.
fn has_no_changes(task: &Value) -> bool {
    let mut checks = task["checks"].as_array().into_iter().flatten();
    checks.any(|check| check["outcome"] == "no_changes")
}
