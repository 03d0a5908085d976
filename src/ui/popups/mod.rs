//! The popups, one folder or file for each.

pub(in crate::ui) mod buttons;
pub(in crate::ui) mod comment;
pub(in crate::ui) mod confirm;
pub(in crate::ui) mod costs;
pub(in crate::ui) mod event_log;
pub(in crate::ui) mod feature;
pub(in crate::ui) mod help;
pub(in crate::ui) mod jobs;
pub(in crate::ui) mod peek;
pub(in crate::ui) mod picker;
pub(in crate::ui) mod problems;
pub(in crate::ui) mod reader;
pub(in crate::ui) mod skills;
pub(in crate::ui) mod task_form;
pub(in crate::ui) mod task_page;
pub(in crate::ui) mod text_areas;
pub(in crate::ui) mod themes;
pub(in crate::ui) mod thread;
