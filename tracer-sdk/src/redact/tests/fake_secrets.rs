//! Made-up secrets in every shape that is recognised, put together at run time so that this file holds none.

/// A small generator of numbers: the same seed gives the same secrets.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn roll(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() % limit as u64).unwrap()
    }

    pub(super) fn pick<'t, T: ?Sized>(&mut self, among: &[&'t T]) -> &'t T {
        among[self.below(among.len())]
    }

    pub(super) fn of(&mut self, alphabet: &str, length: usize) -> String {
        (0..length)
            .map(|_| char::from(alphabet.as_bytes()[self.below(alphabet.len())]))
            .collect()
    }

    fn hex(&mut self, length: usize) -> String {
        self.of("0123456789abcdef", length)
    }

    fn alphanumeric(&mut self, length: usize) -> String {
        self.of(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            length,
        )
    }

    fn capitals(&mut self, length: usize) -> String {
        self.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length)
    }

    fn url_safe(&mut self, length: usize) -> String {
        self.of(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
            length,
        )
    }

    fn base64(&mut self, length: usize) -> String {
        self.of(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            length,
        )
    }

    fn password(&mut self) -> String {
        let letters = self.of("abcdefghijkmnopqrstuvwxyz", 8);
        letters + &self.of("!@*^~23456789", 3) + &self.alphanumeric(7)
    }
}

/// A text with a secret in it.
#[derive(Debug, Clone)]
pub(super) struct Fake {
    pub(super) shape: &'static str,
    /// What stands in a string.
    pub(super) text: String,
    /// The part of it that must not stay.
    pub(super) secret: String,
}

fn fake(shape: &'static str, before: &str, secret: String, after: &str) -> Fake {
    Fake {
        shape,
        text: format!("{before}{secret}{after}"),
        secret,
    }
}

fn prefixed(shape: &'static str, prefix: &[&str], body: &str) -> Fake {
    fake(shape, "", prefix.concat() + body, "")
}

fn web_token(dice: &mut Dice) -> String {
    [
        "ey",
        "J",
        &dice.url_safe(30),
        ".",
        "ey",
        "J",
        &dice.url_safe(60),
        ".",
        &dice.url_safe(43),
    ]
    .concat()
}

fn key_block(dice: &mut Dice, label: &str, line_end: &str) -> Fake {
    let lines: Vec<String> = (0..12).map(|_| dice.base64(64)).collect();
    let dashes = "-----";
    let secret = lines.join(line_end);
    let before = format!("{dashes}BEGIN {label}{dashes}{line_end}");
    fake(
        "private key block",
        &before,
        secret,
        &format!("{line_end}{dashes}END {label}{dashes}"),
    )
}

type Shape = fn(&mut Dice) -> Fake;

/// One maker for each shape.
pub(super) const SHAPES: &[Shape] = &[
    |dice| prefixed("OpenAI", &["sk", "-"], &dice.alphanumeric(48)),
    |dice| prefixed("OpenAI project", &["sk", "-proj-"], &dice.url_safe(120)),
    |dice| {
        prefixed(
            "OpenAI service account",
            &["sk", "-svcacct-"],
            &dice.url_safe(100),
        )
    },
    |dice| prefixed("Anthropic", &["sk", "-ant-", "api03-"], &dice.url_safe(95)),
    |dice| prefixed("OpenRouter", &["sk", "-or-v1-"], &dice.hex(64)),
    |dice| prefixed("DeepSeek", &["sk", "-"], &dice.hex(32)),
    |dice| prefixed("Google", &["AI", "za"], &dice.url_safe(35)),
    |dice| prefixed("Google OAuth", &["ya", "29."], &dice.url_safe(60)),
    |dice| prefixed("Google client secret", &["GOC", "SPX-"], &dice.url_safe(28)),
    |dice| prefixed("Hugging Face", &["h", "f_"], &dice.alphanumeric(34)),
    |dice| prefixed("Groq", &["gs", "k_"], &dice.alphanumeric(52)),
    |dice| prefixed("xAI", &["xa", "i-"], &dice.alphanumeric(80)),
    |dice| prefixed("Replicate", &["r", "8_"], &dice.alphanumeric(37)),
    |dice| prefixed("Perplexity", &["ppl", "x-"], &dice.alphanumeric(48)),
    |dice| prefixed("NVIDIA", &["nva", "pi-"], &dice.url_safe(64)),
    |dice| prefixed("Tavily", &["tvl", "y-dev-"], &dice.alphanumeric(32)),
    |dice| prefixed("Pinecone", &["pc", "sk_"], &dice.alphanumeric(60)),
    |dice| {
        prefixed(
            "LangSmith",
            &["lsv2", "_pt_"],
            &(dice.hex(32) + "_" + &dice.hex(10)),
        )
    },
    |dice| prefixed("AWS access key", &["AK", "IA"], &dice.capitals(16)),
    |dice| prefixed("AWS session key", &["AS", "IA"], &dice.capitals(16)),
    |dice| fake("AWS secret", "AWS_SECRET_ACCESS_KEY=", dice.base64(40), ""),
    |dice| {
        fake(
            "AWS secret in a file",
            "aws_secret_access_key = ",
            dice.base64(40),
            "\nregion = eu",
        )
    },
    |dice| prefixed("GitHub", &["gh", "p_"], &dice.alphanumeric(36)),
    |dice| prefixed("GitHub OAuth", &["gh", "o_"], &dice.alphanumeric(36)),
    |dice| prefixed("GitHub server", &["gh", "s_"], &dice.alphanumeric(36)),
    |dice| prefixed("GitHub refresh", &["gh", "r_"], &dice.alphanumeric(76)),
    |dice| {
        prefixed(
            "GitHub fine-grained",
            &["github", "_pat_"],
            &(dice.alphanumeric(22) + "_" + &dice.alphanumeric(59)),
        )
    },
    |dice| prefixed("GitLab", &["gl", "pat-"], &dice.url_safe(20)),
    |dice| {
        prefixed(
            "Slack bot",
            &["xo", "xb-"],
            &format!("{}-{}", dice.of("123456789", 12), dice.alphanumeric(24)),
        )
    },
    |dice| {
        prefixed(
            "Slack user",
            &["xo", "xp-"],
            &format!("{}-{}", dice.of("123456789", 12), dice.hex(32)),
        )
    },
    |dice| {
        prefixed(
            "Slack app",
            &["xa", "pp-"],
            &format!("1-A0{}-{}", dice.capitals(8), dice.hex(64)),
        )
    },
    |dice| {
        fake(
            "Slack webhook",
            "https://",
            [
                "hooks.slack",
                ".com/services/T0",
                &dice.capitals(8),
                "/B0",
                &dice.capitals(8),
                "/",
                &dice.alphanumeric(24),
            ]
            .concat(),
            "",
        )
    },
    |dice| prefixed("npm", &["np", "m_"], &dice.alphanumeric(36)),
    |dice| prefixed("PyPI", &["py", "pi-AgEIcHlwaS5vcmc"], &dice.url_safe(120)),
    |dice| prefixed("Docker", &["dckr", "_pat_"], &dice.url_safe(27)),
    |dice| prefixed("crates.io", &["ci", "o"], &dice.alphanumeric(32)),
    |dice| {
        prefixed(
            "SendGrid",
            &["S", "G."],
            &(dice.url_safe(22) + "." + &dice.url_safe(43)),
        )
    },
    |dice| prefixed("Stripe", &["sk", "_live_"], &dice.alphanumeric(24)),
    |dice| prefixed("Stripe restricted", &["rk", "_live_"], &dice.alphanumeric(24)),
    |dice| prefixed("DigitalOcean", &["dop", "_v1_"], &dice.hex(64)),
    |dice| prefixed("Vault", &["hv", "s."], &dice.url_safe(90)),
    |dice| prefixed("Databricks", &["da", "pi"], &dice.hex(32)),
    |dice| prefixed("Shopify", &["shp", "at_"], &dice.hex(32)),
    |dice| prefixed("Linear", &["lin", "_api_"], &dice.alphanumeric(40)),
    |dice| prefixed("Twilio", &["S", "K"], &dice.hex(32)),
    |dice| prefixed("Atlassian", &["ATA", "TT3"], &dice.url_safe(180)),
    |dice| {
        prefixed(
            "Telegram",
            &[&dice.of("123456789", 10), ":", "AA"],
            &dice.url_safe(33),
        )
    },
    |dice| {
        prefixed(
            "Discord",
            &["M", &dice.alphanumeric(23), ".", &dice.alphanumeric(6), "."],
            &dice.url_safe(38),
        )
    },
    |dice| fake("JWT", "", web_token(dice), ""),
    |dice| key_block(dice, "RSA PRIVATE KEY", "\n"),
    |dice| key_block(dice, "OPENSSH PRIVATE KEY", "\r\n"),
    |dice| key_block(dice, "ENCRYPTED PRIVATE KEY", "\\n"),
    |dice| {
        fake(
            "Authorization header",
            "Authorization: Bearer ",
            dice.url_safe(40),
            "",
        )
    },
    |dice| fake("Basic header", "authorization: Basic ", dice.base64(28), ""),
    |dice| {
        fake(
            "Digest header",
            "Proxy-Authorization: Digest ",
            format!("username=\"u\", response=\"{}\"", dice.hex(32)),
            "",
        )
    },
    |dice| {
        fake(
            "Authorization member",
            r#"{"Authorization": "Token "#,
            dice.hex(40),
            r#"", "n": 1}"#,
        )
    },
    |dice| fake("X-Api-Key header", "X-Api-Key: ", dice.alphanumeric(32), ""),
    |dice| {
        fake(
            "Cookie header",
            "Cookie: ",
            format!("theme=dark; sid={}", dice.alphanumeric(32)),
            "",
        )
    },
    |dice| {
        fake(
            "Set-Cookie header",
            "Set-Cookie: ",
            format!("sid={}; Path=/; HttpOnly", dice.url_safe(32)),
            "",
        )
    },
    |dice| fake("bearer token", "the bearer ", dice.alphanumeric(32), " was sent"),
    |dice| {
        fake(
            "URL password",
            "postgres://app:",
            dice.password(),
            "@db.internal:5432/app",
        )
    },
    |dice| {
        fake(
            "URL user",
            "https://",
            dice.alphanumeric(40),
            "@example.org/repo.git",
        )
    },
    |dice| {
        fake(
            "URL query",
            "https://example.org/v1?a=b&access_token=",
            dice.alphanumeric(30),
            "&page=2",
        )
    },
    |dice| {
        fake(
            "URL signature",
            "https://example.org/o?sv=1&sig=",
            dice.alphanumeric(43) + "%3D",
            "&se=2",
        )
    },
    |dice| fake("variable KEY", "export SERVICE_KEY=", dice.alphanumeric(24), ""),
    |dice| fake("variable TOKEN", "DEPLOY_TOKEN='", dice.alphanumeric(24), "'"),
    |dice| fake("variable SECRET", "SESSION_SECRET=\"", dice.base64(32), "\""),
    |dice| fake("variable PASSWORD", "DB_PASSWORD=", dice.password(), ""),
    |dice| {
        fake(
            "member",
            r#"{"user": "ali", "api_key": ""#,
            dice.alphanumeric(20),
            r#"", "n": 1}"#,
        )
    },
    |dice| {
        fake(
            "escaped member",
            r#"{\"client_secret\":\""#,
            dice.alphanumeric(24),
            r#"\",\"n\":1}"#,
        )
    },
    |dice| {
        fake(
            "twice escaped member",
            r#"{\\\"authToken\\\": \\\""#,
            dice.alphanumeric(24),
            r#"\\\"}"#,
        )
    },
    |dice| {
        fake(
            "single quoted member",
            "{'password': '",
            dice.password(),
            "', 'n': 1}",
        )
    },
    |dice| fake("YAML", "user: ali\npassword: ", dice.password(), "\nport: 1"),
    |dice| fake("TOML", "api_key = \"", dice.alphanumeric(32), "\""),
    |dice| {
        fake(
            "Rust literal",
            "let api_key: &str = \"",
            dice.alphanumeric(32),
            "\";",
        )
    },
    |dice| fake("option", "run --api-key ", dice.alphanumeric(32), " --verbose"),
    |dice| fake("option with =", "run --password=", dice.password(), " --verbose"),
    |dice| {
        fake(
            "option in a list",
            r#"["run", "--token", ""#,
            dice.alphanumeric(24),
            r#""]"#,
        )
    },
    |dice| {
        fake(
            "query string form",
            "grant_type=password&client_secret=",
            dice.alphanumeric(30),
            "&a=1",
        )
    },
    |dice| {
        fake(
            "list",
            r#"{"x-api-key": [""#,
            dice.alphanumeric(32),
            r#""], "n": 1}"#,
        )
    },
    |dice| fake("login", "curl -u admin:", dice.password(), " https://example.org"),
    |dice| {
        fake(
            "connection string",
            "Server=db;Password=",
            dice.password(),
            ";Encrypt=true",
        )
    },
];

/// `count` secrets, each shape in turn.
pub(super) fn fakes(seed: u64, count: usize) -> impl Iterator<Item = Fake> {
    let mut dice = Dice::new(seed);
    SHAPES
        .iter()
        .cycle()
        .take(count)
        .map(move |shape| shape(&mut dice))
}

/// A piece of twelve bytes of `secret` that `text` still holds.
pub(super) fn leak<'s>(secret: &'s str, text: &str) -> Option<&'s str> {
    (0..secret.len())
        .filter_map(|start| secret.get(start..start + 12))
        .find(|piece| text.contains(piece))
}
