//! The sentences of the log, and the log itself.
