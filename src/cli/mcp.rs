//! The command line of `crewdeck mcp`.

use clap::Subcommand;

/// Shown at the end of `crewdeck mcp --help`.
pub const EXAMPLES: &str = "Examples:
  crewdeck mcp add git -- uvx mcp-server-git --repository .
  crewdeck mcp add docs --url https://docs.example/mcp --header \"X-Token=\\${DOCS_TOKEN}\"
  crewdeck mcp list
  crewdeck mcp test git                        start the server, list its tools, end it
  crewdeck mcp approve                         review the servers of this project and approve them
  crewdeck mcp remove git";

#[derive(Debug, Subcommand)]
pub enum McpVerb {
    /// List the MCP servers of this project and your own, and whether they may start
    List {
        /// Start the approved servers and list their tools
        #[arg(long)]
        with_tools: bool,
    },
    /// Start a server, list its tools and end it; exit code 0 if it works, 1 if not
    Test {
        /// Name of the server
        name: String,
    },
    /// Add a server to your own servers, or with --project to .mcp.json of this project
    Add {
        /// Name of the server: letters, digits, - and _
        name: String,
        /// Program that runs as the server, and its arguments
        #[arg(last = true, value_name = "COMMAND", required_unless_present = "url")]
        command: Vec<String>,
        /// Address of a server that is reached by HTTP, instead of a program
        #[arg(long, value_name = "URL", conflicts_with = "command")]
        url: Option<String>,
        /// Header that is sent with each request to the server; ${VAR} in VALUE is replaced by your environment
        /// variable VAR
        #[arg(long = "header", value_name = "NAME=VALUE", conflicts_with = "command", value_parser = parse_pair)]
        headers: Vec<(String, String)>,
        /// Environment variable of the program; ${NAME} in VALUE is a variable of your environment
        #[arg(long = "env", value_name = "NAME=VALUE", conflicts_with = "url", value_parser = parse_pair)]
        env: Vec<(String, String)>,
        /// Add the server to .mcp.json of this project
        #[arg(long)]
        project: bool,
    },
    /// Remove a server
    Remove {
        /// Name of the server
        name: String,
        /// Remove the server from .mcp.json of this project, even if you have your own server of that name
        #[arg(long)]
        project: bool,
    },
    /// Log out of a server that is reached by HTTP: delete the tokens of its login
    Logout {
        /// Name of the server
        name: String,
    },
    /// Approve servers of this project, so that they may start exactly as shown
    Approve {
        /// Names of servers; default: all that need approval
        #[arg(conflicts_with = "all")]
        names: Vec<String>,
        /// Approve all servers that need approval
        #[arg(long)]
        all: bool,
        /// Do not ask for confirmation; use this only after you have read what crewdeck mcp approve shows
        #[arg(long)]
        yes: bool,
    },
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        Some(_) | None => Err("expected NAME=VALUE".into()),
    }
}
