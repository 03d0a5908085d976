//! Measures how well a model works with crewdeck's tools: runs the tasks in `evals/tasks/` and prints a table.
//! `evals/README.md` has the commands.

mod run;
mod table;
mod task;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;

use table::Graded;
use task::{EvalTask, Workspace};

/// Run the eval tasks with a model and print the results as a Markdown table
#[derive(Parser)]
struct Options {
    /// Run only tasks of this kind or name; can be given more than once
    #[arg(long, value_name = "KIND|NAME")]
    only: Vec<String>,
    /// Run each task this many times
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Time limit of a run, in seconds
    #[arg(long, default_value_t = 300)]
    limit: u64,
    /// The crewdeck binary to test; by default the one built with this program
    #[arg(long, value_name = "FILE")]
    crewdeck: Option<PathBuf>,
    /// Run the control rules of each task with the scripted model instead of a real one
    #[arg(long)]
    control: bool,
    /// Print the names and kinds of the tasks and exit
    #[arg(long)]
    list: bool,
    /// Options of `crewdeck run`, such as --provider, --base-url and --model
    #[arg(last = true)]
    passed_on: Vec<String>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let mut tasks = task::tasks_of_checkout()?;
    for wanted in &options.only {
        if !tasks.iter().any(|t| t.name == *wanted || t.kind == *wanted) {
            bail!("no task has the name or kind {wanted}: --list prints them");
        }
    }
    if !options.only.is_empty() {
        tasks.retain(|t| options.only.contains(&t.name) || options.only.contains(&t.kind));
    }
    let mut out = std::io::stdout().lock();
    if options.list {
        for task in &tasks {
            writeln!(out, "{:<10} {}", task.kind, task.name)?;
        }
        return Ok(());
    }
    let crewdeck = match &options.crewdeck {
        Some(path) => path
            .canonicalize()
            .with_context(|| path.display().to_string())?,
        None => built_crewdeck()?,
    };
    table::write_header(&mut out)?;
    let mut results = Vec::new();
    for task in &tasks {
        for _ in 0..options.repeat {
            let graded = run_and_grade(&options, &crewdeck, task)?;
            table::write_row(&mut out, &graded)?;
            out.flush()?;
            results.push(graded);
        }
    }
    table::write_summary(&mut out, &results)?;
    Ok(())
}

/// Returns the crewdeck binary of this build. Cargo puts examples one directory below it.
fn built_crewdeck() -> Result<PathBuf> {
    let this = std::env::current_exe()?;
    let profile = this
        .ancestors()
        .nth(2)
        .context("this program has no directory")?;
    let crewdeck = profile.join("crewdeck");
    if !crewdeck.exists() {
        bail!(
            "{} does not exist: run `cargo build --release`, or pass --crewdeck",
            crewdeck.display()
        );
    }
    Ok(crewdeck)
}

fn run_and_grade(options: &Options, crewdeck: &std::path::Path, task: &EvalTask) -> Result<Graded> {
    let workspace = Workspace::create(task)?;
    let mut passed_on = options.passed_on.clone();
    if options.control {
        passed_on.push(format!("--provider={}", workspace.control_provider(task)?));
    }
    let limit = Duration::from_secs(options.limit);
    let run = run::run(crewdeck, task, &workspace, &passed_on, limit)?;
    let graded = workspace.grade(task, crewdeck, &run.answer)?;
    Ok(Graded {
        name: task.name.clone(),
        kind: task.kind.clone(),
        // A run that failed or hit the time limit may still have solved the task. The table shows both.
        reason: graded.map(|reason| run.failure.clone().unwrap_or(reason)),
        run,
    })
}
