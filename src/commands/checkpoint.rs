//! The `crewdeck checkpoint` subcommands: list checkpoints, show what a restore would change, and restore files and
//! conversations.

mod format;
mod restore;

use anyhow::Result;
use serde::Serialize;

use super::{CommandContext, CommandOutcome, parse_name};
use crate::cli::CheckpointVerb;
use crate::domain::checkpoint::{Checkpoint, CheckpointId, RewindPreview};
use crate::store::Checkpoints;

pub fn run(verb: &CheckpointVerb, context: &CommandContext<'_>) -> Result<CommandOutcome> {
    let checkpoints = Checkpoints::open(context.root);
    if let Some(finished) = checkpoints.finish_interrupted()? {
        CommandContext::warn(&[format!("{finished}.")]);
    }
    match verb {
        CheckpointVerb::List { agent } => list(&checkpoints, agent.as_deref(), context),
        CheckpointVerb::Diff { id } => diff(&checkpoints, *id, context),
        CheckpointVerb::Restore(args) => restore::run(args, &checkpoints, context),
    }
}

fn list(
    checkpoints: &Checkpoints,
    agent: Option<&str>,
    context: &CommandContext<'_>,
) -> Result<CommandOutcome> {
    let agent = agent.map(parse_name).transpose()?;
    let all = checkpoints.list()?;
    let is_listed = |checkpoint: &&Checkpoint| {
        agent
            .as_ref()
            .is_none_or(|a| checkpoint.content.agent.same(a))
    };
    let listed: Vec<&Checkpoint> = all.iter().filter(is_listed).collect();
    context.print(&listed, || match &agent {
        Some(agent) if listed.is_empty() => format::none_of(agent, &all),
        _ => format::list(&listed, context.now, checkpoints.disk_use()),
    })?;
    Ok(CommandOutcome::Done)
}

/// The JSON output of `crewdeck checkpoint diff`.
#[derive(Serialize)]
struct CheckpointDiff<'a> {
    checkpoint: &'a Checkpoint,
    #[serde(flatten)]
    preview: &'a RewindPreview,
}

fn diff(
    checkpoints: &Checkpoints,
    id: CheckpointId,
    context: &CommandContext<'_>,
) -> Result<CommandOutcome> {
    let checkpoint = checkpoints.find(id)?;
    let preview = checkpoints.preview(id)?;
    let value = CheckpointDiff {
        checkpoint: &checkpoint,
        preview: &preview,
    };
    context.print(&value, || format::preview(&checkpoint, &preview))?;
    Ok(CommandOutcome::Done)
}
