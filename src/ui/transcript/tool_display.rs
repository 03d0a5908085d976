//! How the calls of each tool are displayed. For tools that are not in [`TOOL_DISPLAYS`], JSON in the output is
//! rendered as fields.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolDisplay {
    pub output: OutputKind,
    pub grouping: Grouping,
}

/// Who has written the output of a tool. This decides how the output is displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// crewdeck has written the output. JSON in it is rendered as fields.
    Crewdeck,
    /// crewdeck has written the output, and it repeats the input. The input is hidden once the call has succeeded.
    RepeatsInput,
    /// A program, a file or another agent is the source of the output. It is shown unchanged.
    External,
    /// The output is the user's answer to a question. It is shown below the call even while the call is folded.
    User,
}

/// Whether consecutive calls of the same tool are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// Consecutive calls form a group, which can be folded into one line.
    Grouped,
    /// Each call has a line, because users want to see what an agent runs, changes or delegates.
    Separate,
}

/// The name under which commands of the user are displayed.
pub const USER_COMMAND: &str = "!";

/// The tools whose display differs from the default, which is `OutputKind::Crewdeck` and `Grouping::Grouped`.
/// `tests/it/tools.rs` checks that these tools exist.
pub const TOOL_DISPLAYS: &[(&str, OutputKind, Grouping)] = &[
    ("bash", OutputKind::External, Grouping::Separate),
    ("background_run", OutputKind::External, Grouping::Separate),
    ("write_file", OutputKind::External, Grouping::Separate),
    ("edit_file", OutputKind::External, Grouping::Separate),
    ("task", OutputKind::External, Grouping::Separate),
    ("ask_user", OutputKind::User, Grouping::Separate),
    ("read_file", OutputKind::External, Grouping::Grouped),
    ("glob", OutputKind::External, Grouping::Grouped),
    ("grep", OutputKind::External, Grouping::Grouped),
    ("check_background", OutputKind::External, Grouping::Grouped),
    ("load_skill", OutputKind::External, Grouping::Grouped),
    ("todo", OutputKind::RepeatsInput, Grouping::Grouped),
];

pub fn tool_display(tool: &str) -> ToolDisplay {
    if tool == USER_COMMAND {
        return ToolDisplay {
            output: OutputKind::External,
            grouping: Grouping::Separate,
        };
    }
    let listed = TOOL_DISPLAYS.iter().find(|(name, ..)| *name == tool);
    let default = (OutputKind::Crewdeck, Grouping::Grouped);
    let (output, grouping) = listed.map_or(default, |(_, output, grouping)| (*output, *grouping));
    ToolDisplay { output, grouping }
}
