//! The table of rules: what secrets are anchored by, and what follows an anchor.

/// A set of bytes.
pub(super) type Alphabet = fn(u8) -> bool;

/// Rule of an anchor. Anchors are found without regard to case.
#[derive(Debug, Clone, Copy)]
pub(super) enum AnchorRule {
    /// A published key format: its prefix, and a body.
    Token(&'static TokenFormat),
    /// A private key block.
    PrivateKey,
    /// A URL with a user.
    Login,
    /// A token that is known by its parts.
    Parts(Parts),
    /// The scheme of credentials.
    Scheme(Scheme),
    /// Part of a name that a value follows; `ends_word` when no letter follows it in such a name.
    Named { ends_word: bool },
    /// A command line with a password, or with a user and a password.
    Command(&'static PasswordCommand),
    /// `-u user:password`.
    LoginOption,
    /// `IDENTIFIED BY '…'`.
    Identified,
    /// The value of an environment variable; the anchor is its beginning.
    Environment,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Parts {
    /// `eyJ…`, at least two parts of base64 for URLs with dots between.
    WebToken,
    /// Digits, a colon, and 35 characters.
    Telegram,
    /// Three parts with dots between, the middle one of six characters.
    Discord,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Scheme {
    Bearer,
    Basic,
}

/// A published token format.
#[derive(Debug)]
pub(super) struct TokenFormat {
    pub(super) prefix: &'static str,
    pub(super) body: Alphabet,
    /// The shortest body.
    pub(super) shortest: usize,
    /// Marks a prefix so common that it must begin a word, and the body must look random.
    pub(super) is_common: bool,
}

const fn distinct(prefix: &'static str, body: Alphabet, shortest: usize) -> TokenFormat {
    TokenFormat {
        prefix,
        body,
        shortest,
        is_common: false,
    }
}

const fn common(prefix: &'static str, body: Alphabet, shortest: usize) -> TokenFormat {
    TokenFormat {
        prefix,
        body,
        shortest,
        is_common: true,
    }
}

/// A command with an option for a password.
#[derive(Debug)]
pub(super) struct PasswordCommand {
    pub(super) words: &'static str,
    pub(super) options: &'static [&'static str],
    /// The password is an argument of its own.
    pub(super) is_apart: bool,
    /// The password may follow the option at once.
    pub(super) is_attached: bool,
    /// The argument is a user and a password.
    pub(super) is_login: bool,
}

const fn command(
    words: &'static str,
    options: &'static [&'static str],
    is_apart: bool,
    is_attached: bool,
) -> PasswordCommand {
    PasswordCommand {
        words,
        options,
        is_apart,
        is_attached,
        is_login: false,
    }
}

const fn login_command(words: &'static str) -> PasswordCommand {
    PasswordCommand {
        is_login: true,
        ..command(words, &["--user", "--proxy-user"], true, false)
    }
}

const COMMANDS: &[PasswordCommand] = &[
    command("sshpass", &["-p"], true, true),
    command("mysql", &["-p"], false, true),
    command("mysqldump", &["-p"], false, true),
    command("mysqladmin", &["-p"], false, true),
    command("mariadb", &["-p"], false, true),
    command("docker login", &["-p"], true, false),
    command("podman login", &["-p"], true, false),
    command("az login", &["-p"], true, false),
    command("mongosh", &["-p"], true, false),
    command("redis-cli", &["-a"], true, false),
    command("ldapsearch", &["-w"], true, true),
    command("sqlcmd", &["-P"], true, true),
    login_command("curl"),
    login_command("wget"),
];

/// Parts of the names that the key rule and its table of last words know, and of those in the query of a URL.
const NAMES: &[&str] = &[
    "auth",
    "bearer",
    "cookie",
    "credential",
    "dsn",
    "jwt",
    "key",
    "pass",
    "pwd",
    "secret",
    "token",
    "sig",
    "recovery",
    "backup",
    "mfa",
];

/// The same, where no letter follows them.
const ENDS_OF_NAMES: &[&str] = &["pat", "sk", "cred", "creds", "pin", "otp", "pw", "psk"];

const OTHERS: &[(&str, AnchorRule)] = &[
    ("-----BEGIN ", AnchorRule::PrivateKey),
    ("://", AnchorRule::Login),
    ("eyJ", AnchorRule::Parts(Parts::WebToken)),
    (":AA", AnchorRule::Parts(Parts::Telegram)),
    (".", AnchorRule::Parts(Parts::Discord)),
    ("bearer", AnchorRule::Scheme(Scheme::Bearer)),
    ("basic", AnchorRule::Scheme(Scheme::Basic)),
    (" -u", AnchorRule::LoginOption),
    ("identified", AnchorRule::Identified),
];

/// Separators that may be between the last two letters of a redact key of the user's own, which are its anchor.
const SEPARATORS: [&str; 6] = ["", "_", "__", "-", ".", " "];

/// The anchors of secrets in a text, each with its rule. `keys` are the letters of the redact keys of the user's own; the default
/// ones have [`NAMES`] in them.
pub(super) fn anchors<'k>(keys: impl Iterator<Item = &'k [u8]>) -> Vec<(Vec<u8>, AnchorRule)> {
    let of_others = OTHERS.iter().copied();
    let of_formats = FORMATS
        .iter()
        .map(|format| (format.prefix, AnchorRule::Token(format)));
    let of_commands = COMMANDS
        .iter()
        .map(|command| (command.words, AnchorRule::Command(command)));
    let mut anchors: Vec<(Vec<u8>, AnchorRule)> = of_others
        .chain(of_formats)
        .chain(of_commands)
        .map(|(anchor, rule)| (anchor.as_bytes().to_vec(), rule))
        .collect();
    let mut add_name = |name: &str, ends_word| {
        for spelled in [
            name.to_owned(),
            name.to_uppercase(),
            wide(name),
            wide(&name.to_uppercase()),
        ] {
            if spelled == name || !spelled.is_ascii() {
                anchors.push((spelled.into_bytes(), AnchorRule::Named { ends_word }));
            }
        }
    };
    for name in NAMES {
        add_name(name, false);
    }
    for name in ENDS_OF_NAMES {
        add_name(name, true);
    }
    for key in keys {
        let key = String::from_utf8_lossy(key);
        let mut letters = key.chars().rev();
        let last = letters.next().map(String::from).unwrap_or_default();
        let before = letters.next().map(String::from).unwrap_or_default();
        for between in SEPARATORS {
            add_name(&format!("{before}{between}{last}"), false);
        }
    }
    anchors
}

/// The full-width form of a name.
fn wide(name: &str) -> String {
    let wide = |letter: char| char::from_u32(u32::from(letter) - u32::from('!') + 0xff01);
    name.chars()
        .map(|letter| {
            if letter.is_ascii_graphic() {
                wide(letter).unwrap_or(letter)
            } else {
                letter
            }
        })
        .collect()
}

/// Letters and digits.
pub(super) const fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

/// The signs of base64 for URLs.
pub(super) const fn is_url_safe(byte: u8) -> bool {
    is_alphanumeric(byte) || matches!(byte, b'-' | b'_')
}

const fn is_url_safe_or_dot(byte: u8) -> bool {
    is_url_safe(byte) || byte == b'.'
}

/// The signs of a word in a command line, a file or a list.
pub(super) const fn is_word(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\')
}

/// The same, where a list or markup may continue behind it.
pub(super) const fn is_item(byte: u8) -> bool {
    is_word(byte) && !matches!(byte, b'<' | b'>' | b',' | b')' | b']' | b'}')
}

/// The same, where code or a query may, too.
pub(super) const fn is_term(byte: u8) -> bool {
    is_item(byte) && !matches!(byte, b'&' | b';' | b'(' | b'[' | b'{' | b'|')
}

/// The signs of the text of an element.
pub(super) const fn is_content(byte: u8) -> bool {
    !matches!(byte, b'<' | b'\0')
}

const fn is_path(byte: u8) -> bool {
    is_url_safe(byte) || byte == b'/'
}

const fn is_any_base64(byte: u8) -> bool {
    is_url_safe(byte) || matches!(byte, b'+' | b'/' | b'=')
}

const fn is_capital_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

const fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

/// The formats, from the providers' own documentation.
pub(super) const FORMATS: &[TokenFormat] = &[
    // Model providers.
    common("sk-", is_url_safe, 20),
    distinct("sk-ant-", is_url_safe, 16),
    distinct("sk-proj-", is_url_safe, 16),
    distinct("sk-svcacct-", is_url_safe, 16),
    distinct("sk-admin-", is_url_safe, 16),
    distinct("sk-or-v1-", is_url_safe, 16),
    distinct("sk-lf-", is_url_safe, 16),
    distinct("AIza", is_url_safe, 30),
    common("hf_", is_alphanumeric, 24),
    distinct("api_org_", is_alphanumeric, 24),
    common("gsk_", is_alphanumeric, 24),
    common("xai-", is_alphanumeric, 24),
    common("r8_", is_alphanumeric, 24),
    common("pplx-", is_alphanumeric, 24),
    common("nvapi-", is_url_safe, 24),
    common("fw_", is_alphanumeric, 20),
    common("tvly-", is_url_safe, 20),
    distinct("pcsk_", is_url_safe, 24),
    distinct("lsv2_pt_", is_url_safe, 24),
    distinct("lsv2_sk_", is_url_safe, 24),
    common("jina_", is_alphanumeric, 24),
    common("e2b_", is_hex, 30),
    common("fc-", is_hex, 32),
    common("cohere_", is_alphanumeric, 30),
    // Clouds and infrastructure.
    distinct("AKIA", is_capital_or_digit, 16),
    distinct("ASIA", is_capital_or_digit, 16),
    distinct("ABIA", is_capital_or_digit, 16),
    distinct("ACCA", is_capital_or_digit, 16),
    distinct("ya29.", is_url_safe, 20),
    distinct("GOCSPX-", is_url_safe, 20),
    common("1//0", is_url_safe, 30),
    distinct("dop_v1_", is_hex, 32),
    distinct("doo_v1_", is_hex, 32),
    distinct("dor_v1_", is_hex, 32),
    common("dapi", is_hex, 32),
    common("hvs.", is_url_safe, 24),
    common("hvb.", is_url_safe, 24),
    common("pul-", is_hex, 40),
    distinct("dp.pt.", is_alphanumeric, 30),
    distinct("dp.st.", is_url_safe_or_dot, 30),
    distinct("tskey-", is_url_safe, 20),
    distinct("AGE-SECRET-KEY-1", is_capital_or_digit, 40),
    distinct("ops_eyJ", is_any_base64, 40),
    distinct("sbp_", is_hex, 40),
    distinct("sb_secret_", is_url_safe, 20),
    distinct("vercel_blob_rw_", is_url_safe, 20),
    distinct("FlyV1 ", is_any_base64, 40),
    distinct("NRAK-", is_capital_or_digit, 24),
    distinct("glc_", is_any_base64, 32),
    distinct("glsa_", is_url_safe, 32),
    distinct("sntrys_", is_any_base64, 32),
    distinct("sntryu_", is_hex, 32),
    // Code hosts and package registries.
    distinct("ghp_", is_alphanumeric, 20),
    distinct("gho_", is_alphanumeric, 20),
    distinct("ghu_", is_alphanumeric, 20),
    distinct("ghs_", is_alphanumeric, 20),
    distinct("ghr_", is_alphanumeric, 20),
    distinct("github_pat_", is_url_safe, 20),
    distinct("glpat-", is_url_safe_or_dot, 20),
    distinct("gldt-", is_url_safe, 20),
    distinct("glrt-", is_url_safe, 20),
    distinct("glptt-", is_url_safe, 20),
    distinct("glcbt-", is_url_safe, 20),
    distinct("glsoat-", is_url_safe, 20),
    distinct("ATATT3", is_any_base64, 32),
    distinct("ATCTT3", is_any_base64, 32),
    distinct("ATBB", is_alphanumeric, 28),
    common("npm_", is_alphanumeric, 30),
    distinct("pypi-", is_url_safe, 40),
    distinct("rubygems_", is_hex, 40),
    common("cio", is_alphanumeric, 32),
    distinct("dckr_pat_", is_url_safe, 20),
    // Payments, mail, chat and other services.
    distinct("sk_live_", is_alphanumeric, 16),
    distinct("sk_test_", is_alphanumeric, 16),
    distinct("rk_live_", is_alphanumeric, 16),
    distinct("rk_test_", is_alphanumeric, 16),
    distinct("whsec_", is_any_base64, 24),
    distinct("shpat_", is_hex, 32),
    distinct("shpss_", is_hex, 32),
    distinct("shpca_", is_hex, 32),
    distinct("shppa_", is_hex, 32),
    distinct("sq0atp-", is_url_safe, 20),
    distinct("sq0csp-", is_url_safe, 30),
    distinct("access_token$production$", is_alphanumeric, 20),
    common("SG.", is_url_safe_or_dot, 40),
    common("key-", is_hex, 32),
    common("SK", is_hex, 32),
    distinct("xkeysib-", is_url_safe, 32),
    distinct("xoxb-", is_url_safe, 10),
    distinct("xoxa-", is_url_safe, 10),
    distinct("xoxp-", is_url_safe, 10),
    distinct("xoxr-", is_url_safe, 10),
    distinct("xoxs-", is_url_safe, 10),
    distinct("xoxe.", is_url_safe_or_dot, 10),
    distinct("xoxe-", is_url_safe, 10),
    distinct("xapp-", is_url_safe, 10),
    distinct("hooks.slack.com/services/", is_path, 20),
    distinct("discord.com/api/webhooks/", is_path, 30),
    distinct("lin_api_", is_alphanumeric, 30),
    distinct("figd_", is_url_safe, 30),
    distinct("PMAK-", is_url_safe, 30),
    common("ntn_", is_alphanumeric, 30),
    common("secret_", is_alphanumeric, 40),
];
