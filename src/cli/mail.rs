//! The command line of `crewdeck mail`.

use clap::Subcommand;

/// The examples below the help page.
pub const EXAMPLES: &str = "Examples:
  crewdeck mail send lead \"The format has changed\"
  crewdeck mail list                           number of messages in each inbox
  crewdeck mail list lead                      show without marking read
  crewdeck mail read user --json               read what agents wrote to you";

/// The subcommands of `crewdeck mail`.
#[derive(Debug, Subcommand)]
pub enum MailVerb {
    /// Send a message
    Send {
        /// Recipient: lead, user, or the name of a teammate
        to: String,
        /// Text of the message
        text: String,
        /// Sender
        #[arg(long, value_name = "NAME", default_value = "user")]
        from: String,
        /// Type of the message
        #[arg(long = "type", value_name = "TYPE", default_value = "message")]
        kind: String,
    },
    /// Print the messages of an inbox and mark them read
    Read {
        /// Owner of the inbox: lead, user, or the name of a teammate
        name: String,
    },
    /// Print the messages of an inbox without marking them read; without NAME, count them per inbox
    List {
        /// Owner of the inbox; default: all inboxes
        name: Option<String>,
    },
}
