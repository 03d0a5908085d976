//! A crew on a hub as real processes: a NATS server on loopback, a project with a git remote, and crewdeck in clones of the
//! project. The server's program is the path in `CREWDECK_NATS_SERVER`.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crewdeck::domain::chat::Message;
use crewdeck::domain::host::{HostPresence, HostState};
use crewdeck::domain::ids::{Name, TaskId};
use crewdeck::domain::task::{Task, TaskStatus};
use crewdeck::domain::team::{Member, MemberStatus};
use crewdeck::store::{Hub, HubAddress, HubSecret, HubSettings, Journal, Stores, TranscriptFile};
use rustix::process::Signal;
use serde_json::Value;

use super::process_tree::{FoundProcess, descendants_of, find_by_variable, signal};
use super::project::RunResult;
use super::repository::{commit, git, git_output};
use super::wait::{wait_for, wait_until};

/// The name of the crew on the hub.
const CREW: &str = "web";
/// The secret of the crew.
const SECRET: &str = "a secret of the crew web";
/// A variable in the environment of all crewdeck processes of a project. Its value is the folder of the project.
const MARK: &str = "CREWDECK_TEST_PROJECT";
/// Pause between two looks at the hub.
const POLL: Duration = Duration::from_millis(50);
/// Number of lines of a process's log that a failed test shows.
const LOG_LINES: usize = 15;

/// Rules of a teammate that writes a file for each task, commits it and completes the task. `delay_ms` is the time before it
/// does so.
pub fn writes_notes(delay_ms: u64) -> String {
    NOTES.replace("DELAY", &delay_ms.to_string())
}

const NOTES: &str = r#"
  - when: '<(?:auto-claimed|reminder)>Task #(\d+)'
    times: 0
    delay_ms: DELAY
    calls:
      - tool: bash
        input:
          command: |
            mkdir -p notes
            echo 'Written by {{agent}}.' > notes/{{1}}.txt
            git add notes
            git diff --cached --quiet || git commit -qm 'Note {{1}}'
      - { tool: task_update, input: { task_id: "{{1}}", status: completed } }
  - times: 0
    say: I go on.
"#;

/// Rules of an agent whose model never answers.
pub const HANGS: &str = "
  - times: 0
    fault: { hang: true }
";

/// A NATS server, which a test can freeze, kill and start again.
pub struct HubServer {
    process: Child,
    port: u16,
    config: PathBuf,
    _folder: tempfile::TempDir,
}

impl HubServer {
    /// Starts a server on a free port.
    pub fn start() -> HubServer {
        HubServer::start_with(|store| format!("jetstream {{ store_dir: \"{}\" }}", store.display()))
    }

    pub fn without_jetstream() -> HubServer {
        HubServer::start_with(|_| String::new())
    }

    fn start_with(jetstream: impl Fn(&Path) -> String) -> HubServer {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let config = folder.path().join("server.conf");
        let jetstream = jetstream(&folder.path().join("store"));
        let text = format!("listen: \"127.0.0.1:{port}\"\n{jetstream}\n");
        std::fs::write(&config, text).unwrap();
        let server = HubServer {
            process: spawn_server(&config),
            port,
            config,
            _folder: folder,
        };
        server.wait_until_ready();
        server
    }

    fn wait_until_ready(&self) {
        wait_until("the NATS server does not start", || {
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        });
    }

    /// Returns the address of the crew on this server.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}/{CREW}", self.port)
    }

    /// Stops the server without ending it: its connections stay, but get no answers.
    pub fn freeze(&self) {
        signal(self.id(), Signal::STOP);
    }

    pub fn thaw(&self) {
        signal(self.id(), Signal::CONT);
    }

    fn id(&self) -> i32 {
        i32::try_from(self.process.id()).unwrap()
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts a killed server again on its store.
    pub fn start_again(&mut self) {
        self.process = spawn_server(&self.config);
        self.wait_until_ready();
    }
}

impl Drop for HubServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn spawn_server(config: &Path) -> Child {
    let program = std::env::var_os("CREWDECK_NATS_SERVER")
        .expect("CREWDECK_NATS_SERVER must be the path of nats-server 2.11 or newer");
    Command::new(program)
        .arg("-c")
        .arg(config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// A project of a crew on a hub: the folder `lead` with the project, one clone for each worker, and their git remote.
pub struct HubProject {
    /// The shared state, as the user's own commands see it.
    pub stores: Stores,
    pub server: HubServer,
    folder: tempfile::TempDir,
    root: PathBuf,
    lease_seconds: Option<u64>,
}

impl Drop for HubProject {
    /// Keeps the files of a failed test, so that its cause can be found.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            eprintln!("the project is kept in {}", self.root.display());
        }
    }
}

impl HubProject {
    /// Creates a project with a clone for each of `hosts`, and starts a server. Leases live as long as for users.
    pub fn new(hosts: &[&str]) -> HubProject {
        HubProject::build(hosts, None)
    }

    /// Like [`HubProject::new`], but leases live for `seconds` without a renewal.
    pub fn with_lease(hosts: &[&str], seconds: u64) -> HubProject {
        HubProject::build(hosts, Some(seconds))
    }

    fn build(hosts: &[&str], lease_seconds: Option<u64>) -> HubProject {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let remote = root.join("remote.git").display().to_string();
        git(
            &root,
            &[
                "init",
                "--quiet",
                "--bare",
                "--initial-branch=main",
                &remote,
            ],
        );
        git(&root, &["init", "--quiet", "--initial-branch=main", "lead"]);
        let lead = root.join("lead");
        prepare_clone(&root, "lead");
        commit(&lead, "README.md", "# Notes\n");
        git(&lead, &["remote", "add", "origin", &remote]);
        git(
            &lead,
            &["push", "--quiet", "--set-upstream", "origin", "main"],
        );
        for host in hosts {
            git(&root, &["clone", "--quiet", &remote, host]);
            prepare_clone(&root, host);
        }
        let server = HubServer::start();
        HubProject {
            stores: open_stores(&server, &lead, lease_seconds),
            server,
            folder,
            root,
            lease_seconds,
        }
    }

    /// Returns the clone of a host; `lead` for the project itself.
    pub fn dir(&self, host: &str) -> PathBuf {
        self.root.join(host)
    }

    /// Returns the folder of a task's worktree in the clone of a host.
    pub fn worktree(&self, host: &str, task: u64) -> PathBuf {
        self.dir(host).join(format!(".worktrees/task-{task}"))
    }

    /// Replaces the settings of the user on a host. The git remote of the crew is added to `text`.
    pub fn write_settings(&self, host: &str, text: &str) {
        write_settings(&self.root, host, text);
    }

    /// Writes the script of the model on a host, and returns the value of `--provider`. A running process reads it again when
    /// it joins again.
    pub fn write_script(&self, host: &str, rules: &str) -> String {
        let path = self.root.join(format!("{host}.yaml"));
        std::fs::write(&path, format!("rules:\n{rules}")).unwrap();
        format!("script:{}", path.display())
    }

    /// Returns a crewdeck command in the clone of a host, with a home of its own and the secret of the crew.
    pub fn command(&self, host: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crewdeck"));
        command
            .args(args)
            .current_dir(self.dir(host))
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", home(&self.root, host))
            .env("CREWDECK_HUB_SECRET", SECRET)
            .env(MARK, &self.root);
        if let Some(seconds) = self.lease_seconds {
            command.env("CREWDECK_TEST_LEASE_SECONDS", seconds.to_string());
        }
        command
    }

    /// Returns the command of a worker with the name of its clone.
    pub fn worker_command(&self, host: &str, rules: &str, more: &[&str]) -> Command {
        let (provider, url) = (self.write_script(host, rules), self.server.url());
        let args = [
            "--provider",
            provider.as_str(),
            "worker",
            "--hub",
            url.as_str(),
        ];
        self.command(host, &[&args[..], &["--name", host], more].concat())
    }

    /// Starts a worker with one teammate, called `HOST-1`.
    pub fn start_worker(&self, host: &str, rules: &str, more: &[&str]) -> HubProcess {
        let more = [&["--slots", "1"][..], more].concat();
        HubProcess::start(&self.root, host, self.worker_command(host, rules, &more))
    }

    /// Starts `crewdeck run --json` with a prompt in the folder of the lead. Plans and shutdowns are approved.
    pub fn start_lead(&self, prompt: &str, rules: &str, more: &[&str]) -> HubProcess {
        let (provider, url) = (self.write_script("lead", rules), self.server.url());
        let args = ["--provider", provider.as_str(), "--hub", url.as_str()];
        let run = [
            "--plan",
            "auto",
            "--shutdown",
            "auto",
            "run",
            prompt,
            "--json",
        ];
        let args = [&args[..], &run[..], more].concat();
        HubProcess::start(&self.root, "lead", self.command("lead", &args))
    }

    /// Runs a subcommand on the hub and returns its JSON. Panics if it fails.
    pub fn json(&self, args: &[&str]) -> Value {
        let url = self.server.url();
        let args = [&["--hub", url.as_str(), "--json"][..], args].concat();
        let ran = RunResult(self.command("lead", &args).output().unwrap());
        assert_eq!(ran.code(), 0, "{args:?}: {}", ran.err());
        serde_json::from_str(&ran.out()).unwrap()
    }

    /// Adds a task and returns its number.
    pub fn add_task(&self, args: &[&str]) -> u64 {
        let task = self.json(&[&["task", "add"][..], args].concat());
        task["id"].as_u64().unwrap()
    }

    pub fn task(&self, id: u64) -> Task {
        (*self.stores.board.get(TaskId(id)).unwrap()).clone()
    }

    /// Waits until a task satisfies `is_so`, and returns it.
    pub fn wait_for_task(&self, id: u64, what: &str, is_so: impl Fn(&Task) -> bool) -> Task {
        wait_for(&format!("task {id} {what}"), || {
            std::thread::sleep(POLL);
            let task = self.stores.board.get(TaskId(id)).ok()?;
            is_so(&task).then(|| (*task).clone())
        })
    }

    /// Waits until a task is claimed and its worktree is recorded.
    pub fn wait_until_begun(&self, id: u64) -> Task {
        let is_begun = |task: &Task| !task.owner.is_empty() && !task.worktree.is_empty();
        self.wait_for_task(id, "is not begun", is_begun)
    }

    pub fn wait_until_completed(&self, id: u64) -> Task {
        let is_completed = |task: &Task| task.status == TaskStatus::Completed;
        self.wait_for_task(id, "is not completed", is_completed)
    }

    /// Waits until the last commit in a folder has this subject.
    pub fn wait_for_commit(dir: &Path, subject: &str) {
        wait_until(&format!("no commit {subject} in {}", dir.display()), || {
            std::thread::sleep(POLL);
            dir.exists() && head_subject(dir) == subject
        });
    }

    pub fn hosts(&self) -> Vec<HostState> {
        self.stores.hosts.as_ref().unwrap().hosts().unwrap()
    }

    /// Waits until a host satisfies `is_so`, and returns it.
    pub fn wait_for_host(
        &self,
        name: &str,
        what: &str,
        is_so: impl Fn(&HostState) -> bool,
    ) -> HostState {
        wait_for(&format!("host {name} {what}"), || {
            std::thread::sleep(POLL);
            let hosts = self.stores.hosts.as_ref().unwrap().hosts().ok()?;
            let named = |host: &HostState| host.info.name.as_str() == name;
            hosts.into_iter().find(|host| named(host) && is_so(host))
        })
    }

    pub fn wait_until_present(&self, name: &str) -> HostState {
        let is_present = |host: &HostState| host.presence == HostPresence::Present;
        self.wait_for_host(name, "is not present", is_present)
    }

    pub fn presence(&self, name: &str) -> Option<HostPresence> {
        let mut hosts = self.hosts().into_iter();
        let found = hosts.find(|host| host.info.name.as_str() == name);
        found.map(|host| host.presence)
    }

    pub fn member(&self, name: &str) -> Option<Member> {
        let team = self.stores.roster.read().unwrap();
        team.members.into_iter().find(|m| m.name.as_str() == name)
    }

    /// Waits until a teammate is in the team and has not shut down.
    pub fn wait_for_member(&self, name: &str) -> Member {
        wait_for(&format!("{name} is not in the team"), || {
            std::thread::sleep(POLL);
            let member = self.member(name)?;
            (member.status != MemberStatus::Shutdown).then_some(member)
        })
    }

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

    fn processes(&self) -> Vec<FoundProcess> {
        find_by_variable(MARK, &self.root.display().to_string())
    }

    /// Waits until no crewdeck process of this project runs.
    pub fn wait_until_ended(&self) {
        wait_until("a process of the project is left", || {
            self.processes().is_empty()
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

fn open_stores(server: &HubServer, root: &Path, lease_seconds: Option<u64>) -> Stores {
    let usual = HubSettings::new(HubAddress::parse(&server.url()).unwrap());
    let hub = Hub::new(HubSettings {
        secret: Some(HubSecret::new(SECRET).unwrap()),
        lease_life: lease_seconds.map_or(usual.lease_life, Duration::from_secs),
        ..usual
    });
    hub.stores(root)
}

/// Returns the home of the user on a host.
fn home(root: &Path, host: &str) -> PathBuf {
    root.join(format!("home-{host}"))
}

/// Creates the home of a host, and sets the author of commits in its clone.
fn prepare_clone(root: &Path, host: &str) {
    write_settings(root, host, "");
    let dir = root.join(host);
    git(&dir, &["config", "user.name", host]);
    git(
        &dir,
        &["config", "user.email", &format!("{host}@example.org")],
    );
}

fn write_settings(root: &Path, host: &str, text: &str) {
    let folder = home(root, host).join(".config/crewdeck");
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!("{text}\n[hub]\nremote = \"origin\"\n");
    std::fs::write(folder.join("config.toml"), text).unwrap();
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

/// A running crewdeck, whose output goes to files. Killed when it is dropped.
pub struct HubProcess {
    name: String,
    process: Child,
    out: PathBuf,
    log: PathBuf,
}

static STARTED: AtomicUsize = AtomicUsize::new(0);

impl HubProcess {
    fn start(folder: &Path, name: &str, mut command: Command) -> HubProcess {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let out = folder.join(format!("{name}-{number}.out"));
        let log = folder.join(format!("{name}-{number}.log"));
        let process = command
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        HubProcess {
            name: name.into(),
            process,
            out,
            log,
        }
    }

    fn id(&self) -> i32 {
        i32::try_from(self.process.id()).unwrap()
    }

    pub fn terminate(&self) {
        signal(self.id(), Signal::TERM);
    }

    /// Kills the process with SIGKILL, as in a crash, and waits for its end. The commands of its agents end by themselves.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// Waits until the process ends by itself, and returns its exit code; -1 after a signal.
    pub fn wait(&mut self) -> i32 {
        let what = format!("{} does not end", self.name);
        let status = wait_for(&what, || self.process.try_wait().unwrap());
        status.code().unwrap_or(-1)
    }

    /// Returns what the process has written to standard error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn wait_for_log(&self, text: &str) {
        let what = format!("{} does not print {text:?}", self.name);
        wait_until(&what, || self.log().contains(text));
    }

    /// Returns the events that `crewdeck run --json` has printed.
    pub fn events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.out).unwrap_or_default();
        // The last line may be incomplete.
        let events = text.lines().map(serde_json::from_str);
        events.filter_map(Result::ok).collect()
    }

    /// Waits for an event, and returns it.
    pub fn wait_for_event(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        wait_for(&format!("{}: no event {what}", self.name), || {
            std::thread::sleep(POLL);
            self.events().into_iter().find(&is_so)
        })
    }
}

impl Drop for HubProcess {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            let started = descendants_of(self.id());
            let _ = self.process.kill();
            let _ = self.process.wait();
            for id in started {
                signal(id, Signal::KILL);
            }
        }
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let end = &lines[lines.len().saturating_sub(LOG_LINES)..];
            eprintln!("--- {}\n{}", self.name, end.join("\n"));
        }
    }
}
