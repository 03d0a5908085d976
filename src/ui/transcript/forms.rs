//! How the calls of each tool are shown. A tool that is not named here answers in crewdeck's own words.

/// How the calls of a tool are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// What it gives back.
    pub answer: Answer,
    /// Its place among its like.
    pub row: Place,
}

/// What a tool gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Words of crewdeck: JSON among them is told field by field.
    Own,
    /// What a program, a file or another agent says: it is shown as it is.
    Foreign,
}

/// The place of a call among others of the same tool, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// They fold into one line.
    Together,
    /// Each has its own line: what an agent runs, changes and sends out is looked at one by one.
    Apart,
}

/// The tools whose answers come from outside, each with its place. `tests/tools.rs` holds that there are such tools.
pub const FORMS: &[(&str, Place)] = &[
    ("bash", Place::Apart),
    ("background_run", Place::Apart),
    ("write_file", Place::Apart),
    ("edit_file", Place::Apart),
    ("task", Place::Apart),
    ("read_file", Place::Together),
    ("glob", Place::Together),
    ("grep", Place::Together),
    ("check_background", Place::Together),
    ("load_skill", Place::Together),
];

/// How the calls of the tool of that name are shown.
pub fn form(tool: &str) -> Form {
    let listed = FORMS.iter().find(|(name, _)| *name == tool);
    let (answer, row) = listed.map_or((Answer::Own, Place::Together), |(_, row)| {
        (Answer::Foreign, *row)
    });
    Form { answer, row }
}
