//! What hosts have done: their journals and conversations, the commits in their clones and those at the git remote.

use std::path::{Path, PathBuf};

use crewdeck::domain::chat::Message;
use crewdeck::domain::ids::Name;
use crewdeck::store::{Journal, TranscriptFile};
use serde_json::Value;

use super::{CREW, HubProject, POLL};
use crate::common::repository::{git, git_output};
use crate::common::wait::{wait_for, wait_until};

impl HubProject {
    fn remote(&self) -> PathBuf {
        self.root.join("remote.git")
    }

    /// Returns the commit that the crew has published as `name`, such as `base` or `wt/task-1`.
    pub fn published(&self, name: &str) -> Option<String> {
        let full = format!("refs/crewdeck/{CREW}/{name}");
        let found = git_output(&self.remote(), &["rev-parse", "--verify", "--quiet", &full]);
        let commit = String::from_utf8_lossy(&found.stdout).trim().to_string();
        found.status.success().then_some(commit)
    }

    /// Returns the names of the published branches, sorted.
    pub fn published_branches(&self) -> Vec<String> {
        let prefix = format!("refs/crewdeck/{CREW}/");
        let folder = format!("{prefix}wt/");
        let refs = git(
            &self.remote(),
            &["for-each-ref", "--format=%(refname)", &folder],
        );
        let names = refs.lines().filter_map(|name| name.strip_prefix(&prefix));
        names.map(String::from).collect()
    }

    /// Returns the content of a file on a published branch. Panics if there is none.
    pub fn published_file(&self, name: &str, path: &str) -> String {
        let object = format!("refs/crewdeck/{CREW}/{name}:{path}");
        git(&self.remote(), &["show", &object])
    }

    /// Returns the events in the journals of all sessions in the clone of a host.
    pub fn journal(&self, host: &str) -> Vec<Value> {
        let dir = self.dir(host);
        let folders = std::fs::read_dir(dir.join(".crewdeck/sessions"));
        let folders = folders.into_iter().flatten().flatten();
        let mut sessions: Vec<String> = folders
            .filter_map(|folder| folder.file_name().into_string().ok())
            .collect();
        sessions.sort();
        let lines = sessions
            .iter()
            .flat_map(|session| Journal::read(&dir, session).unwrap());
        lines
            .map(|line| serde_json::from_str(&line).unwrap())
            .collect()
    }

    /// Returns how often an agent on a host has changed a task with success, which the scripts do only to complete it. Waits
    /// until there is such a change, because the journal is written in the background.
    pub fn completions(&self, host: &str) -> usize {
        wait_for(&format!("the journal of {host} has no completion"), || {
            std::thread::sleep(POLL);
            let events = self.journal(host);
            let is_completion = |event: &&Value| is_finished(event, "task_update", "ok");
            let count = events.iter().filter(is_completion).count();
            (count > 0).then_some(count)
        })
    }

    /// Returns the texts of an agent's conversations in the clone of a host, one message per line.
    pub fn conversation(&self, host: &str, agent: &str) -> String {
        let (dir, name) = (self.dir(host), Name::party(agent).unwrap());
        let files = std::fs::read_dir(dir.join(".transcripts"));
        let end = format!("-{agent}.jsonl");
        let mut text = String::new();
        for file in files.into_iter().flatten().flatten() {
            let file = file.file_name().into_string().unwrap();
            if let Some(session) = file.strip_suffix(&end) {
                let log = TranscriptFile::open(&dir, session, &name).load().unwrap();
                let messages = log.conversation.messages.iter().map(Message::text);
                text.push_str(&messages.collect::<Vec<_>>().join("\n"));
            }
        }
        text
    }

    /// Waits until the last commit in a folder has this subject.
    pub fn wait_for_commit(dir: &Path, subject: &str) {
        wait_until(&format!("no commit {subject} in {}", dir.display()), || {
            std::thread::sleep(POLL);
            dir.exists() && head_subject(dir) == subject
        });
    }

    /// Checks that the clone of a host has no worktree and no branch of one.
    pub fn assert_no_worktrees(&self, host: &str) {
        let dir = self.dir(host);
        let listed = git(&dir, &["worktree", "list"]);
        assert_eq!(listed.lines().count(), 1, "{listed}");
        let branches = git(&dir, &["for-each-ref", "refs/heads/wt"]);
        assert_eq!(branches, "");
    }
}

/// Returns the subject of the last commit in a folder; empty if there is none.
pub fn head_subject(dir: &Path) -> String {
    let output = git_output(dir, &["log", "-1", "--format=%s"]);
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

/// Returns whether an event is the end of a call of `tool` with the outcome `ok` or `error`.
pub fn is_finished(event: &Value, tool: &str, outcome: &str) -> bool {
    event["type"] == "tool_finished" && event["tool"] == tool && event["outcome"] == outcome
}
