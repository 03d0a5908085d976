//! The Markdown table of the results.

use std::io::Write;

use anyhow::Result;

use super::run::RunResult;

/// A finished run and its grade.
pub struct Graded {
    pub name: String,
    pub kind: String,
    pub run: RunResult,
    /// Why the task is not solved: the failure of the run if there was one, else the reason of the grader. `None` if the
    /// task is solved.
    pub reason: Option<String>,
}

/// Writes the header of the table that has a row for each run.
///
/// # Errors
/// Fails if `out` cannot be written.
pub fn write_header(out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "| task | kind | done | calls | failed tool calls | tokens in | tokens out | seconds | reason |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|")?;
    Ok(())
}

/// Writes the row of one run.
///
/// # Errors
/// Fails if `out` cannot be written.
pub fn write_row(out: &mut impl Write, graded: &Graded) -> Result<()> {
    let Graded {
        name,
        kind,
        run,
        reason,
    } = graded;
    let done = if reason.is_none() { "yes" } else { "no" };
    let reason = reason.as_deref().unwrap_or_default().replace('|', "/");
    writeln!(
        out,
        "| {name} | {kind} | {done} | {} | {} | {} | {} | {:.0} | {reason} |",
        run.model_calls, run.failed_tool_calls, run.input_tokens, run.output_tokens, run.seconds,
    )?;
    Ok(())
}

/// Writes a second table with a row for each kind and one for the total. `results` must be grouped by kind.
///
/// # Errors
/// Fails if `out` cannot be written.
pub fn write_summary(out: &mut impl Write, results: &[Graded]) -> Result<()> {
    let mut kinds: Vec<&str> = results.iter().map(|graded| graded.kind.as_str()).collect();
    kinds.dedup();
    writeln!(
        out,
        "\n| kind | done | calls | failed tool calls | tokens in | tokens out | seconds |\n|---|---|---|---|---|---|---|"
    )?;
    let rows = kinds.into_iter().map(Some).chain([None]);
    for kind in rows {
        let of_kind: Vec<_> = results
            .iter()
            .filter(|graded| kind.is_none_or(|kind| graded.kind == kind))
            .collect();
        let sum = |figure: fn(&RunResult) -> u64| {
            of_kind
                .iter()
                .map(|graded| figure(&graded.run))
                .sum::<u64>()
        };
        let done = of_kind
            .iter()
            .filter(|graded| graded.reason.is_none())
            .count();
        let seconds: f64 = of_kind.iter().map(|graded| graded.run.seconds).sum();
        writeln!(
            out,
            "| {} | {done} of {} | {} | {} | {} | {} | {seconds:.0} |",
            kind.unwrap_or("all"),
            of_kind.len(),
            sum(|run| run.model_calls),
            sum(|run| run.failed_tool_calls),
            sum(|run| run.input_tokens),
            sum(|run| run.output_tokens),
        )?;
    }
    Ok(())
}
