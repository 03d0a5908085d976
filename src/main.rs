//! The program: reads the command line, picks a mode, and turns errors into exit codes.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use crewdeck::app;
use crewdeck::cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match app::main(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // One line that says why and what to do; a reader that is gone needs none.
            let text = crewdeck::domain::text::one_line(&app::in_words(&error));
            let _ = writeln!(std::io::stderr().lock(), "crewdeck: {text}");
            ExitCode::from(1)
        }
    }
}
