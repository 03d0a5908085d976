//! How the calls of each tool are displayed. Unlisted tools get the default: their JSON output is rendered as fields.

/// How the calls of a tool are displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    pub answer: Answer,
    /// Whether consecutive calls are grouped.
    pub row: Place,
}

/// Kind of output of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Text by crewdeck. JSON is rendered as fields.
    Own,
    /// Text by crewdeck that repeats the input: the input is hidden.
    Repeats,
    /// Text of a program, a file or another agent. Shown unchanged.
    Foreign,
    /// The user's answer. Shown below the call even while the call is folded.
    User,
}

/// Whether consecutive calls of the same tool are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// They fold into one line.
    Together,
    /// Each has its own line: what an agent runs, changes or delegates is worth a look.
    Apart,
}

/// Display rules by tool name. `tests/tools.rs` checks that the tools exist.
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

/// Returns how calls of a tool are displayed.
pub fn form(tool: &str) -> Form {
    let listed = FORMS.iter().find(|(name, ..)| *name == tool);
    let (answer, row) = listed.map_or((Answer::Own, Place::Together), |(_, answer, row)| {
        (*answer, *row)
    });
    Form { answer, row }
}
