//! Checks the eval tasks themselves: each grader rejects the untouched start and accepts the control solution. Checks the
//! table of the results.

#[path = "../../evals/run.rs"]
mod run;
#[path = "../../evals/table.rs"]
mod table;
#[path = "../../evals/task.rs"]
mod task;

use std::path::Path;
use std::time::Duration;

use run::RunResult;
use table::Graded;
use task::{Workspace, tasks_of_checkout};

/// Time limit of a control run; far more than it needs, so that a busy machine does not fail the test.
const LIMIT: Duration = Duration::from_secs(120);

fn crewdeck() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_crewdeck"))
}

#[test]
fn thirty_tasks_cover_every_kind() {
    let tasks = tasks_of_checkout().unwrap();
    assert_eq!(tasks.len(), 30);
    for kind in "fix rename add delete refactor find run board team".split(' ') {
        assert!(tasks.iter().any(|task| task.kind == kind), "{kind}");
    }
}

/// Returns the cells of a row of a Markdown table.
fn cells(row: &str) -> Vec<&str> {
    let row = row.trim_start_matches('|').trim_end_matches('|');
    row.split('|').map(str::trim).collect()
}

#[test]
fn table_has_the_figures_of_each_run_and_their_sums() {
    let graded = |name: &str, kind: &str, calls, seconds, reason: Option<&str>| Graded {
        name: name.into(),
        kind: kind.into(),
        run: RunResult {
            model_calls: calls,
            failed_tool_calls: 1,
            input_tokens: 1_200,
            output_tokens: 34,
            seconds,
            ..RunResult::default()
        },
        reason: reason.map(Into::into),
    };
    let results = [
        graded("typo", "fix", 3, 2.4, None),
        graded("parser", "fix", 4, 7.2, Some("a | b is wrong")),
        graded("flag", "add", 5, 1.0, None),
    ];
    let mut out = Vec::new();
    table::write_header(&mut out).unwrap();
    for run in &results {
        table::write_row(&mut out, run).unwrap();
    }
    table::write_summary(&mut out, &results).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap().lines().collect::<Vec<_>>(),
        [
            "| task | kind | done | calls | failed tool calls | tokens in | tokens out | seconds | reason |",
            "|---|---|---|---|---|---|---|---|---|",
            "| typo | fix | yes | 3 | 1 | 1200 | 34 | 2 |  |",
            "| parser | fix | no | 4 | 1 | 1200 | 34 | 7 | a / b is wrong |",
            "| flag | add | yes | 5 | 1 | 1200 | 34 | 1 |  |",
            "",
            "| kind | done | calls | failed tool calls | tokens in | tokens out | seconds |",
            "|---|---|---|---|---|---|---|",
            "| fix | 1 of 2 | 7 | 2 | 2400 | 68 | 10 |",
            "| add | 1 of 1 | 5 | 1 | 1200 | 34 | 1 |",
            "| all | 2 of 3 | 12 | 3 | 3600 | 102 | 11 |",
        ]
    );
}

/// The whole path of one task: run, grade and row.
#[test]
fn control_run_of_one_task_has_a_row() {
    let tasks = tasks_of_checkout().unwrap();
    let task = tasks.iter().find(|task| task.kind == "find").unwrap();
    let workspace = Workspace::create(task).unwrap();
    let provider = workspace.control_provider(task).unwrap();
    let options = [format!("--provider={provider}")];
    let run = run::run(crewdeck(), task, &workspace, &options, LIMIT).unwrap();
    let reason = workspace.grade(task, crewdeck(), &run.answer).unwrap();
    let graded = Graded {
        name: task.name.clone(),
        kind: task.kind.clone(),
        run,
        reason,
    };
    let mut out = Vec::new();
    table::write_header(&mut out).unwrap();
    table::write_row(&mut out, &graded).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(cells).collect();
    let figure = |name: &str| {
        let at = lines[0].iter().position(|cell| *cell == name);
        lines[2][at.expect(name)]
    };
    assert_eq!(lines[2].len(), lines[0].len(), "{text}");
    assert_eq!((figure("task"), figure("done")), (&*task.name, "yes"));
    for name in ["calls", "tokens in", "tokens out"] {
        assert!(figure(name).parse::<u64>().unwrap() > 0, "{name}: {text}");
    }
    assert!(figure("seconds").parse::<u64>().is_ok(), "{text}");
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn graders_reject_the_untouched_start() {
    for task in tasks_of_checkout().unwrap() {
        let workspace = Workspace::create(&task).unwrap();
        let reason = workspace.grade(&task, crewdeck(), "").unwrap();
        assert!(reason.is_some(), "{} passes without a solution", task.name);
    }
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn graders_accept_the_control_solution() {
    for task in tasks_of_checkout().unwrap() {
        let workspace = Workspace::create(&task).unwrap();
        let provider = workspace.control_provider(&task).unwrap();
        let options = [format!("--provider={provider}")];
        let ran = run::run(crewdeck(), &task, &workspace, &options, LIMIT).unwrap();
        assert_eq!(ran.failure, None, "{}: {ran:?}", task.name);
        let reason = workspace.grade(&task, crewdeck(), &ran.answer).unwrap();
        assert_eq!(reason, None, "{}: {ran:?}", task.name);
        assert!(ran.model_calls > 0 && ran.seconds > 0.0, "{}", task.name);
    }
}
