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
    /// Words of crewdeck that say all that was asked: it is not shown a second time.
    Repeats,
    /// What a program, a file or another agent says: it is shown as it is.
    Foreign,
    /// What the user answered: it is shown below the call, also while the call is folded.
    User,
}

/// The place of a call among others of the same tool, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// They fold into one line.
    Together,
    /// Each has its own line: what an agent runs, changes and sends out is looked at one by one.
    Apart,
}

/// The tools of which something is to be said. `tests/it/tools.rs` holds that there are such tools.
pub const FORMS: &[(&str, Answer, Place)] = &[
    ("bash", Answer::Foreign, Place::Apart),
    ("background_run", Answer::Foreign, Place::Apart),
    ("write_file", Answer::Foreign, Place::Apart),
    ("edit_file", Answer::Foreign, Place::Apart),
    ("task", Answer::Foreign, Place::Apart),
    ("ask_user", Answer::User, Place::Apart),
    ("read_file", Answer::Foreign, Place::Together),
    ("glob", Answer::Foreign, Place::Together),
    ("grep", Answer::Foreign, Place::Together),
    ("check_background", Answer::Foreign, Place::Together),
    ("load_skill", Answer::Foreign, Place::Together),
    ("todo", Answer::Repeats, Place::Together),
];

/// How the calls of the tool of that name are shown.
pub fn form(tool: &str) -> Form {
    let listed = FORMS.iter().find(|(name, ..)| *name == tool);
    let (answer, row) = listed.map_or((Answer::Own, Place::Together), |(_, answer, row)| {
        (*answer, *row)
    });
    Form { answer, row }
}
