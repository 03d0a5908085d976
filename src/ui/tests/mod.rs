//! Tests of the whole UI: keystrokes, snapshots and robustness.

pub mod background_work;
mod beside_popups;
mod bottom_rows;
mod click_targets;
mod conventions;
mod costs_and_printing;
mod custom_keys;
mod filters;
mod focus;
mod golden;
mod kept_selection;
mod keystrokes;
mod layouts;
mod mouse;
mod notices;
mod pty;
mod quitting;
mod refused;
mod replay;
mod robust;
pub mod scenes;
mod scrollbars;
mod sorting;
mod unknown;
mod viewer;
mod whole_screen;
