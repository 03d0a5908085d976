//! Calls the real tools on real files, with a fake crew.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crewdeck::domain::chat::Outcome;
use crewdeck::domain::ids::{CallId, JobId, Name, RequestId, TaskId};
use crewdeck::domain::job::Job;
use crewdeck::domain::redact::Redactor;
use crewdeck::domain::request::{Decision, NewRequest, Request, RequestKind, Verdict};
use crewdeck::domain::task::Task;
use crewdeck::domain::team::Member;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::domain::todo::TodoList;
use crewdeck::store::{Board, Roster, Skills, Stores, prepare};
use crewdeck::tools::file_snapshots::FileSnapshots;
use crewdeck::tools::host::{Host, JobSpec, SubagentSpec};
use crewdeck::tools::{Supervisor, ToolContext, ToolOutput, table};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A host for tools that records calls instead of running a crew.
#[derive(Default)]
pub struct FakeHost {
    /// The todo lists that the tools have set, in order.
    pub lists: Mutex<Vec<TodoList>>,
    /// Total size of the output that was reported while tools ran, in bytes.
    pub output: Mutex<usize>,
    /// The requests that were made. All are refused.
    pub asked: Mutex<Vec<NewRequest>>,
}

impl Host for FakeHost {
    fn spawn(&self, _: Name, _: Member, _: String) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { Err("not available in this test".into()) })
    }
    fn ask<'a>(
        &'a self,
        _: &'a Name,
        asking: NewRequest,
    ) -> BoxFuture<'a, Result<Request, String>> {
        self.asked.lock().unwrap().push(asking);
        Box::pin(async { Err("not available in this test".into()) })
    }
    fn file<'a>(
        &'a self,
        _: &'a Name,
        _: RequestKind,
        _: &'a Name,
        _: String,
    ) -> BoxFuture<'a, Result<Request, String>> {
        Box::pin(async { Err("not available in this test".into()) })
    }
    fn decide(&self, _: Decision) -> BoxFuture<'_, Result<Request, String>> {
        Box::pin(async { Err("not available in this test".into()) })
    }
    fn output(&self, _: &Name, _: &CallId, chunk: String) {
        *self.output.lock().unwrap() += chunk.len();
    }
    fn todo<'a>(&'a self, _: &'a Name, list: TodoList) -> BoxFuture<'a, ()> {
        self.lists.lock().unwrap().push(list);
        Box::pin(async {})
    }
    fn answer_shutdown_request<'a>(
        &'a self,
        _: &'a Name,
        _: &'a RequestId,
        _: Verdict,
        _: String,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Err("not available in this test".into()) })
    }
    fn enter_worktree<'a>(
        &'a self,
        _: &'a Name,
        _: &'a Task,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async { Ok(String::new()) })
    }

    fn commit_leftovers<'a>(&'a self, _: &'a Name) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
    fn merge(&self, _: TaskId) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async { Err("not available in this test".into()) })
    }
    fn start_job(&self, _: JobSpec) -> Result<Job, String> {
        Err("not available in this test".into())
    }
    fn jobs(&self, _: &Name) -> Vec<Job> {
        Vec::new()
    }
    fn job_output(&self, _: &JobId) -> String {
        String::new()
    }
    fn kill_job(&self, _: &JobId, _: &Name) -> Result<(), String> {
        Err("not available in this test".into())
    }
    fn delegate(&self, _: SubagentSpec) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async { Err("not available in this test".into()) })
    }
    fn compact(&self, _: &Name, _: String) {}
}

/// A project with the teammates alice and bob. Alice calls the tools unless stated otherwise.
pub struct ToolFixture {
    pub dir: tempfile::TempDir,
    pub host: Arc<FakeHost>,
    pub board: Board,
    /// The supervisor that runs the tools' programs; without it they run directly.
    pub guard: Option<Arc<Supervisor>>,
    /// Whether the calling agents are external agents.
    pub is_external: bool,
    /// The files as each agent last read them, by the agent's name.
    snapshots: Mutex<HashMap<String, Arc<FileSnapshots>>>,
    runtime: tokio::runtime::Runtime,
}

impl ToolFixture {
    pub fn new() -> ToolFixture {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        std::fs::create_dir(&root).unwrap();
        prepare(&root).unwrap();
        std::fs::write(dir.path().join("secret"), "outside").unwrap();
        for name in ["alice", "bob"] {
            let name = Name::party(name).unwrap();
            Roster::open(&root)
                .add_member(Member::new(name, "tester"), 16)
                .unwrap();
        }
        ToolFixture {
            board: Board::open(&root),
            dir,
            host: Arc::default(),
            guard: None,
            is_external: false,
            snapshots: Mutex::default(),
            runtime: tokio::runtime::Runtime::new().unwrap(),
        }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.root().join(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).unwrap()
    }

    pub fn call_as(&self, agent: &str, tool: &str, input: Value) -> ToolOutput {
        let context = ToolContext {
            agent: Name::party(agent).unwrap(),
            is_external: self.is_external,
            call: CallId("call-1".into()),
            root: self.root(),
            stores: Stores {
                board: self.board.clone(),
                ..Stores::open(&self.root())
            },
            workdir: self.root(),
            skills: Skills::open(&self.root(), None),
            host: Arc::clone(&self.host) as Arc<dyn Host>,
            cancel: CancellationToken::new(),
            timeout: Duration::from_secs(60),
            redactor: Redactor::default(),
            supervisor: self.guard.clone(),
            snapshots: Arc::clone(
                self.snapshots
                    .lock()
                    .unwrap()
                    .entry(agent.into())
                    .or_default(),
            ),
            clock: || Timestamp(1_000_000.0),
        };
        let tool = table::find(tool).unwrap();
        self.runtime.block_on((tool.run)(context, input))
    }

    /// Calls a tool as alice and returns the result. Panics if the call fails.
    pub fn ok(&self, tool: &str, input: Value) -> String {
        let out = self.call_as("alice", tool, input);
        assert_eq!(out.outcome, Outcome::Ok, "{out:?}");
        out.text
    }

    /// Calls a tool as alice and returns the error. Panics unless the call fails.
    pub fn expect_error(&self, tool: &str, input: Value) -> String {
        let out = self.call_as("alice", tool, input);
        assert_eq!(out.outcome, Outcome::Error, "{out:?}");
        out.text
    }

    pub fn bash(&self, command: &str) -> String {
        self.ok("bash", json!({ "command": command }))
    }
}
