//! MCP servers in a whole crew: agents share them, their calls need approval, their images are stored, and no process
//! is left.

use std::process::Stdio;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{server_script, wait_until_none_uses};
use crate::common::process_tree::find_by_variable;
use crate::common::project::{Project, RunResult};
use crate::common::random::Random;
use crate::common::supervised::Sleep;
use crate::common::wait::wait_until;

/// Returns a project with the server `s`, which runs `mcp/server.py` and writes its process id to `pids`. It is
/// configured by the user (`is_users`), or else by the project and not approved. `rules` are those of the scripted
/// model.
pub fn project(is_users: bool, options: &[&str], rules: &str) -> Project {
    let project = Project::repository(&[("a.txt", "one\n")]);
    let pids = project.file("pids");
    let script = server_script();
    let mut args = vec![script.to_str().unwrap(), "--pids", pids.to_str().unwrap()];
    args.extend(options);
    let config = json!({"mcpServers": {"s": {"command": "python3", "args": args}}});
    let file = if is_users {
        ".config/crewdeck/mcp.json"
    } else {
        ".mcp.json"
    };
    project.write(file, &config.to_string());
    project.write("rules.yaml", &format!("rules:\n{rules}"));
    project
}

pub fn run(project: &Project, more: &[&str]) -> Vec<Value> {
    let ran = run_prompt(project, "begin", &[&["--json"], more].concat());
    assert!([0, 4].contains(&ran.code()), "{}{}", ran.out(), ran.err());
    events(&ran)
}

pub fn run_prompt(project: &Project, prompt: &str, more: &[&str]) -> RunResult {
    let args = [
        "run",
        prompt,
        "--provider",
        "script:rules.yaml",
        "--plan",
        "auto",
        "--shutdown",
        "auto",
    ];
    project.run(&[&args[..], more].concat())
}

pub fn events(ran: &RunResult) -> Vec<Value> {
    let lines = ran.out();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the agents and outputs of the finished calls of `tool`.
pub fn results<'a>(events: &'a [Value], tool: &'a str) -> Vec<(&'a str, &'a str)> {
    let finished = events
        .iter()
        .filter(move |e| e["type"] == "tool_finished" && e["tool"] == tool);
    finished
        .map(|e| (e["agent"].as_str().unwrap(), e["output"].as_str().unwrap()))
        .collect()
}

fn starts(project: &Project) -> Vec<String> {
    let text = std::fs::read_to_string(project.file("pids")).unwrap_or_default();
    text.lines().map(String::from).collect()
}

fn is_running(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn lead_and_teammate_share_one_server_process() {
    let rules = r"
  - agent: lead
    when: begin
    calls:
      - { tool: mcp__s__echo, input: { text: from the lead } }
      - { tool: spawn_teammate, input: { name: bob, role: tester, prompt: go } }
  - agent: bob
    when: go
    calls: [{ tool: mcp__s__echo, input: { text: from bob } }]
  - say: done
    times: 0
";
    let project = project(true, &[], rules);
    let events = run(&project, &["--tool", "deny"]);
    let mut echoed = results(&events, "mcp__s__echo");
    echoed.sort_unstable();
    assert_eq!(echoed, [("bob", "from bob"), ("lead", "from the lead")]);
    let pids = starts(&project);
    assert_eq!(pids.len(), 1);
    assert!(!is_running(&pids[0]));
    assert!(events.iter().any(|e| e["type"] == "servers_changed"));
}

#[test]
fn calls_repeat_no_states_in_the_journal() {
    let rules = r"
  - when: begin
    calls:
      - { tool: mcp__s__echo, input: { text: one } }
      - { tool: mcp__s__echo, input: { text: two } }
      - { tool: mcp__s__fail, input: {} }
  - say: done
    times: 0
";
    let project = project(true, &[], rules);
    let events = run(&project, &["--tool", "auto"]);
    assert_eq!(results(&events, "mcp__s__echo").len(), 2);
    let mut states: Vec<Value> = events
        .iter()
        .filter(|e| e["type"] == "servers_changed")
        .map(|e| e["servers"].clone())
        .collect();
    for servers in &mut states {
        servers[0]["calls"] = 0.into();
    }
    assert!(states.len() > 1);
    for pair in states.windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
}

#[test]
fn unapproved_server_is_not_started() {
    let rules = r"
  - when: begin
    calls: [{ tool: mcp__s__echo, input: { text: hello } }]
  - say: done
    times: 0
";
    let project = project(false, &[], rules);
    let events = run(&project, &["--tool", "auto"]);
    let results = results(&events, "mcp__s__echo");
    assert_eq!(
        results[0].1,
        "Error: The MCP server s is not available: the user has not approved it."
    );
    assert_eq!(starts(&project), [""; 0]);
}

#[test]
fn tool_that_writes_needs_approval() {
    let rules = r"
  - when: begin
    calls: [{ tool: mcp__s__structured, input: {} }]
  - say: done
    times: 0
";
    let project = project(true, &[], rules);
    let events = run(&project, &["--tool", "deny"]);
    let refused = results(&events, "mcp__s__structured");
    assert!(refused[0].1.starts_with("Error: rejected"), "{refused:?}");
    let asked = events.iter().find_map(|e| e["request"]["body"].as_str());
    let card = asked.unwrap();
    assert!(
        card.contains("s · structured") && card.contains("outside of the sandbox"),
        "{card}"
    );
    let events = run(&project, &["--tool", "auto"]);
    let ran = results(&events, "mcp__s__structured");
    assert!(!ran[0].1.starts_with("Error"), "{ran:?}");
}

#[test]
fn image_of_a_result_reaches_the_conversation() {
    let rules = r"
  - when: begin
    calls: [{ tool: mcp__s__image, input: {} }]
  - say: done
    times: 0
";
    let project = project(true, &[], rules);
    run(&project, &["--tool", "auto"]);
    let folder = project.file(".transcripts");
    let texts: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
        .collect();
    assert!(
        texts.iter().any(|text| text.contains("mcp__s__image 1")),
        "{texts:?}"
    );
}

#[test]
fn killed_crew_leaves_no_server() {
    let rules = r"
  - when: begin
    calls: [{ tool: mcp__s__echo, input: { text: hello } }]
  - fault: { hang: true }
";
    let helper = Sleep::new();
    let command = helper.command();
    let project = project(true, &["--stubborn", "--fork", &command], rules);
    let mut child = project
        .command(&["run", "begin", "--provider", "script:rules.yaml"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the start of the server", || !starts(&project).is_empty());
    helper.wait_for_one();
    child.kill().unwrap();
    child.wait().unwrap();
    helper.wait_for_none();
    let pids = starts(&project);
    wait_until("the end of the servers", || {
        !pids.iter().any(|pid| is_running(pid))
    });
}

/// The servers of the crews that are killed.
const KILLED_SERVERS: [&str; 3] = ["a", "b", "c"];
/// Environment variable by which the processes of a killed crew are found. They inherit it; its value is the project.
const KILL_VARIABLE: &str = "CREWDECK_KILLED_CREW";

/// When a crew is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KillMoment {
    /// So long after the start of crewdeck, whatever runs then.
    AnyTime(Duration),
    /// So long after the first of the servers was started.
    DuringStart(Duration),
    /// So long after all servers were started, each with a program of its own beside it.
    Running(Duration),
}

impl KillMoment {
    /// Every second round kills a crew whose servers run, the first one at once.
    fn of_round(round: u64) -> KillMoment {
        let mut random = Random(round);
        let ms = Duration::from_millis;
        match round {
            0 => KillMoment::Running(Duration::ZERO),
            _ if round.is_multiple_of(2) => KillMoment::Running(random.below(ms(300))),
            _ if round % 4 == 1 => KillMoment::AnyTime(random.below(ms(900))),
            _ => KillMoment::DuringStart(random.below(ms(60))),
        }
    }
}

/// Kills a crew whose three servers run. With `CREWDECK_ROUNDS`, kills further crews before, during and after the start
/// of their servers.
#[test]
fn killed_crews_leave_no_server_and_start_none_twice() {
    let rounds = std::env::var("CREWDECK_ROUNDS").map_or(1, |text| text.parse().unwrap());
    // The number of kills, and the times until nothing was left in milliseconds, by the number of running servers.
    let mut kills: [Vec<u128>; 4] = Default::default();
    for round in 0..rounds {
        let (running, cleaned_after) = kill_crew(round);
        kills[running].push(cleaned_after.as_millis());
    }
    for (running, times) in kills.iter().enumerate().filter(|(_, t)| !t.is_empty()) {
        let (count, longest) = (times.len(), times.iter().max().unwrap());
        println!("{running} servers ran: {count} kills, nothing left after at most {longest} ms");
    }
    let counts = kills.each_ref().map(|times| times.len() as u64);
    assert!(counts[3] * 2 >= rounds, "{counts:?}");
    // Enough rounds for each part of the start.
    assert!(
        rounds < 40 || counts[0] > 0 && counts[1] + counts[2] > 0,
        "{counts:?}"
    );
}

/// Kills a crew. Returns how many of its servers ran then, and the time until none of its processes was left.
fn kill_crew(round: u64) -> (usize, Duration) {
    let moment = KillMoment::of_round(round);
    let helper = Sleep::new();
    let project = Project::repository(&[("a.txt", "one\n")]);
    let pids = |name: &str| project.file(&format!("pids-{name}"));
    let servers: serde_json::Map<String, Value> = KILLED_SERVERS
        .iter()
        .map(|name| {
            let mut args = vec![server_script().display().to_string()];
            args.extend(["--pids".into(), pids(name).display().to_string()]);
            args.extend(["--fork".into(), helper.command()]);
            args.extend((*name == "c").then(|| "--stubborn".into()));
            (
                name.to_string(),
                json!({"command": "python3", "args": args}),
            )
        })
        .collect();
    let config = json!({ "mcpServers": servers });
    project.write(".config/crewdeck/mcp.json", &config.to_string());
    let rules = "rules:\n  - { when: begin, calls: [{ tool: mcp__a__echo, input: { text: hello } }] }\n  - fault: { hang: true }\n";
    project.write("rules.yaml", rules);
    let mut crew = project
        .command(&["run", "begin", "--provider", "script:rules.yaml"])
        .env(KILL_VARIABLE, project.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = || KILLED_SERVERS.map(|name| super::starts(&pids(name)));
    let then = match moment {
        KillMoment::AnyTime(then) => then,
        KillMoment::DuringStart(then) => {
            wait_until("the first server", || started() != [0; 3]);
            then
        }
        KillMoment::Running(then) => {
            wait_until("the start of the servers", || {
                !started().contains(&0) && helper.sleepers().len() == KILLED_SERVERS.len()
            });
            then
        }
    };
    std::thread::sleep(then);
    let is_running = |name: &&&str| {
        let pids = std::fs::read_to_string(pids(name)).unwrap_or_default();
        pids.lines().any(is_running)
    };
    let running = KILLED_SERVERS.iter().filter(is_running).count();
    crew.kill().unwrap();
    let killed = Instant::now();
    crew.wait().unwrap();
    let value = project.path().display().to_string();
    // Also the supervisors, and the programs in sessions of their own.
    wait_until(&format!("round {round}: no process is left"), || {
        find_by_variable(KILL_VARIABLE, &value).is_empty()
    });
    let cleaned_after = killed.elapsed();
    wait_until_none_uses(project.path());
    helper.wait_for_none();
    // A server that crewdeck was starting when it was killed may have started since then, but none twice.
    let expected: &[usize] = match moment {
        KillMoment::Running(_) => &[1],
        KillMoment::AnyTime(_) | KillMoment::DuringStart(_) => &[0, 1],
    };
    for (name, count) in KILLED_SERVERS.iter().zip(started()) {
        assert!(
            expected.contains(&count),
            "round {round}, {moment:?}: {name} was started {count} times"
        );
    }
    (running, cleaned_after)
}

#[test]
fn server_is_tested_from_the_command_line() {
    let project = project(true, &[], "  - say: done\n");
    let ran = project.run(&["mcp", "test", "s"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(ran.out().starts_with("s: ready after "), "{}", ran.out());
    assert!(ran.out().contains("  mcp__s__echo  reads only  Repeats.\n"));
    let ran = project.run(&["mcp", "test", "t"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().contains("no server is named t"), "{}", ran.err());
    let broken = json!({"mcpServers": {"s": {"command": "false"}}});
    project.write(".config/crewdeck/mcp.json", &broken.to_string());
    let ran = project.run(&["mcp", "test", "s"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().contains("exit code 1"), "{}", ran.err());
    let ran = project.run(&["mcp", "list", "--with-tools", "--json"]);
    let tools: Value = serde_json::from_str(&ran.out()).unwrap();
    assert_eq!((ran.code(), &tools[0]["works"]), (1, &json!(false)));
}
