//! What a person sees where something is missing: room on the disk, rights, git, open files, plain files.
//! Each case with real processes: what can go on goes on, and one line says what happened and what to do.

mod clock;
mod denied;
mod descriptors;
mod disk;
mod files;
mod repositories;
mod surroundings;
