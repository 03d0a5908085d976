//! How the calls of each tool are displayed. Unlisted tools get the default: their JSON output is rendered as fields.

/// How the calls of a tool are displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolDisplay {
    /// What kind of output the tool returns.
    pub output: OutputKind,
    /// Whether consecutive calls are grouped.
    pub grouping: Grouping,
}

/// Kind of output of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// Text by crewdeck. JSON is rendered as fields.
    Crewdeck,
    /// Text by crewdeck that repeats the input: the input is hidden.
    RepeatsInput,
    /// Text of a program, a file or another agent. Shown unchanged.
    External,
    /// The user's answer. Shown below the call even while the call is folded.
    User,
}

/// Whether consecutive calls of the same tool are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// They fold into one line.
    Grouped,
    /// Each has its own line: what an agent runs, changes or delegates is worth a look.
    Separate,
}

/// Display rules by tool name. `tests/it/tools.rs` checks that the tools exist.
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

/// Returns how calls of a tool are displayed.
pub fn tool_display(tool: &str) -> ToolDisplay {
    let listed = TOOL_DISPLAYS.iter().find(|(name, ..)| *name == tool);
    let default = (OutputKind::Crewdeck, Grouping::Grouped);
    let (output, grouping) = listed.map_or(default, |(_, output, grouping)| (*output, *grouping));
    ToolDisplay { output, grouping }
}
