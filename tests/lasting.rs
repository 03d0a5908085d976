//! One agent that lasts: background jobs, subagents, compaction, and a session that is gone on with.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/project.rs"]
#[allow(dead_code)] // other tests use more of it
mod project;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crewdeck::domain::chat::{Block, Message, check};
use crewdeck::domain::conversation::{Conversation, Record};
use project::{Project, Ran};
use serde_json::Value;

/// `crewdeck run` with the rules of a script.
fn scripted(project: &Project, script: &str, args: &[&str]) -> Command {
    let file = project.write("script.yaml", script);
    let mut command = project.command(&["run"]);
    command.args(args).arg("--provider");
    command.arg(format!("script:{}", file.display()));
    command.stdin(Stdio::null());
    command
}

fn run(project: &Project, script: &str, args: &[&str]) -> Ran {
    Ran(scripted(project, script, args).output().unwrap())
}

fn events(ran: &Ran) -> Vec<Value> {
    let out = ran.out();
    out.lines()
        .map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}")))
        .collect()
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|e| e["type"] == kind).collect()
}

/// A project whose commands may do what crewdeck forbids them: they stand for what happens to its files.
fn unconfined() -> Project {
    let project = Project::new();
    project.write(".crewdeck/config.toml", "confine = \"off\"\n");
    project
}

/// The log of one agent, by the end of its file's name.
fn log(project: &Project, end: &str) -> Vec<Record> {
    let dir = project.file(".transcripts");
    let mut found: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.to_string_lossy().ends_with(end))
        .collect();
    assert_eq!(found.len(), 1, "{end}: {found:?}");
    let text = std::fs::read_to_string(found.remove(0)).unwrap();
    let line = |l: &str| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"));
    text.lines().map(line).collect()
}

/// The conversation of the lead, checked as a server would.
fn lead(project: &Project) -> Conversation {
    let conversation = Conversation::of(log(project, "-lead.jsonl"));
    assert_eq!(check(&conversation.messages), Ok(()));
    conversation
}

fn result_texts(messages: &[Message]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|m| &m.blocks);
    let texts = blocks.filter_map(|b| match b {
        Block::ToolResult { content, .. } => Some(content.clone()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn a_background_command_runs_beside_and_its_end_wakes_the_lead() {
    let project = Project::new();
    let script = r#"
rules:
  - when: Run "sleep
    calls:
      - { tool: background_run, input: { command: "sleep 1 && echo done" } }
      - { tool: write_file, input: { path: beside.txt, content: made while it ran } }
      - { tool: check_background }
  - when: running
    say: It runs; I rest.
  - when: background-results
    say: The command is done.
"#;
    let prompt =
        r#"Run "sleep 1 && echo done" in the background, then create a file while it runs"#;
    let ran = run(&project, script, &[prompt, "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let events = events(&ran);
    let jobs = of(&events, "job_changed");
    assert_eq!(jobs.len(), 2);
    assert_eq!(jobs[1]["job"]["ended"][1]["how"], "exited");
    assert_eq!(of(&events, "turn_started").len(), 2, "woken once");
    assert!(project.file("beside.txt").exists());
    let words: Vec<String> = lead(&project).messages.iter().map(Message::words).collect();
    let told = words
        .iter()
        .find(|w| w.contains("<background-results>"))
        .unwrap();
    assert!(
        told.contains("completed (exit code 0): sleep 1 && echo done\ndone"),
        "{told}"
    );
}

#[test]
fn a_failing_command_tells_its_code_and_one_that_is_stopped_who_stopped_it() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls:
      - { tool: background_run, input: { command: "echo broken; exit 3" } }
      - { tool: background_run, input: { command: "sleep 600" } }
      - { tool: background_run, input: { command: "sleep 600", timeout_s: 1 } }
  - when: (?s)^Background task (\w+) started.*?Background task (\w+) started
    calls: [{ tool: stop_background, input: { task_id: "{{2}}" } }, { tool: stop_background, input: { task_id: nope } }]
  - when: .
    times: 0
    say: I see.
"#;
    let ran = run(&project, script, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let conversation = lead(&project);
    let words: Vec<String> = conversation.messages.iter().map(Message::words).collect();
    let words = words.join("\n");
    for part in [
        "failed (exit code 3): echo broken; exit 3\nbroken",
        "killed by lead: sleep 600",
        "timeout (1 s): sleep 600",
    ] {
        assert!(words.contains(part), "{part} in {words}");
    }
    let results = result_texts(&conversation.messages).join("\n");
    assert!(
        results.contains("Unknown task nope: yours are "),
        "{results}"
    );
    assert_eq!(conversation.lost_jobs, vec![]);
}

#[test]
fn a_character_that_a_job_writes_in_two_parts_stays_whole() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: background_run, input: { command: "printf '\\344\\270'; sleep 0.3; printf '\\255 \\344'" } }]
  - when: .
    times: 0
    say: I see.
"#;
    let ran = run(&project, script, &["go", "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let events = events(&ran);
    let ended = of(&events, "job_changed").pop().unwrap();
    assert_eq!(ended["job"]["tail"], "中 \u{fffd}");
}

#[test]
fn subagents_work_side_by_side_and_only_their_answers_return() {
    let project = Project::new();
    project.write("requirements.txt", "pytest==8\n");
    // The two wait for each other: one after the other they would never end.
    let script = r#"
rules:
  - agent: lead
    when: Use a subtask
    calls:
      - { tool: task, input: { prompt: "Which testing framework? Look at requirements.txt", description: find the framework } }
      - { tool: task, input: { prompt: "Write meet.txt, then wait for met.txt", kind: general } }
      - { tool: task, input: { prompt: "Write met.txt, then wait for meet.txt", kind: general } }
  - agent: lead
    when: .
    say: "It uses pytest."
  - when: Which testing framework
    calls: [{ tool: read_file, input: { path: requirements.txt } }, { tool: bash, input: { command: "touch no" } }]
  - when: pytest==8
    say: "pytest, version 8 (requirements.txt, line 1)"
  - when: Write (\w+).txt, then wait for (\w+).txt
    calls: [{ tool: bash, input: { command: "touch {{1}}.txt; while [ ! -e {{2}}.txt ]; do sleep 0.01; done; echo both", timeout_s: 20 } }]
  - when: ^both
    say: We met.
"#;
    let prompt = "Use a subtask to find what testing framework this project uses";
    let ran = run(&project, script, &[prompt, "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let events = events(&ran);
    let sent: Vec<_> = of(&events, "subagent_started");
    let names: Vec<&str> = sent.iter().map(|e| e["agent"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().all(|n| n.starts_with("lead.")), "{names:?}");
    assert!(sent.iter().all(|e| e["parent"] == "lead"));
    let conversation = lead(&project);
    assert_eq!(
        result_texts(&conversation.messages),
        [
            "pytest, version 8 (requirements.txt, line 1)",
            "We met.",
            "We met."
        ]
    );
    assert!(!project.file("no").exists(), "explore only reads");
    assert_eq!(
        conversation.messages.len(),
        4,
        "nothing else of them is in the lead's conversation"
    );
    let asked = of(&events, "tool_finished");
    let refused = asked
        .iter()
        .find(|e| e["tool"] == "bash" && e["outcome"] == "error")
        .unwrap();
    assert!(
        refused["output"]
            .as_str()
            .unwrap()
            .starts_with("Unknown tool: bash"),
        "{refused}"
    );
}

#[test]
fn a_subagent_has_no_subagents_and_an_end() {
    let project = Project::new();
    // Each step gives another number, so that it is no loop.
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls: [{ tool: task, input: { prompt: look for ever, kind: general } }]
  - agent: lead
    when: .
    say: fine
  - when: This is your last step
    say: I found nothing in 30 steps.
  - when: .
    times: 0
    calls: [{ tool: task, input: { prompt: deeper } }, { tool: bash, input: { command: "echo x >> steps; wc -l < steps" } }]
"#;
    let ran = run(&project, script, &["go", "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let results = result_texts(&lead(&project).messages);
    assert_eq!(results, ["I found nothing in 30 steps."]);
    let steps = std::fs::read_to_string(project.file("steps")).unwrap();
    assert_eq!(steps.lines().count(), 29);
    let events = events(&ran);
    assert_eq!(of(&events, "subagent_started").len(), 1);
    let finished = of(&events, "tool_finished");
    let deeper = finished.iter().find(|e| e["agent"] == "lead.1").unwrap();
    let said = deeper["output"].as_str().unwrap();
    assert!(said.starts_with("Unknown tool: task"), "{said}");
}

#[test]
fn a_session_that_is_gone_on_with_counts_its_subagents_on() {
    let project = Project::new();
    let script = r"
rules:
  - agent: lead
    when: ^look
    calls: [{ tool: task, input: { prompt: find it } }]
  - agent: lead
    when: .
    say: fine
  - when: find it
    say: found
";
    assert_eq!(run(&project, script, &["look"]).code(), 0);
    assert_eq!(run(&project, script, &["look again", "--resume"]).code(), 0);
    for end in ["-lead.1.jsonl", "-lead.2.jsonl"] {
        assert_eq!(Conversation::of(log(&project, end)).messages.len(), 2);
    }
}

/// A script for one long turn: `rounds` rounds of a command with much output.
fn long_work(window: u64, rounds: usize) -> String {
    format!(
        r#"
window: {window}
rules:
  - when: Write down where this work stands
    times: 0
    say: "SUMMARY: the counter goes on; the person wants every number."
  - when: ^count
    calls:
      - {{ tool: todo, input: {{ items: [{{ id: "1", text: count to the end, status: in_progress }}] }} }}
      - {{ tool: task_create, input: {{ subject: Count, description: every number counts }} }}
  - when: Count
    calls: [{{ tool: claim_task, input: {{ task_id: 1 }} }}]
  - when: (?s).
    times: {rounds}
    calls: [{{ tool: bash, input: {{ command: "echo x >> count; wc -l < count; head -c 3000 /dev/zero | tr '\\0' y" }} }}]
  - when: .
    say: All counted.
"#
    )
}

#[test]
fn three_hundred_turns_stay_under_the_limit_and_lose_nothing_that_matters() {
    let project = Project::new();
    let window = 20_000;
    let ran = run(
        &project,
        &long_work(window, 300),
        &["count every number, never skip one", "--json"],
    );
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let events = events(&ran);
    let counted = std::fs::read_to_string(project.file("count")).unwrap();
    assert_eq!(counted.lines().count(), 300, "every round was made once");
    // The largest conversation that was sent.
    let used = of(&events, "usage_changed");
    let most = used
        .iter()
        .map(|e| e["context"].as_u64().unwrap())
        .max()
        .unwrap();
    assert!(most < window * 9 / 10, "{most}");
    let compacted = of(&events, "compacted");
    let whole: Vec<_> = compacted.iter().filter(|e| e["how"] == "summary").collect();
    let small = compacted.len() - whole.len();
    println!(
        "{small} small compactions, {} whole ones, at most {most} tokens",
        whole.len()
    );
    assert!(!whole.is_empty() && small > whole.len());
    // A prompt cache is lost once for each: 300 rounds of 3 kB are about 225,000 tokens, and each
    // compaction frees a quarter of the window at least.
    assert!(compacted.len() as u64 <= 225_000 / (window / 4));
    let freed = |e: &Value| e["before"].as_u64().unwrap() - e["after"].as_u64().unwrap();
    let mut small_ones = compacted.iter().filter(|e| e["how"] == "results");
    assert!(small_ones.all(|e| freed(e) >= window / 4), "{compacted:?}");
    // Each whole conversation is on disk, and the last one begins with what must not be lost.
    for event in &whole {
        let path = event["transcript"].as_str().unwrap();
        assert!(project.file(path).exists(), "{path}");
    }
    let first = lead(&project).messages[0].words();
    for part in [
        "[Conversation compressed. Transcript: .transcripts/",
        "SUMMARY: the counter goes on",
        "<person-said>\ncount every number, never skip one\n</person-said>",
        "<open-task>Task #1: Count\nevery number counts</open-task>",
        "[>] #1: count to the end",
    ] {
        assert!(first.contains(part), "{part} in {first}");
    }
}

#[test]
fn compacting_on_demand_keeps_the_whole_conversation_aside() {
    let project = Project::new();
    let script = r"
rules:
  - when: (?s)Write down where this work stands.*Give most room to. the names
    say: We talked about names.
  - when: ^go$
    calls: [{ tool: compact, input: { focus: the names } }]
  - when: We talked about names
    say: I go on.
";
    let ran = run(&project, script, &["go", "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let aside = log(&project, "-lead.whole-1.jsonl");
    let before = Conversation::of(aside);
    assert_eq!(before.messages[0].words(), "go");
    let after = lead(&project);
    assert_eq!(after.messages.len(), 2);
    assert!(after.messages[0].words().contains("We talked about names."));
}

#[test]
fn a_session_is_gone_on_with_and_knows_what_was_said() {
    let project = Project::new();
    let script = r#"
rules:
  - when: my name is (\w+)
    calls: [{ tool: todo, input: { items: [{ id: "1", text: greet, status: pending }] } }]
    usage: { input: 100, output: 10 }
  - when: greet
    say: Hello {{1}}
    usage: { input: 100, output: 10 }
  - when: what now
    say: I greet you.
    usage: { input: 100, output: 10 }
"#;
    let none = run(&project, script, &["what now", "--resume"]);
    assert_eq!(none.code(), 1);
    assert!(
        none.err().contains("no session to resume here"),
        "{}",
        none.err()
    );
    assert_eq!(run(&project, script, &["my name is Ada"]).code(), 0);
    let ran = run(&project, script, &["what now", "--resume", "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let conversation = lead(&project);
    let words: Vec<String> = conversation.messages.iter().map(Message::words).collect();
    assert_eq!(words[0], "my name is Ada");
    assert_eq!(words[words.len() - 2..], ["what now", "I greet you."]);
    assert_eq!(conversation.spent.input, 300, "the tokens of both runs");
    let events = events(&ran);
    assert_eq!(of(&events, "todo_changed")[0]["list"][0]["text"], "greet");
    // With nothing under way there is nothing to go on with.
    let idle = run(&project, script, &["--resume"]);
    assert_eq!(idle.code(), 1);
    assert!(
        idle.err().contains("nothing was under way"),
        "{}",
        idle.err()
    );
    let unknown = run(&project, script, &["what now", "--resume", "0000beef"]);
    assert!(
        unknown.err().contains("there is no session 0000beef here"),
        "{}",
        unknown.err()
    );
}

/// Waits until a file is there; the process that is to make it must be alive.
fn wait_for(project: &Project, file: &str, child: &mut Child) {
    let until = Instant::now() + Duration::from_secs(20);
    while !project.file(file).exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended");
        assert!(Instant::now() < until, "no {file}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a process and waits for its end.
fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_could_not_be_saved_is_saved_later_and_its_letters_wait_till_then() {
    let project = unconfined();
    // A folder in the place of the log: nothing can be written there.
    let script = r#"
rules:
  - when: ^go$
    calls:
      - tool: bash
        input:
          command: |
            f=$(ls .transcripts/*-lead.jsonl); mv $f aside; mkdir $f
            echo '{"type":"message","from":"bob","content":"the word is rhubarb","timestamp":1}' >> .team/inbox/lead.jsonl
  - when: rhubarb
    calls: [{ tool: bash, input: { command: "CREWDECK mail list lead --json > then.json; rmdir .transcripts/*-lead.jsonl" } }]
  - when: .
    say: fine
"#;
    let script = script.replace("CREWDECK", env!("CARGO_BIN_EXE_crewdeck"));
    let ran = run(&project, &script, &["go", "--tool", "auto"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(ran.err().contains("can not be saved"), "{}", ran.err());
    let then = std::fs::read_to_string(project.file("then.json")).unwrap();
    assert!(then.contains("rhubarb"), "it is not acknowledged yet");
    let messages = lead(&project).messages;
    let words: Vec<String> = messages.iter().map(Message::words).collect();
    let all = words.join("\n");
    assert_eq!(all.matches("rhubarb").count(), 1, "{all}");
    assert!(all.starts_with("go") && all.ends_with("fine"), "{all}");
    assert_eq!(
        project.json(&["mail", "list", "lead"]),
        serde_json::json!([])
    );
}

/// Tells a process to end and waits until it has.
fn ask_to_end(child: &mut Child) {
    let pid = child.id().to_string();
    let asked = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(asked.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn killed_in_the_middle_of_a_tool_call_it_comes_back_and_goes_on() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: bash, input: { command: "echo first > a; touch started; sleep 20" } }, { tool: background_run, input: { command: "sleep 20" } }]
  - when: (?s)crewdeck ended before this call did.*ended in the middle of this turn
    calls: [{ tool: bash, input: { command: "cat a" } }]
  - when: ^first
    say: It had been written.
"#;
    let mut child = scripted(&project, script, &["go"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&project, "started", &mut child);
    kill(&mut child);
    // A power cut may also tear the last line.
    let dir = project.file(".transcripts");
    let path = std::fs::read_dir(dir)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"role\":\"user\",\"blo");
    std::fs::write(&path, text).unwrap();

    let ran = run(&project, script, &["--resume"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert_eq!(ran.out().trim(), "It had been written.");
    let err = ran.err();
    assert!(
        err.contains("cut off in the middle of its turn and goes on"),
        "{err}"
    );
    assert!(
        err.contains("One line of the conversation could not be read"),
        "{err}"
    );
    let results = result_texts(&lead(&project).messages);
    assert!(
        results[0].contains("crewdeck ended before this call did"),
        "{results:?}"
    );
    assert_eq!(results.last().unwrap().trim(), "first");
}

#[test]
fn what_a_person_interrupted_is_not_gone_on_with() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: bash, input: { command: "touch started; sleep 20" } }]
  - when: .
    say: on I go
"#;
    let mut child = scripted(&project, script, &["go"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&project, "started", &mut child);
    ask_to_end(&mut child);
    let ran = run(&project, script, &["--resume"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().contains("nothing was under way"), "{}", ran.err());
}

#[test]
fn a_job_that_ended_with_crewdeck_is_told_once_also_after_a_compaction() {
    let project = Project::new();
    let script = r#"
rules:
  - when: Write down where this work stands
    say: The server was started.
  - when: ^go$
    calls: [{ tool: background_run, input: { command: "sleep 600" } }, { tool: compact }]
  - when: The server was started
    calls: [{ tool: bash, input: { command: "touch started" } }]
  - when: .
    times: 0
    say: I see.
"#;
    let mut child = scripted(&project, script, &["go"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&project, "started", &mut child);
    ask_to_end(&mut child);
    let open: Vec<String> = lead(&project).lost_jobs.into_iter().map(|j| j.1).collect();
    assert_eq!(open, ["sleep 600"]);
    for words in ["what now", "and now"] {
        let ran = run(&project, script, &[words, "--resume"]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        let all = lead(&project);
        let words: Vec<String> = all.messages.iter().map(Message::words).collect();
        let told = words.join("\n").matches("no longer run and").count();
        assert_eq!((told, all.lost_jobs), (1, vec![]), "{words:?}");
    }
}

#[test]
fn a_server_that_was_started_with_an_ampersand_is_told_to_be_gone() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: background_run, input: { command: "sleep 600 & echo serving" } }]
  - when: .
    times: 0
    say: I see.
"#;
    assert_eq!(run(&project, script, &["go"]).code(), 0);
    let words: Vec<String> = lead(&project).messages.iter().map(Message::words).collect();
    let told = words.join("\n");
    assert!(
        told.contains("serving\n\n[A program that the command left running was ended with it.]"),
        "{told}"
    );
}

#[test]
fn progress_that_can_not_be_written_ends_nothing() {
    let project = Project::new();
    let script = "rules: [{ when: ., say: I see. }]";
    let mut command = scripted(&project, script, &["go"]);
    command.stderr(std::fs::File::create("/dev/full").unwrap());
    let ran = Ran(command.output().unwrap());
    assert_eq!((ran.code(), ran.out().as_str()), (0, "I see.\n"));
}

#[test]
fn a_run_does_not_tell_the_decisions_of_the_one_before() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: bash, input: { command: "rm -rf /nowhere/at/all" } }]
  - when: .
    times: 0
    say: I see.
"#;
    let told = "permission of lead rejected by policy";
    let first = run(&project, script, &["go"]).err();
    assert!(first.contains(told), "{first}");
    let second = run(&project, script, &["and now"]).err();
    assert!(!second.contains(told), "{second}");
}

/// SIGINT comes while the second of two calls that run side by side hangs.
#[test]
fn what_is_done_stays_done_when_its_neighbour_is_interrupted() {
    let project = Project::new();
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls: [{ tool: task, input: { prompt: quick } }, { tool: task, input: { prompt: slow, kind: general } }]
  - when: quick
    say: Found it.
  - when: slow
    calls: [{ tool: bash, input: { command: "while ! grep -q turn.:.ended .transcripts/*-lead.1.jsonl; do sleep 0.05; done; touch started; sleep 20" } }]
"#;
    let mut child = scripted(&project, script, &["go"]).spawn().unwrap();
    wait_for(&project, "started", &mut child);
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    child.wait().unwrap();
    let results = result_texts(&lead(&project).messages);
    assert_eq!(results[0], "Found it.");
    assert!(results[1].starts_with("Interrupted"), "{results:?}");
}

#[test]
fn a_log_that_was_taken_away_is_written_anew() {
    for gone in [
        "rm -rf .transcripts",
        "rm .transcripts/*",
        // No log can be written at first.
        "rm -rf .transcripts; touch .transcripts",
    ] {
        let project = unconfined();
        let script = r#"
rules:
  - when: ^my name is Ada
    calls: [{ tool: bash, input: { command: "GONE" } }]
  - when: no output
    calls: [{ tool: bash, input: { command: "[ -d .transcripts ] || rm -f .transcripts; echo two" } }]
  - when: two
    say: Hello Ada
"#;
        let script = script.replace("GONE", gone);
        let ran = run(&project, &script, &["my name is Ada", "--tool", "auto"]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        let conversation = lead(&project);
        let words: Vec<String> = conversation.messages.iter().map(Message::words).collect();
        assert_eq!(words[0], "my name is Ada", "{gone}");
        let results = result_texts(&conversation.messages);
        assert_eq!(
            results,
            ["(no output)", "two"],
            "a standing rule is no person"
        );
        assert_eq!((words.len(), words[5].as_str()), (6, "Hello Ada"), "{gone}");
    }
}

#[test]
fn a_letter_that_no_log_holds_is_not_acknowledged() {
    let project = unconfined();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: bash, input: { command: "EXE mail send lead hello; rm -rf .transcripts; touch .transcripts" } }]
  - when: hello
    say: I have read it.
"#;
    let script = script.replace("EXE", env!("CARGO_BIN_EXE_crewdeck"));
    let ran = run(&project, &script, &["go", "--tool", "auto"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert_eq!(ran.out(), "I have read it.\n");
    std::fs::remove_file(project.file(".transcripts")).unwrap();
    let waits = project.json(&["mail", "list", "lead"]);
    assert_eq!(waits[0]["content"], "hello");
}
