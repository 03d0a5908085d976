//! `crewdeck acp`, driven by an editor that is simulated: lines of JSON on its standard input and output.

mod conversation;
mod decisions;
mod editor;
mod robustness;
