//! One start of the dashboard after the other: the first page leaves for a new one, or for the demo.

use anyhow::{Context, Result};

use super::first::Kept;
use super::{Dashboard, Left};
use crate::app::assemble::Blueprint;
use crate::app::signals::Signals;
use crate::app::{blocked_on, in_words};
use crate::cli::Global;

/// Opens the dashboard and stays until the person leaves it. The exit code comes back.
///
/// # Errors
/// Why it could not start; the terminal is as it was by then.
pub fn main(global: &Global) -> Result<u8> {
    let mut blueprint = Blueprint::read(global)?;
    let mut kept = Kept::default();
    loop {
        let before = std::mem::take(&mut kept);
        let left =
            blocked_on(async { Dashboard::open(&blueprint, before)?.stay(&blueprint).await })?;
        let (from, wish) = match left {
            Left::Quit => return Ok(0),
            Left::Again(from) => (from, Wish::Same),
            Left::ForDemo(from) => (from, Wish::Demo),
        };
        kept = *from;
        let wanted = match wish {
            Wish::Same => global.clone(),
            Wish::Demo => Global {
                demo: true,
                dir: None,
                provider: None,
                resume: None,
                ..global.clone()
            },
        };
        match (blocked_on(read(wanted, kept.signals.as_mut()))?, wish) {
            (None, Wish::Same | Wish::Demo) => return Ok(0),
            (Some(Ok(read)), Wish::Same | Wish::Demo) => blueprint = read,
            (Some(Err(error)), Wish::Same) => kept.said = Some(in_words(&error)),
            (Some(Err(error)), Wish::Demo) => return Err(error),
        }
    }
}

/// What the next start is for.
#[derive(Clone, Copy)]
enum Wish {
    Same,
    Demo,
}

/// Reads what the next start needs, which may wait for git. `None`: a signal came meanwhile, and there is to be none.
async fn read(global: Global, signals: Option<&mut Signals>) -> Result<Option<Result<Blueprint>>> {
    let reading = tokio::task::spawn_blocking(move || Blueprint::read(&global));
    let ended = async {
        match signals {
            Some(signals) => signals.any().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        _ = ended => Ok(None),
        read = reading => Ok(Some(read.context("the settings were not read")?)),
    }
}
