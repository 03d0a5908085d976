//! Environment variables that are withheld, and those that are passed on.

use super::*;

/// Names of variables that usually contain a secret. They are recognized by the name, because the value alone reveals
/// nothing.
const SECRET_NAMES: &[&str] = &[
    "STRIPE_SECRET_KEY",
    "PGPASSWORD",
    "SECRET_KEY",
    "SECRET_KEY_BASE",
    "APIKEY",
    "API_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "MYSQL_PWD",
    "MYSQLPWD",
    "DB_PASS",
    "SMTPPASS",
    "SENTRY_DSN",
    "JWT_SECRET",
    "SESSION_KEY",
    "ENCRYPTION_KEY",
    "RAILS_MASTER_KEY",
    "DOCKER_AUTH_CONFIG",
    "NPM_AUTH",
    "BASIC_AUTH",
    "AUTHORIZATION",
    "OAUTH2_CLIENT",
    "HF_TOKEN",
    "GITLAB_PAT",
    "TWILIO_AUTH_TOKEN",
    "SENDGRID_APIKEY",
    "GPG_PASSPHRASE",
    "SSH_PRIVATE_KEY",
    "SSHKEY",
    "TF_VAR_db_password",
    "npm_config__authToken",
    "CARGO_REGISTRY_TOKEN",
    "NODE_AUTH_TOKEN",
    "DB_CREDENTIALS",
    "SESSION_COOKIE",
    "AZURE_STORAGE_CONNECTION_STRING",
    "DB_CONNECTION_STRING",
    "ADMIN_PW",
    "TOKEN1",
    "dbPassword",
    "AWS_REGION",
    "VAULT_UNSEAL",
    "WALLET_MNEMONIC",
    "WALLET_SEED",
    "SEED_PHRASE",
    "HSM_PIN",
    "ADMIN_OTP",
    "TOTP",
    "DEVICE_PASSCODE",
];

/// Secrets that are recognized by their value, whatever the name.
const SECRET_VALUES: &[(&str, &str)] = &[
    ("DATABASE_URL", "postgres://ada:s3cr3t@db:5432/shop"),
    ("DATABASE_URL", "postgres://ada:password@db/shop"),
    ("REDIS_URL", "redis://:s3cr3t@cache:6379"),
    ("HTTPS_PROXY", "http://ada:pw@proxy:3128"),
    (
        "SENTRY",
        "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/2",
    ),
    (
        "CONFIG",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    ),
    (
        "DEPLOY",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n-----END OPENSSH PRIVATE KEY-----",
    ),
    ("GH", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    ("PAYMENTS", "sk_live_0123456789abcdefABCDEF"),
    ("MAPS", "AIzaSyA-0123456789abcdefghijABCDEFGHIJ0"),
    ("HOOK", "https://hooks.slack.com/services/T000/B000/XXXX"),
    (
        "STORAGE",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=abcd;",
    ),
    ("PGSERVICE_LINE", "host=db user=ada password=hunter2"),
    ("CALLBACK", "https://example.org/x?access_token=abc"),
    ("MYSTERY", "q7Xk2Vb9LmT4wZc8RnP1sY6u"),
    ("MYSTERY", "wJ4lrXUt9FEmI/K7mDeNg/bPx2RfiCYzE5aMp9LeKeY"),
    ("MYSTERY", "k3v9x2m8q1z7w4t6y5r0b3n8c2"),
    ("MYSTERY", "9f86d081884c7d659a2feaa0c55ad015"),
    // Password managers store the key of the unlocked vault in these.
    ("BW_SESSION", "wJ4lrXUt9FEmI/K7mDeNg/bPx2RfiCYzE5aMp9LeKeY="),
    ("OP_SESSION_ada", "q7Xk2Vb9LmT4wZc8RnP1sY6u"),
];

/// Variables that programs need, or that only look like secrets.
const HARMLESS_VARIABLES: &[(&str, &str)] = &[
    (
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/bin:/home/ada/.cargo/bin",
    ),
    ("HOME", "/home/ada"),
    ("PWD", "/home/ada/shop"),
    ("OLDPWD", "/home/ada"),
    ("LANG", "de_DE.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("TERM", "xterm-256color"),
    ("CARGO_HOME", "/home/ada/.cargo"),
    (
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
        "x86_64-linux-gnu-gcc",
    ),
    ("CARGO_BUILD_TARGET", "x86_64-unknown-linux-gnu"),
    (
        "RUSTFLAGS",
        "-C target-cpu=native -C link-arg=-fuse-ld=lld --cfg tokio_unstable",
    ),
    (
        "RUSTUP_TOOLCHAIN",
        "nightly-2026-11-01-x86_64-unknown-linux-gnu",
    ),
    ("JAVA_HOME", "/usr/lib/jvm/java-21-openjdk-amd64"),
    ("JAVA_OPTS", "-Xmx4g -XX:+UseG1GC -Dfile.encoding=UTF-8"),
    (
        "NODE_OPTIONS",
        "--max-old-space-size=8192 --enable-source-maps",
    ),
    ("LD_LIBRARY_PATH", "/opt/cuda/lib64:/usr/lib"),
    (
        "PKG_CONFIG_PATH",
        "/nix/store/0c5b6l4y2h8n7q3m1x9v8k2j6p4s3r1d-openssl-3.0.13/lib",
    ),
    (
        "NIX_CFLAGS_COMPILE",
        "-isystem /nix/store/0c5b6l4y2h8n7q3m1x9v8k2j6p4s3r1d-zlib/include",
    ),
    ("PYTHONPATH", "/home/ada/src"),
    ("VIRTUAL_ENV", "/home/ada/.venv"),
    ("GOFLAGS", "-mod=vendor"),
    ("XDG_RUNTIME_DIR", "/run/user/1000"),
    ("XDG_SESSION_ID", "c2"),
    ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh"),
    ("SSH_CONNECTION", "192.168.0.2 52342 192.168.0.3 22"),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("KEYBOARD_LAYOUT", "de"),
    ("KEYMAP", "de-latin1"),
    ("KEYTIMEOUT", "20"),
    ("GIT_CONFIG_KEY_0", "http.extraHeader"),
    ("GIT_AUTHOR_NAME", "Ada Lovelace"),
    ("GIT_AUTHOR_DATE", "2026-11-22T14:53:00Z"),
    ("AUTHORS", "Ada"),
    ("XAUTHORITY", "/run/user/1000/.mutter-Xwaylandauth.8YQ2T2"),
    ("DISABLE_AUTH", "1"),
    ("USE_KEYRING", "no"),
    ("GITHUB_SHA", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    (
        "PYTHON_SHA256",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ),
    ("INVOCATION_ID", "9f86d081884c7d659a2feaa0c55ad015"),
    ("WT_SESSION", "1b4e28ba-2fa1-11d2-883f-0016d3cca427"),
    ("DEVICE", "1b4e28ba-2fa1-11d2-883f-0016d3cca427"),
    (
        "TERM_SESSION_ID",
        "w0t0p0:1B4E28BA-2FA1-11D2-883F-0016D3CCA427",
    ),
    ("DATABASE_URL", "postgres://localhost/shop"),
    ("DATABASE_URL", "postgres://ada@localhost/shop"),
    ("HTTPS_PROXY", "http://proxy.example.org:3128"),
    ("DOCKER_HOST", "unix:///run/user/1000/docker.sock"),
    (
        "DBUS_SESSION_BUS_ADDRESS",
        "unix:path=/run/user/1000/bus,guid=9f86d081884c7d659a2feaa0c55ad015",
    ),
    ("LS_COLORS", "rs=0:di=01;34:ln=01;36:*.tar=01;31:*.7z=01;31"),
    ("BUILD_TAG", "release-2026.11.22-linux-amd64"),
    ("CLASS", "MyVeryLongCamelCaseClassNameOfTheApplication2"),
    ("VENDOR", "OpenJDK64-Bit-Server-VM17"),
    ("DEBUG", "*"),
    ("EDITOR", "vim"),
    ("LESSOPEN", "| /usr/bin/lesspipe %s"),
    ("PASSENGERS", "4"),
    ("COMPASS", "north"),
    ("AWS_CA_BUNDLE", "/etc/ssl/certs/corporate.pem"),
    ("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"),
    ("SSL_CERT_DIR", "/etc/ssl/certs"),
    ("REQUESTS_CA_BUNDLE", "/etc/ssl/certs/corporate.pem"),
    ("NODE_EXTRA_CA_CERTS", "/etc/ssl/certs/corporate.pem"),
    ("CURL_CA_BUNDLE", "/etc/ssl/certs/corporate.pem"),
    ("GIT_SSL_CAINFO", "/etc/ssl/certs/corporate.pem"),
    ("CARGO_HTTP_CAINFO", "/etc/ssl/certs/corporate.pem"),
    // Seeds of builds and tests are numbers and files; circuit boards have pins.
    ("PYTHONHASHSEED", "0"),
    ("PYTHONHASHSEED", "random"),
    ("RANDOM_SEED", "42"),
    ("TEST_SEED", "0xDEADBEEF"),
    ("SEED", "-17"),
    ("DB_SEED", "db/seeds.sql"),
    ("LED_PIN", "13"),
    ("DESKTOP_SESSION", "gnome"),
    ("SESSION_MANAGER", "local/host:@/tmp/.ICE-unix/1234"),
];

#[test]
fn secret_names_are_withheld() {
    for name in SECRET_NAMES {
        assert_eq!(
            reason(name, "plain words"),
            Some(WithheldReason::Name),
            "{name}"
        );
    }
}

#[test]
fn secret_values_are_withheld() {
    for (name, value) in SECRET_VALUES {
        assert!(
            matches!(
                reason(name, value),
                Some(WithheldReason::Shape | WithheldReason::Random)
            ),
            "{name}={value}: {:?}",
            reason(name, value)
        );
    }
}

#[test]
fn harmless_variables_are_passed_on() {
    for (name, value) in HARMLESS_VARIABLES {
        assert_eq!(reason(name, value), None, "{name}={value}");
    }
}

#[test]
fn secret_value_under_harmless_name_is_withheld() {
    let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    for name in ["PWD", "XDG_DATA_HOME", "GITHUB_SHA", "PATH"] {
        assert_eq!(reason(name, key), Some(WithheldReason::Shape), "{name}");
    }
}
