//! The practice prompts of the learn-claude-code lessons, run with the real tools. The prompts for subagents and
//! background commands are in `long_sessions.rs`, the one for skills in `skills.rs`.

use serde_json::Value;

use crate::common::project::{Project, RunResult};

fn run_events(project: &Project, script: &str, prompt: &str) -> Vec<Value> {
    let file = project.write("script.yaml", script);
    let provider = format!("script:{}", file.display());
    let args = ["run", prompt, "--json", "--provider", &provider];
    let ran: RunResult = project.run(&args);
    // Exit code 4: the run succeeded and a task is open.
    assert!([0, 4].contains(&ran.code()), "{}\n{}", ran.err(), ran.out());
    let out = ran.out();
    out.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

fn events_of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|e| e["type"] == kind).collect()
}

#[test]
fn s03_refactoring_advances_the_todo_list() {
    let project = Project::new();
    project.write(
        "hello.py",
        "def greet(name):\n    return 'Hello, ' + name\n\nprint(greet('World'))\n",
    );
    let todo = |states: [&str; 3]| {
        let texts = ["type hints", "docstrings", "main guard"];
        let items: Vec<String> = (0..3)
            .map(|i| {
                format!(
                    "{{ id: \"{}\", text: {}, status: {} }}",
                    i + 1,
                    texts[i],
                    states[i]
                )
            })
            .collect();
        format!(
            "{{ tool: todo, input: {{ items: [{}] }} }}",
            items.join(", ")
        )
    };
    let [p, i, c] = ["pending", "in_progress", "completed"];
    let script = format!(
        r#"
rules:
  - when: Refactor the file
    calls: [{}, {{ tool: read_file, input: {{ path: hello.py }} }}]
  - when: def greet.name
    calls: [{{ tool: edit_file, input: {{ path: hello.py, old_text: "def greet(name):", new_text: "def greet(name: str) -> str:" }} }}]
  - when: Edited
    calls: [{}, {{ tool: edit_file, input: {{ path: hello.py, old_text: "-> str:\n", new_text: "-> str:\n    \"\"\"Greets.\"\"\"\n" }} }}]
  - when: Edited
    calls: [{}, {{ tool: edit_file, input: {{ path: hello.py, old_text: "print(greet('World'))", new_text: "if __name__ == '__main__':\n    print(greet('World'))" }} }}]
  - when: Edited
    calls: [{}, {{ tool: bash, input: {{ command: "python3 hello.py" }} }}]
  - when: Hello, World
    say: Done, and it still prints Hello, World.
"#,
        todo([i, p, p]),
        todo([c, i, p]),
        todo([c, c, i]),
        todo([c, c, c]),
    );
    let prompt = "Refactor the file hello.py: add type hints, docstrings, and a main guard";
    let events = run_events(&project, &script, prompt);
    let text = std::fs::read_to_string(project.file("hello.py")).unwrap();
    for part in ["name: str", "\"\"\"Greets.\"\"\"", "__main__"] {
        assert!(text.contains(part), "{text}");
    }
    let done: Vec<usize> = events_of_type(&events, "todo_changed")
        .iter()
        .map(|e| {
            let items = e["list"].as_array().unwrap();
            items.iter().filter(|i| i["status"] == "completed").count()
        })
        .collect();
    assert_eq!(done, [0, 1, 2, 3]);
}

#[test]
fn s06_reading_many_files_stays_within_the_window() {
    let project = Project::new();
    let files = 20;
    for n in 0..files {
        let text = format!("# agent {n}\n{}", "value = 1\n".repeat(300));
        project.write(&format!("agents/s{n:02}.py"), &text);
    }
    // 20 files of 3 kB do not fit a window of 8,000 tokens. Pruning keeps the results of read_file, so that only
    // summaries help.
    let mut script = String::from(
        "window: 8000\nrules:\n  - when: Write down the state of this work\n    times: 0\n    say: I read the files in order and note what each is.\n",
    );
    for n in 0..files {
        script.push_str(&format!(
            "  - when: .\n    calls: [{{ tool: read_file, input: {{ path: agents/s{n:02}.py }} }}]\n"
        ));
    }
    script.push_str("  - when: .\n    say: I have read all of them.\n");
    let prompt = "Read every Python file in the agents/ directory one by one";
    let events = run_events(&project, &script, prompt);
    let read = events_of_type(&events, "tool_finished");
    assert_eq!(read.len(), files);
    assert!(read.iter().all(|e| e["outcome"] == "ok"));
    let contexts = events_of_type(&events, "usage_changed");
    let largest = contexts
        .iter()
        .map(|e| e["context"].as_u64().unwrap())
        .max()
        .unwrap();
    assert!(largest < 8000, "{largest}");
    assert!(events_of_type(&events, "compacted").len() >= 2);
    let last = events_of_type(&events, "said").last().unwrap()["text"].clone();
    assert_eq!(last, "I have read all of them.");
}

#[test]
fn s07_three_tasks_depend_on_each_other() {
    let project = Project::new();
    let script = r"
rules:
  - when: Create 3 tasks
    calls:
      - { tool: task_create, input: { subject: Setup project } }
      - { tool: task_create, input: { subject: Write code, blocked_by: [1] } }
      - { tool: task_create, input: { subject: Write tests, blocked_by: [2] } }
      - { tool: task_update, input: { task_id: 1, addBlockedBy: [3] } }
      - { tool: task_list }
  - when: .
    say: They stand on the board.
";
    let prompt = "Create 3 tasks: \"Setup project\", \"Write code\", \"Write tests\". Make them depend on each other.";
    let events = run_events(&project, script, prompt);
    let finished = events_of_type(&events, "tool_finished");
    let cycle = finished[3]["output"].as_str().unwrap();
    assert_eq!(finished[3]["outcome"], "error");
    assert!(cycle.contains("#1") && cycle.contains("#3"), "{cycle}");
    let tasks = project.json(&["task", "list"]);
    let blocked: Vec<&Value> = tasks
        .as_array()
        .unwrap()
        .iter()
        .map(|t| &t["blockedBy"])
        .collect();
    assert_eq!(
        blocked,
        [
            &serde_json::json!([]),
            &serde_json::json!([1]),
            &serde_json::json!([2])
        ]
    );
    let ready = project.json(&["task", "list", "--ready"]);
    assert_eq!(ready.as_array().unwrap().len(), 1);
    // The tasks are on disk, so that another session sees the same state.
    project.json(&["task", "done", "1", "--as", "ann"]);
    let ready = project.json(&["task", "list", "--ready"]);
    assert_eq!(ready[0]["subject"], "Write code");
}
