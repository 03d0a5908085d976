//! The program: reads the command line, picks a mode, and turns errors into exit codes.

use std::io::Write;
use std::process::ExitCode;

use crewdeck::app;
use crewdeck::cli::Cli;
use crewdeck::domain::redact::Redactor;

fn main() -> ExitCode {
    // Each program of an agent waits for this one: nothing else may come before.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|verb| verb == app::guard::VERB)
    {
        return ExitCode::from(app::guard::main());
    }
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(help) => return told(&help),
    };
    match app::main(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // One line that says why and what to do; a reader that is gone needs none.
            let text = Redactor::default()
                .text(&app::in_words(&error))
                .into_owned();
            let text = crewdeck::domain::text::one_line(&text);
            let _ = writeln!(std::io::stderr().lock(), "crewdeck: {text}");
            ExitCode::from(1)
        }
    }
}

/// Prints what the command line says about itself, or what is wrong with it, which repeats words that were given. An error
/// begins like every other one of crewdeck.
fn told(help: &clap::Error) -> ExitCode {
    let text = crewdeck::domain::text::harmless(&help.render().to_string());
    let text = match text.strip_prefix("error: ") {
        Some(error) => format!("crewdeck: {error}"),
        None => text,
    };
    // A reader that is gone needs none.
    let _ = if help.use_stderr() {
        write!(std::io::stderr().lock(), "{text}")
    } else {
        write!(std::io::stdout().lock(), "{text}")
    };
    ExitCode::from(u8::try_from(help.exit_code()).unwrap_or(2))
}
