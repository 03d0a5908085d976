//! The command line of `crewdeck mail`.

use clap::Subcommand;

/// Shown at the end of `crewdeck mail --help`.
pub const EXAMPLES: &str = "Examples:
  crewdeck mail send lead \"The format has changed\"
  crewdeck mail list                           number of messages in each inbox
  crewdeck mail list lead                      print the messages and leave them unread
  crewdeck mail read user --json               read what agents wrote to you";

#[derive(Debug, Subcommand)]
pub enum MailVerb {
    /// Send a message to an agent or the user
    Send {
        /// Recipient: lead, user, or the name of a teammate
        to: String,
        /// Text of the message, as one argument: put it in quotes
        text: String,
        /// Sender: lead, user, or the name of a teammate
        #[arg(long, alias = "as", value_name = "NAME", default_value = "user")]
        from: String,
        /// Type of the message; an unknown type is rejected with the list of all types
        #[arg(long = "type", value_name = "TYPE", default_value = "message")]
        kind: String,
    },
    /// Print the messages of an inbox and mark them read
    Read {
        /// Owner of the inbox: lead, user, or the name of a teammate
        name: String,
    },
    /// Print the messages of an inbox without marking them read; without NAME, print the number of messages per inbox
    List {
        /// Owner of the inbox; default: all inboxes
        name: Option<String>,
    },
}
