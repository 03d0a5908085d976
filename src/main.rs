//! The binary: parses the command line, runs the chosen mode, and maps errors to exit codes.

use std::io::Write;
use std::process::ExitCode;

use crewdeck::app;
use crewdeck::cli::Cli;
use crewdeck::domain::redact::Redactor;

fn main() -> ExitCode {
    // crewdeck starts itself as the supervisor of each command that an agent runs. A supervisor has its own arguments,
    // so this check comes before the command line is parsed.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|verb| verb == app::supervisor::VERB)
    {
        return ExitCode::from(app::supervisor::main());
    }
    // An agent starts this verb and waits for it, so it does without the cost of parsing. With more arguments, such as
    // --help, the command line is parsed.
    if std::env::args_os().len() == 2
        && std::env::args_os()
            .nth(1)
            .is_some_and(|verb| verb == app::mcp_serve::VERB)
    {
        return ExitCode::from(app::mcp_serve::main());
    }
    let cli = match Cli::parse_args(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return print_usage_error(&error),
    };
    match app::main(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Prints one line with the cause and the fix. If standard error is closed, the failed write is ignored.
            let text = Redactor::default()
                .text(&app::describe_error(&error))
                .into_owned();
            let text = crewdeck::domain::text::one_line(&text);
            let _ = writeln!(std::io::stderr().lock(), "crewdeck: {text}");
            ExitCode::from(1)
        }
    }
}

/// Prints clap's help text, version or usage error. Returns clap's exit code: 0 for help and version, 2 for a usage
/// error. The text may quote arguments, so control characters are escaped. Usage errors start with `crewdeck: `, like
/// all other errors.
fn print_usage_error(error: &clap::Error) -> ExitCode {
    let text = crewdeck::domain::text::escape_control_chars(&error.render().to_string());
    let text = match text.strip_prefix("error: ") {
        Some(message) => format!("crewdeck: {message}"),
        None => text,
    };
    // If the output stream is closed, the failed write is ignored.
    let _ = if error.use_stderr() {
        write!(std::io::stderr().lock(), "{text}")
    } else {
        write!(std::io::stdout().lock(), "{text}")
    };
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
