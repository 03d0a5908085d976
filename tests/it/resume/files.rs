//! Files that an agent has read before a restart and that were changed since.

use pretty_assertions::assert_eq;

use super::KilledCrew;
use crate::common::project::Project;

/// A lead that reads `notes.md` in the first run.
const READS: &str = r"
rules:
  - when: Read it
    calls: [{ tool: read_file, input: { path: notes.md } }]
  - times: 0
    say: I have read it.
";

/// A lead that overwrites `notes.md`, and reads it first if it must.
const OVERWRITES: &str = r#"
rules:
  - when: Overwrite it
    calls: [{ tool: write_file, input: { path: notes.md, content: "mine\n" } }]
  - when: Read it again with read_file
    calls: [{ tool: read_file, input: { path: notes.md } }]
  - when: line of the user
    calls: [{ tool: write_file, input: { path: notes.md, content: "line of the user\nmine\n" } }]
  - times: 0
    say: I have written it.
"#;

#[test]
fn file_changed_before_a_resume_is_not_overwritten() {
    let crew = KilledCrew::new(Project::new());
    crew.project.write("notes.md", "one\n");
    crew.resume(READS, &["Read it"]);
    crew.project.write("notes.md", "one\nline of the user\n");
    let ran = crew.resume(OVERWRITES, &["Overwrite it"]);
    assert!(
        ran.err()
            .contains("notes.md changed since you last read it"),
        "{}",
        ran.err()
    );
    let notes = std::fs::read_to_string(crew.project.file("notes.md")).unwrap();
    assert_eq!(notes, "line of the user\nmine\n");
}

#[test]
fn unchanged_file_needs_no_second_read_after_a_resume() {
    let crew = KilledCrew::new(Project::new());
    crew.project.write("notes.md", "one\n");
    crew.resume(READS, &["Read it"]);
    let ran = crew.resume(OVERWRITES, &["Overwrite it"]);
    assert!(!ran.err().contains("changed since"), "{}", ran.err());
    let notes = std::fs::read_to_string(crew.project.file("notes.md")).unwrap();
    assert_eq!(notes, "mine\n");
}
