//! The options of `crewdeck worker`.

use clap::Args;

use crate::domain::host::{HostName, SLOTS_MAX};
use crate::domain::ids::NameError;

pub(super) const EXAMPLES: &str = "Examples:
  crewdeck worker --hub nats://hub:4222/web                run 2 teammates for the crew `web`
  crewdeck worker --hub tls://hub:4222/web --slots 8 --tags gpu,rust
  crewdeck worker --hub nats://hub:4222/web --name attic   if two workers run on one machine";

#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// Maximum number of teammates that work at the same time (1 to 256)
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=i64::from(SLOTS_MAX)))]
    pub slots: u16,
    /// Tags that let the teammates claim tasks that require them, such as gpu,rust
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_tag)]
    pub tags: Vec<String>,
    /// Name of this host in the crew; default: the name of the machine
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub name: Option<HostName>,
}

/// Parses a tag of a list. Like a tag of a task, it may contain a space, because labels of issues become tags.
fn parse_tag(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a tag is empty: separate tags by one comma, such as gpu,rust".into()),
        tag => Ok(tag.into()),
    }
}

fn parse_name(text: &str) -> Result<HostName, String> {
    HostName::parse(text).map_err(|why| match why {
        NameError::Reserved(name) => format!("the name {name:?} is reserved: choose another"),
        NameError::Form(_) => why.to_string(),
    })
}
