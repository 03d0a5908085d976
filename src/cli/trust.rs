//! The options of `crewdeck trust`.

use clap::Args;

/// Shown at the end of `crewdeck trust --help`.
pub const EXAMPLES: &str = "Examples:
  crewdeck trust             show what needs approval, and ask
  crewdeck trust --ignore    ignore what needs approval
  crewdeck trust --forget    forget your decision, so that crewdeck asks again";

#[derive(Debug, Clone, Copy, Args)]
pub struct Trust {
    /// Do not approve what is shown, and ignore it from now on
    #[arg(long)]
    pub ignore: bool,
    /// Forget the earlier decision, so that crewdeck asks again
    #[arg(long, conflicts_with = "ignore")]
    pub forget: bool,
    /// Do not ask for confirmation; use this only after you have read what crewdeck trust shows
    #[arg(long)]
    pub yes: bool,
}
