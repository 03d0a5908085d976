//! Missing resources: disk space, permissions, git, file descriptors, regular files. Each case uses real processes:
//! work that is still possible continues, and one line says what happened and what to do.

mod clock;
mod descriptors;
mod disk;
mod environment;
mod files;
mod permissions;
mod repositories;
