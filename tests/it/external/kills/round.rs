//! One round: starts a crew, kills one of its processes, lets it complete its work, and checks what it leaves behind.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::common::process_tree::{
    FoundProcess, descendants_of, find_by_variable, is_alive, signal,
};
use crate::common::project::Project;
use crate::common::random::Random;
use crate::crash::{debris, state_check};

/// Tasks that only external agents may claim, and tasks that only crewdeck's own agent may claim.
const EXTERNAL_TASKS: u64 = 6;
const OWN_TASKS: u64 = 4;
/// Maximum duration of a run. Far longer than such a run takes.
const DEADLINE: Duration = Duration::from_secs(120);
/// Maximum time from a kill until the processes that must end with the killed one have ended.
const CLEANUP_MAX: Duration = Duration::from_secs(20);
/// Kills of the rounds without a condition come within this time after the start. About the time that a crew works.
const ANY_TIME: Duration = Duration::from_millis(3500);
/// Environment variable by which the processes of a round are found. They inherit it; its value is the project's folder.
const VARIABLE: &str = "CREWDECK_KILL_ROUND";

/// Spawns the team, and wakes an external agent whose turn has failed. The rules have no state, so that the lead
/// continues after a kill.
const LEAD: &str = r#"
rules:
  - agent: lead
    when: (bob|eve) (?:cannot continue|is stuck)
    times: 0
    calls:
      - { tool: send_message, input: { to: "{{1}}", content: Go on. } }
      - { tool: bash, input: { command: sh next.sh } }
  - agent: lead
    when: (^go$|crewdeck ended before this call|was started again)
    times: 0
    calls: [{ tool: bash, input: { command: sh next.sh } }]
  - agent: lead
    when: NEXT spawn alice
    times: 0
    calls:
      - { tool: spawn_teammate, input: { name: alice, tags: [own], prompt: work } }
      - { tool: bash, input: { command: sh next.sh } }
  - agent: lead
    when: NEXT spawn (\w+)
    times: 0
    calls:
      - { tool: spawn_teammate, input: { name: "{{1}}", agent: fake, tags: [external], prompt: work } }
      - { tool: bash, input: { command: sh next.sh } }
  - agent: alice
    when: checked ([0-9]+)
    times: 0
    calls: [{ tool: task_update, input: { task_id: "{{1}}", status: completed } }]
  - agent: alice
    when: "Task #([0-9]+)(?:: | \\()Part"
    times: 0
    calls:
      - { tool: write_file, input: { path: "{{1}}.txt", content: "written\n" } }
      - { tool: bash, input: { command: "sleep 0.3 && echo checked {{1}}" } }
  - { times: 0, say: Done. }
"#;
const NEXT: &str = r#"for name in alice bob eve; do
    grep -q "\"name\": \"$name\"" .team/config.json || { echo "NEXT spawn $name"; exit; }
done
echo "all are there"
"#;

/// Which process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Crewdeck,
    /// The program of an external agent.
    Agent,
    /// The process `crewdeck mcp-serve` through which an external agent calls the crew's tools.
    CrewServer,
    /// The supervisor of the program of an external agent.
    Supervisor,
}

impl Target {
    pub const ALL: [Target; 4] = [
        Target::Crewdeck,
        Target::Agent,
        Target::CrewServer,
        Target::Supervisor,
    ];
}

/// When the process is killed.
#[derive(Debug, Clone, Copy)]
pub enum Moment {
    /// So long after the start of the crew.
    After(Duration),
    /// So long after external agents have begun so many tasks.
    AtWork { tasks: usize, then: Duration },
}

#[derive(Debug)]
pub struct Plan {
    pub seed: u64,
    pub target: Target,
    pub moment: Moment,
    /// Whether the agent's program ignores the end of its input and SIGTERM, and leaves a program in another session.
    pub is_stubborn: bool,
}

impl Plan {
    pub fn new(seed: u64) -> Plan {
        let mut random = Random(seed);
        let is_any = random.next().is_multiple_of(3);
        let moment = if is_any {
            Moment::After(random.below(ANY_TIME))
        } else {
            Moment::AtWork {
                tasks: usize::try_from(1 + random.next() % EXTERNAL_TASKS).unwrap(),
                then: random.below(Duration::from_millis(300)),
            }
        };
        Plan {
            seed,
            target: Target::ALL[usize::try_from(seed % 4).unwrap()],
            moment,
            is_stubborn: random.next().is_multiple_of(3),
        }
    }
}

pub struct Outcome {
    pub findings: Vec<String>,
    /// Whether an external agent ran at the moment of the kill.
    pub is_hit: bool,
    /// Whether the crew reported a failed turn of an external agent.
    pub is_told: bool,
    /// Time from the start to the kill; `None` if the crew had ended before.
    pub killed_after: Option<Duration>,
    /// Time from the kill until no process was left that must end with the killed one.
    pub cleaned_after: Option<Duration>,
    pub duration: Duration,
    /// The folder of a failed round, kept for inspection; empty if the round succeeded.
    pub dir: String,
}

impl Outcome {
    pub fn summary(&self) -> String {
        let ms = |time: Option<Duration>| {
            time.map_or("-".to_string(), |time| format!("{} ms", time.as_millis()))
        };
        format!(
            "killed after {}, an external agent ran: {}, nothing left after {}, failed turn reported: {}, {:.1} s",
            ms(self.killed_after),
            self.is_hit,
            ms(self.cleaned_after),
            self.is_told,
            self.duration.as_secs_f64()
        )
    }
}

pub fn run(plan: &Plan) -> Outcome {
    let crew = KilledCrew::new(plan);
    let began = Instant::now();
    let mut findings = Vec::new();
    let mut child = crew.start();
    crew.wait_for(plan.moment, &mut child);
    let found = crew.find_victim(plan.target, &mut child);
    let is_hit = found.is_some() && !crew.agents().is_empty();
    let killed_after = found.as_ref().map(|_| began.elapsed());
    let mut cleaned_after = None;
    if let Some(found) = found {
        signal(found.victim, Signal::KILL);
        let killed = Instant::now();
        if plan.target == Target::Crewdeck {
            child.wait().unwrap();
        }
        let is_left = || match plan.target {
            // Also what had just been started.
            Target::Crewdeck => !crew.processes().is_empty(),
            _ => found.dependents.iter().any(|id| is_alive(*id)),
        };
        while is_left() && killed.elapsed() < CLEANUP_MAX {
            std::thread::sleep(Duration::from_millis(5));
        }
        cleaned_after = Some(killed.elapsed());
        if is_left() {
            findings.push(format!("left after the kill: {:?}", crew.processes()));
        }
        if plan.target == Target::Crewdeck {
            child = crew.start();
        }
    }
    match KilledCrew::wait_for_end(&mut child) {
        None => findings.push("the last run hangs".into()),
        Some(status) if status.success() => {}
        Some(status) => findings.push(format!("the last run ended with {status}")),
    }
    findings.extend(crew.check(plan.target));
    if !findings.is_empty() {
        findings.push(crew.stderr());
    }
    Outcome {
        is_hit,
        is_told: crew.failed_turns() > 0,
        killed_after,
        cleaned_after,
        duration: began.elapsed(),
        dir: crew.close(!findings.is_empty()),
        findings,
    }
}

/// The process to kill, and those that must end with it.
struct Victim {
    victim: i32,
    dependents: Vec<i32>,
}

struct KilledCrew {
    project: Project,
    log: PathBuf,
}

impl KilledCrew {
    fn new(plan: &Plan) -> KilledCrew {
        let project = Project::repository(&[("a.txt", "one\n"), ("next.sh", NEXT)]);
        let log = project.file("agent.log");
        let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/external/agent.py");
        let mut argv = vec![
            "python3".to_string(),
            agent.display().to_string(),
            format!("--log={}", log.display()),
        ];
        if plan.is_stubborn {
            argv.extend(["--stubborn".to_string(), "--fork=sleep 1000".to_string()]);
        }
        let argv = Value::from(argv);
        project.write_user_settings(&format!(
            "[agents.fake]\ncommand = {argv}\nmode = 'default'\n"
        ));
        project.write("script.yaml", LEAD);
        for id in 1..=EXTERNAL_TASKS + OWN_TASKS {
            let (tag, text) = match id {
                ..=EXTERNAL_TASKS => ("external", format!("work 8\nwrite {id}.txt")),
                _ => ("own", String::new()),
            };
            let subject = format!("Part {id}");
            let args = ["task", "add", &subject, "--description", &text];
            project.json(&[&args[..], &["--tag", tag]].concat());
        }
        KilledCrew { project, log }
    }

    /// Starts the crew, or resumes its session if it has one.
    fn start(&self) -> Child {
        let has_session = state_check::files(&self.project.file(".transcripts"))
            .iter()
            .filter(|path| path.to_string_lossy().ends_with("-lead.jsonl"))
            .any(|path| std::fs::read_to_string(path).is_ok_and(|log| log.contains("\"role\"")));
        let mut args = vec!["run", "go", "--json", "--provider", "script:script.yaml"];
        args.extend(["--tool", "auto"]);
        if has_session {
            args.push("--resume");
        }
        let output = |name: &str| {
            let mut options = File::options();
            let file = options.create(true).append(true);
            file.open(self.project.file(name)).unwrap()
        };
        self.project
            .command(&args)
            .env(VARIABLE, self.project.path())
            .stdin(Stdio::null())
            .stdout(output("out.jsonl"))
            .stderr(output("stderr"))
            .spawn()
            .unwrap()
    }

    fn stderr(&self) -> String {
        std::fs::read_to_string(self.project.file("stderr")).unwrap_or_default()
    }

    fn processes(&self) -> Vec<FoundProcess> {
        find_by_variable(VARIABLE, &self.project.path().display().to_string())
    }

    fn agents(&self) -> Vec<FoundProcess> {
        let mut all = self.processes();
        all.retain(|process| process.has("agent.py"));
        all
    }

    fn wait_for(&self, moment: Moment, child: &mut Child) {
        let then = match moment {
            Moment::After(time) => time,
            Moment::AtWork { tasks, then } => {
                let has_begun = || {
                    let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                    log.lines().filter(|line| line.starts_with("task ")).count() >= tasks
                };
                while !has_begun() && child.try_wait().unwrap().is_none() {
                    std::thread::sleep(Duration::from_millis(2));
                }
                then
            }
        };
        std::thread::sleep(then);
    }

    /// Returns the process to kill, as soon as there is one. Returns `None` if the crew ends before.
    fn find_victim(&self, target: Target, child: &mut Child) -> Option<Victim> {
        let crewdeck = i32::try_from(child.id()).unwrap();
        loop {
            if child.try_wait().unwrap().is_some() {
                return None;
            }
            if target == Target::Crewdeck {
                return Some(Victim {
                    victim: crewdeck,
                    dependents: Vec::new(),
                });
            }
            if let Some(victim) = self.newest_victim(target) {
                return Some(victim);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns the newest process of this kind, which most probably has work.
    fn newest_victim(&self, target: Target) -> Option<Victim> {
        let processes = self.processes();
        let newest = |word: &str| {
            let ids = processes.iter().filter(|p| p.has(word)).map(|p| p.id);
            ids.max()
        };
        if target == Target::CrewServer {
            let victim = newest("mcp-serve")?;
            return Some(Victim {
                victim,
                dependents: vec![victim],
            });
        }
        let agent = newest("agent.py")?;
        let supervisors = processes.iter().filter(|p| p.has("guard"));
        let mut supervisors = supervisors.map(|p| (p.id, descendants_of(p.id)));
        let (supervisor, mut dependents) = supervisors.find(|(_, all)| all.contains(&agent))?;
        dependents.push(supervisor);
        let victim = match target {
            Target::Supervisor => supervisor,
            _ => agent,
        };
        Some(Victim { victim, dependents })
    }

    /// Waits for the end of a run. Kills it and returns `None` if it does not end in time.
    fn wait_for_end(child: &mut Child) -> Option<ExitStatus> {
        let until = Instant::now() + DEADLINE;
        loop {
            match child.try_wait().unwrap() {
                Some(status) => return Some(status),
                None if Instant::now() > until => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    return None;
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Returns how many turns of external agents have failed.
    fn failed_turns(&self) -> usize {
        let events = state_check::lines(&self.project.file("out.jsonl"));
        let has_failed = |e: &&Value| {
            e["type"] == "turn_ended"
                && e["reason"] == "failed"
                && (e["agent"] == "bob" || e["agent"] == "eve")
        };
        events.iter().filter(has_failed).count()
    }

    /// Returns everything that is wrong after the work was completed.
    fn check(&self, target: Target) -> Vec<String> {
        let mut findings = Vec::new();
        let root = self.project.path();
        self.check_board(target, &mut findings);
        self.check_journal(&mut findings);
        state_check::check_state_files(root, &mut findings);
        state_check::conversations(root, &mut findings);
        findings.extend(debris::check(root));
        findings.extend(state_check::remaining_processes(VARIABLE, root));
        findings
    }

    /// Checks that each task is completed by an agent with its tag, with its result, and that no task was claimed again
    /// except one whose agent lost a process.
    fn check_board(&self, target: Target, findings: &mut Vec<String>) {
        let tasks = state_check::values(&self.project.file(".tasks"));
        let tasks: Vec<&Value> = tasks.iter().filter(|task| task["id"].is_u64()).collect();
        if tasks.len() as u64 != EXTERNAL_TASKS + OWN_TASKS {
            findings.push(format!("{} tasks: {tasks:?}", tasks.len()));
        }
        let mut claimed_again = 0;
        for task in tasks {
            let id = task["id"].as_u64().unwrap();
            let owner = task["owner"].as_str().unwrap_or_default();
            let is_owner = if id <= EXTERNAL_TASKS {
                ["bob", "eve"].contains(&owner)
            } else {
                owner == "alice"
            };
            if task["status"] != "completed" || !is_owner {
                findings.push(format!("task {id} is {} of '{owner}'", task["status"]));
                continue;
            }
            claimed_again += task["attempts"].as_u64().unwrap_or(0).saturating_sub(1);
            let file = format!("wt/task-{id}:{id}.txt");
            let (_, shown) = state_check::try_git(self.project.path(), &["show", &file]);
            if shown != "written" {
                findings.push(format!("{file} is {shown:?}"));
            }
        }
        let most = u64::from(target != Target::Crewdeck);
        if claimed_again > most {
            findings.push(format!("tasks were claimed again {claimed_again} times"));
        }
    }

    /// Checks that the journal has one completion of each task, and no errors.
    fn check_journal(&self, findings: &mut Vec<String>) {
        let mut all = Vec::new();
        state_check::all_files(&self.project.file(".crewdeck"), &mut all);
        all.retain(|path| state_check::name(path) == "journal.jsonl");
        all.sort();
        let mut last = BTreeMap::<u64, String>::new();
        let mut completions = BTreeMap::<u64, u64>::new();
        for event in all.iter().flat_map(|path| state_check::lines(path)) {
            if event["type"] == "notice" && event["level"] == "error" {
                findings.push(format!("error: {}", event["text"]));
            }
            if event["type"] != "board_changed" {
                continue;
            }
            for task in event["changed"].as_array().into_iter().flatten() {
                let id = task["id"].as_u64().unwrap();
                let status = task["status"].as_str().unwrap().to_string();
                let before = last.insert(id, status.clone());
                if status == "completed" && before.as_deref() != Some("completed") {
                    *completions.entry(id).or_default() += 1;
                }
            }
        }
        for id in 1..=EXTERNAL_TASKS + OWN_TASKS {
            let count = completions.get(&id).copied().unwrap_or(0);
            if count != 1 {
                findings.push(format!("task {id} was completed {count} times"));
            }
        }
    }

    /// Removes the project's folder, or keeps it and returns its path. Ends processes that are left.
    fn close(self, is_failed: bool) -> String {
        for process in self.processes() {
            signal(process.id, Signal::KILL);
        }
        if is_failed {
            self.project.keep().display().to_string()
        } else {
            String::new()
        }
    }
}
