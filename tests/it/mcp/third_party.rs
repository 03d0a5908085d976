//! Servers of other projects. Placeholder.
