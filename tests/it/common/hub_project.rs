//! A crew on a hub as real processes: a NATS server on loopback, a project with a git remote, and crewdeck in clones of the
//! project. The server's program is the path in `CREWDECK_NATS_SERVER`.

mod process;
mod results;
mod scripts;
mod server;
mod state;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crewdeck::store::{Hub, HubAddress, HubSecret, HubSettings, Stores};
use serde_json::Value;

pub use self::process::HubProcess;
pub use self::results::{head_subject, is_finished};
pub use self::scripts::{HANGS, writes_notes};
pub use self::server::{HubServer, free_port};
use super::process_tree::{FoundProcess, find_by_variable};
use super::project::RunResult;
use super::repository::{commit, git};
use super::wait::wait_until;

/// The name of the crew on the hub.
const CREW: &str = "web";
/// The secret of the crew.
const SECRET: &str = "a secret of the crew web";
/// A variable in the environment of all crewdeck processes of a project. Its value is the folder of the project.
const MARK: &str = "CREWDECK_TEST_PROJECT";
/// Pause between two looks at the hub.
const POLL: Duration = Duration::from_millis(50);

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
        self.start_worker_with_slots(1, host, rules, more)
    }

    /// Starts a worker with `slots` teammates, called `HOST-1` and so on.
    pub fn start_worker_with_slots(
        &self,
        slots: u16,
        host: &str,
        rules: &str,
        more: &[&str],
    ) -> HubProcess {
        let slots = slots.to_string();
        let more = [&["--slots", slots.as_str()][..], more].concat();
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

    fn processes(&self) -> Vec<FoundProcess> {
        find_by_variable(MARK, &self.root.display().to_string())
    }

    /// Waits until no crewdeck process of this project runs.
    pub fn wait_until_ended(&self) {
        wait_until("a process of the project is left", || {
            self.processes().is_empty()
        });
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
