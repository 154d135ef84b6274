//! Secrets that are put together at run time, so that no file of this repository holds anything that looks like one.

/// Characters that keys are made of.
const CHARACTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A random-looking text of letters and digits, always the same for a number.
#[must_use]
pub fn random_text(number: usize, length: usize) -> String {
    let mut state = number as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((bits ^ (bits >> 31)) % 62).unwrap_or(0)
    };
    (0..length).map(|_| char::from(CHARACTERS[next()])).collect()
}

/// A text that holds a secret, and what of it must not be found anywhere.
#[derive(Debug, Clone)]
pub struct Sample {
    /// What kind of secret it is.
    pub kind: &'static str,
    /// The text around it and the secret.
    pub text: String,
    /// The secret.
    pub secret: String,
}

/// Texts that hold a secret of each shape of the decisions, section 6, all different from those of another number.
#[must_use]
pub fn samples(number: usize) -> Vec<Sample> {
    let random = |place: usize, length: usize| random_text(number * 100 + place, length);
    let upper = |place: usize, length: usize| random(place, length).to_uppercase();
    let part = |place: usize| random(place, 40);
    let jwt = format!("eyJ{}.eyJ{}.{}", random(20, 30), random(21, 60), random(22, 43));
    let pem = |word: &str, body: &str| format!("-----{word} {} KEY-----{body}", "PRIVATE");
    let block = format!("{}\n{}", random(23, 64), random(24, 64));
    let of = |kind: &'static str, before: &str, secret: String, after: &str| Sample {
        kind,
        text: format!("{before}{secret}{after}"),
        secret,
    };
    vec![
        of(
            "bearer header",
            "curl -H 'Authorization: Bearer ",
            part(1),
            "' https://api.example.com",
        ),
        of(
            "basic header",
            "Authorization: Basic ",
            format!("{}==", random(2, 38)),
            "\r\nAccept: */*",
        ),
        of("bearer token alone", "sent Bearer ", part(3), " to the server"),
        of(
            "OpenAI key",
            "the key is ",
            format!("{}{}", "sk-", random(4, 48)),
            ".",
        ),
        of(
            "OpenAI project key",
            "export it: ",
            format!("{}{}", "sk-proj-", random(5, 60)),
            "",
        ),
        of(
            "Anthropic key",
            "x",
            format!(" {}{}", "sk-ant-api03-", random(6, 80)),
            " y",
        ),
        of(
            "AWS access key",
            "id ",
            format!("{}{}", "AKIA", upper(7, 16)),
            ", region eu-west-1",
        ),
        of(
            "GitHub token",
            "https://github.com uses ",
            format!("{}{}", "ghp_", random(8, 36)),
            "",
        ),
        of(
            "GitHub fine-grained token",
            "",
            format!("{}{}_{}", "github_pat_", random(9, 22), random(10, 59)),
            "\n",
        ),
        of(
            "Slack token",
            "slack: ",
            format!("{}-{}-{}", "xoxb", "123456789012", random(11, 24)),
            "",
        ),
        of(
            "Google key",
            "maps?key=",
            format!("{}{}", "AIza", random(12, 35)),
            "&v=3",
        ),
        of("JWT", "session ", jwt, " expired"),
        of(
            "private key block",
            &pem("BEGIN", "\n"),
            block,
            &format!("\n{}", pem("END", "")),
        ),
        of(
            "password in a URL",
            "postgres://app:",
            random(13, 16),
            "@db.internal:5432/agents",
        ),
        of("NAME_KEY=value", "OPENAI_API_KEY=", part(14), " cargo run"),
        of("NAME_TOKEN=value", "export DEPLOY_TOKEN=", part(15), "; ./deploy"),
        of("NAME_SECRET=value", "CLIENT_SECRET='", part(16), "'"),
        of(
            "NAME_PASSWORD=value",
            "DB_PASSWORD=",
            random(17, 20),
            "\nDB_HOST=localhost",
        ),
        of(
            "JSON in a string",
            "{\"user\": \"ada\", \"api_key\": \"",
            part(18),
            "\"}",
        ),
    ]
}
