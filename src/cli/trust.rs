//! The options of `crewdeck trust`.

use clap::Args;

/// Shown at the end of `crewdeck trust --help`.
pub const EXAMPLES: &str = "Examples:
  crewdeck trust             show the settings and ask
  crewdeck trust --ignore    ignore the settings from now on
  crewdeck trust --forget    ask again next time";

#[derive(Debug, Clone, Copy, Args)]
pub struct Trust {
    /// Ignore these settings from now on instead of approving them
    #[arg(long)]
    pub ignore: bool,
    /// Forget the earlier decision about these settings
    #[arg(long, conflicts_with = "ignore")]
    pub forget: bool,
    /// Do not ask for confirmation; use this only after you have read the settings
    #[arg(long)]
    pub yes: bool,
}
