//! Proposes checks for a project without any, from the build files in its root.

/// A check that crewdeck proposes. It never runs by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProposedCheck {
    pub name: &'static str,
    pub run: &'static str,
}

/// Returns the checks that fit a project whose root contains the files `names`. `read` returns the content of such a
/// file; `None` if it cannot be read.
pub fn propose(names: &[String], read: impl Fn(&str) -> Option<String>) -> Vec<ProposedCheck> {
    let has = |name: &str| names.iter().any(|found| found == name);
    let mut out = Vec::new();
    let mut add = |name, run| out.push(ProposedCheck { name, run });
    if has("Cargo.toml") {
        add("cargo-test", "cargo test");
        add("cargo-clippy", "cargo clippy --all-targets -- -D warnings");
    }
    if has("package.json") {
        let text = read("package.json").unwrap_or_default();
        let package: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let has_script = |name: &str| package["scripts"][name].is_string();
        let (test, lint) = package_commands(&has);
        if has_script("test") {
            add("npm-test", test);
        }
        if has_script("lint") {
            add("npm-lint", lint);
        }
    }
    // A check runs in a new checkout, in which no environment is active.
    if has("requirements.txt") {
        add(
            "pytest",
            "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt pytest && .venv/bin/python -m pytest -q",
        );
    } else if has("pyproject.toml") {
        add(
            "pytest",
            "python3 -m venv .venv && .venv/bin/pip install -q . pytest && .venv/bin/python -m pytest -q",
        );
    }
    if has("go.mod") {
        add("go-test", "go test ./...");
        add("go-vet", "go vet ./...");
    }
    if has("Makefile") {
        let text = read("Makefile").unwrap_or_default();
        let has_target = |target: &str| {
            let mut lines = text.lines();
            lines.any(|line| {
                line.strip_prefix(target)
                    .is_some_and(|rest| rest.trim_start().starts_with(':'))
            })
        };
        for (target, name, run) in [
            ("check", "make-check", "make check"),
            ("test", "make-test", "make test"),
        ] {
            if has_target(target) {
                add(name, run);
            }
        }
    }
    out
}

/// Returns the commands that run the scripts `test` and `lint` of a package, with the package manager that has written
/// its lock file. They install the packages first, because a check runs in a new checkout.
fn package_commands(has: &impl Fn(&str) -> bool) -> (&'static str, &'static str) {
    if has("pnpm-lock.yaml") {
        return (
            "pnpm install --frozen-lockfile && pnpm test",
            "pnpm install --frozen-lockfile && pnpm run lint",
        );
    }
    if has("yarn.lock") {
        return ("yarn install && yarn test", "yarn install && yarn lint");
    }
    // `npm ci` fails without a lock file.
    if has("package-lock.json") || has("npm-shrinkwrap.json") {
        return ("npm ci && npm test", "npm ci && npm run lint");
    }
    ("npm install && npm test", "npm install && npm run lint")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[(&str, &str)]) -> Vec<&'static str> {
        let names: Vec<String> = files.iter().map(|(name, _)| (*name).to_string()).collect();
        let read = |wanted: &str| {
            let found = files.iter().find(|(name, _)| *name == wanted)?;
            Some(found.1.to_string())
        };
        propose(&names, read).iter().map(|c| c.name).collect()
    }

    #[test]
    fn proposals_follow_the_build_files() {
        for (files, expected) in [
            (&[("README.md", "")][..], &[][..]),
            (
                &[("Cargo.toml", "")][..],
                &["cargo-test", "cargo-clippy"][..],
            ),
            (
                &[("package.json", r#"{"scripts":{"test":"jest"}}"#)][..],
                &["npm-test"][..],
            ),
            (&[("package.json", "not json")][..], &[][..]),
            (&[("pyproject.toml", "")][..], &["pytest"][..]),
            (&[("go.mod", "")][..], &["go-test", "go-vet"][..]),
            (
                &[("Makefile", "all: x\ntest : all\n\tcheck:\n")][..],
                &["make-test"][..],
            ),
        ] {
            assert_eq!(names(files), expected, "{files:?}");
        }
    }

    #[test]
    fn commands_install_what_a_new_checkout_lacks() {
        let run = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_string()).collect();
            let read = |_: &str| Some(r#"{"scripts":{"test":"jest"}}"#.to_string());
            propose(&names, read)[0].run
        };
        for (lock, command) in [
            (None, "npm install && npm test"),
            (Some("package-lock.json"), "npm ci && npm test"),
            (Some("npm-shrinkwrap.json"), "npm ci && npm test"),
            (Some("yarn.lock"), "yarn install && yarn test"),
            (
                Some("pnpm-lock.yaml"),
                "pnpm install --frozen-lockfile && pnpm test",
            ),
        ] {
            let names: Vec<&str> = ["package.json"].into_iter().chain(lock).collect();
            assert_eq!(run(&names), command);
        }
        assert!(run(&["pyproject.toml"]).contains("pip install -q . pytest"));
        let both = run(&["pyproject.toml", "requirements.txt"]);
        assert!(both.contains("-r requirements.txt"), "{both}");
    }
}
