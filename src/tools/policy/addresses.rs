//! Decides whether a program that connects to other machines connects only to this one. Does no I/O.

use super::words::Word;

/// Options of curl whose value is the next argument. A value is not an address.
const CURL_VALUES: &[&str] = &[
    "-o",
    "-d",
    "-H",
    "-X",
    "-u",
    "-F",
    "-A",
    "-m",
    "-w",
    "--output",
    "--data",
    "--data-raw",
    "--data-binary",
    "--json",
    "--header",
    "--request",
    "--user",
    "--form",
    "--max-time",
    "--connect-timeout",
    "--retry",
    "--write-out",
];

/// Returns whether the program `name` connects only to this machine. It must have at least one argument that is neither
/// an option nor the value of an option, and all these arguments must be addresses of this machine. For netcat and
/// telnet, further arguments can be ports. Only the options of curl in [`CURL_VALUES`] are known to have a value.
/// Returns false if an argument is known only at run time, or if an option may contain an address.
pub fn only_here(name: &str, args: &[Word]) -> bool {
    let mut has_address = false;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if !arg.is_plain() {
            return false;
        }
        if name == "curl" && CURL_VALUES.contains(&arg.text.as_str()) {
            // The shell may split a value that is known only at run time into several arguments.
            if args.next().is_some_and(|value| !value.is_plain()) {
                return false;
            }
        } else if !arg.text.starts_with('-') {
            let is_port = has_address && arg.text.bytes().all(|b| b.is_ascii_digit());
            let takes_port = ["nc", "ncat", "netcat", "telnet"].contains(&name);
            let is_allowed = is_here(&arg.text) || is_port && takes_port;
            if !is_allowed {
                return false;
            }
            has_address = true;
        } else if may_hold_address(name, &arg.text) {
            return false;
        }
    }
    has_address
}

/// Returns whether an option of the program `name` may contain the address of a server or a proxy, or the name of a file
/// with addresses: a value may follow a short option directly, as in `-xproxy`.
fn may_hold_address(name: &str, option: &str) -> bool {
    // Options whose value, the next argument, is a file with addresses. Programs accept the beginning of a long name.
    let (short, long) = if name == "curl" {
        ("-K", "--config")
    } else {
        ("-i", "--input-file")
    };
    if option == short || option.len() > 2 && long.starts_with(option) {
        return true;
    }
    if option.starts_with("--") {
        return option.contains(['.', ':', '=']);
    }
    // Short options without a value, which can be written as one word.
    let plain = if name == "curl" {
        "sSfLiIvkgNGqO#46"
    } else {
        "qvznSN46"
    };
    let is_plain = option.chars().skip(1).all(|c| plain.contains(c));
    let is_standard_output = ["-qO-", "-O-"].contains(&option);
    option.len() > 2 && !is_plain && !is_standard_output
}

fn is_here(address: &str) -> bool {
    let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let name = host.split_once(':').map_or(host, |(name, port)| {
        if port.bytes().all(|b| b.is_ascii_digit()) {
            name
        } else {
            // What follows `@` would be the host.
            ""
        }
    });
    matches!(scheme, "http" | "https" | "ws" | "wss") && ["localhost", "127.0.0.1"].contains(&name)
}
