//! Texts that are made to be costly to look through: every trigger of every shape, in every arrangement. The benchmark
//! `redact` uses this file, too.

/// What recognisers are noticed by, and what they look around for.
pub(crate) const TRIGGERS: &[&str] = &[
    "\"-----BEGIN PRIVATE KEY-----\" # 9f86d081884c7d659a2feaa0c55ad015\n",
    "\"-----BEGIN PRIVATE KEY-----\" # 9f86d081884c7d659a2feaa0c55ad015\naaaaaaaaaaaaaaaaaaaaaaaa",
    "> -----BEGIN PRIVATE KEY-----\n> MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
    "password=",
    "password:",
    "pwd=",
    "key=",
    "token: ",
    "TOKEN=",
    "DB_PASSWORD=",
    "api_key = ",
    "?token=",
    "&sig=",
    "a=",
    "=",
    ":",
    "=:",
    "::",
    ":=",
    "\"password\":",
    "\"password\": \"",
    "'token': '",
    "\\\"secret\\\":\\\"",
    "\"a\":",
    "password：",
    "ｐａｓｓｗｏｒｄ＝",
    "Password = '",
    "password: Some(",
    "password: Some(\"",
    "token=get(",
    "password: |\n",
    "password\n:\n",
    "secret: &str = ",
    "\"x-api-key\": [\"",
    "\"secret\": {\"a\": \"aB3dE5fG7hI9jK1l\", ",
    "\"secret\": [{\"a\": \"",
    "passwords:\n  - ",
    "- aB3dE5fG7hI9jK1l\n",
    "password: !!str ",
    "password: &a !",
    "name=\"token\" ",
    "\"name\":\"password\",",
    "\"value\":\"x\",\"name\":\"token\",",
    "\"default\":\"hunter2\",\"label\":\"password\",",
    "name: password\n",
    "\"key\":\"",
    "<key>token</key>",
    "Authorization: ",
    "authorization: digest ",
    "authorization: basic ",
    "Cookie: ",
    "cookie:",
    "Cookie: a=\"",
    "Bearer ",
    "bearer",
    "Basic ",
    "basic",
    "://",
    "://a:b",
    "://a:b/",
    "://u:p@",
    "://a:{/",
    "https://",
    "//",
    "@",
    "eyJ",
    "eyJhbGciOiJ9.",
    ".",
    ".a",
    "a.b",
    "1:A",
    "12345678:A",
    "Mabcdefghijklmnopqrstuvw.abcdef.",
    "sk-",
    "sk-ant-",
    "sk-ant-xxxxxxxx",
    "ghp_",
    "github_pat_",
    "glpat-",
    "AKIA",
    "AIza",
    "xoxb-",
    "SG.",
    "hvs.",
    "dp.st.",
    "npm_",
    "secret_",
    "key-",
    "dapi",
    "hooks.slack.com/services/",
    "1//0",
    "ya29.",
    "-B",
    "FlyV1 ",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----a-",
    "-----END ",
    "-----BEGIN PRIVATE KEY-----__REDACTED__",
    "--",
    "--token ",
    "--password=",
    "--a",
    "--token \"",
    " -u ",
    " -u a:",
    "curl --user a:hunter2 ",
    "--user a:hunter2 ",
    "get_token(\"",
    "set_a_key(\"aB3dE5fG7hI9jK1l",
    "-u a:b ",
    "ENV ",
    "\nENV TOKEN ",
    "setenv PASSWORD ",
    "set -gx TOKEN ",
    " -p",
    " -p ",
    "sshpass -p ",
    "mysql -p",
    "redis-cli -a ",
    "login ",
    "login a password ",
    "password a login ",
    "machine a login b password ",
    "PASSWORD '",
    "IDENTIFIED BY '",
    "by '",
    " '",
    "('",
    "[\"",
    ",\"",
    "(\"token\",\"",
    "[\"token\", \"",
    "\\\\\"",
    "<password>",
    "<a>",
    "</token>",
    "<token>a",
    "<token><![CDATA[",
    "a>",
    "__REDACTED__",
    "__REDACTED__: -----BEGIN PRIVATE KEY-----: ",
    "'a:authorization: basic a:",
    "Password = '\\Cookie: a=\"\\",
    "Password = 'authorization: basic --token \"password=",
    "\x1b[33m",
    "\x1b[3mpassword\x1b[0m\x1b[2m=\x1b[0m",
    "\x1b[",
    "\\u001b[0m",
    "&quot;",
    "&amp;",
    "&quot;password&quot;:&quot;",
    "&#34;token&#34;: ",
    "%22",
    "%25",
    "%22password%22%3A%22",
    "api_key%3DaB3dE5fG7hI9jK1l%26",
    "\\u0022",
    "\\u0022secret\\u0022:\\u0022",
    "\"\\u0070assword\":\"",
    "password\\u003d",
    "form-data; name=\"password\"\r\n",
    "form-data; name=\"token\"\r\n\r\n",
    "<a name=\"password\">",
    "name=\"password\"> ",
    "-----BEGIN PRIVATE KEY-----\"MIIEvQIBADANBgkqhkiG9w0B\" ",
    "-----BEGIN PRIVATE KEY-----\"MIIEvQIBADANBgkqhkiG9w0B\" -----END KEY----- ",
    "<a name=\"token\"><b>",
    "value=\"x\" name=\"password\" ",
    "PASSWORD ?= ",
    "password ::= ",
    "?=",
    "+=",
    "password: Optional[str] = ",
    "token?: string = '",
    "var password string = ",
    "char secret[] = ",
    "[64]=",
    "[\"password\"]=>\nstring(9) \"",
    "\"password\";s:9:\"",
    "\";",
    "PASSWORD E'",
    "PASSWORD $$",
    " $a$",
    "SET PASSWORD FOR a = '",
    "= '",
    "='",
    "password = \"\"\"\naB3dE5fG7hI9jK1l\n",
    "'''\n",
    "| password | ",
    "|token|",
    " | ",
    "|",
    "credentials:\n  value: ",
    "otp: ",
    "mnemonic: legal winner thank year ",
    "__TRUNCATED__",
    "__",
    "_",
    "\\",
    "\\n",
    "\"",
    "'",
    "`",
    "\n",
    "é",
    "値",
    "＝",
    "\u{200b}",
    "xxxxxxxx",
    "****",
    "${",
    "{{",
    "<",
    ">",
    "%",
];

/// Arranges a trigger, and the one that follows it in the list, to this many bytes of text.
pub(crate) type Arrangement = fn(&str, &str, usize) -> String;

pub(crate) const ARRANGEMENTS: &[(&str, Arrangement)] = &[
    ("alone", |trigger, _, bytes| repeated(trigger, bytes)),
    ("before a letter", |trigger, _, bytes| {
        repeated(&format!("{trigger}a"), bytes)
    }),
    ("before a digit", |trigger, _, bytes| {
        repeated(&format!("{trigger}1"), bytes)
    }),
    ("in words", |trigger, _, bytes| {
        repeated(&format!("{trigger} word "), bytes)
    }),
    ("in lines", |trigger, _, bytes| {
        repeated(&format!("{trigger}\n"), bytes)
    }),
    ("alternating", |trigger, other, bytes| {
        repeated(&format!("{trigger}{other}"), bytes)
    }),
    ("quoted", |trigger, _, bytes| {
        repeated(&format!("\"{trigger}\""), bytes)
    }),
    ("quoted apart", |trigger, _, bytes| {
        repeated(&format!("'{trigger} "), bytes)
    }),
    ("escaped", |trigger, _, bytes| {
        repeated(&format!("{trigger}\\\""), bytes)
    }),
    ("in brackets", |trigger, _, bytes| {
        repeated(&format!("[{{({trigger}"), bytes)
    }),
    ("behind what is left of a name", |trigger, _, bytes| {
        repeated(&format!("{}{trigger}", "n_".repeat(30)), bytes)
    }),
    ("before a long name", |trigger, _, bytes| {
        repeated(&format!("{trigger}{}", "Ab1".repeat(40)), bytes)
    }),
    ("before a run to the end", |trigger, _, bytes| {
        repeated(trigger, bytes / 2) + &"Aa".repeat(bytes / 4)
    }),
    ("before crosses at the end", |trigger, _, bytes| {
        repeated(trigger, bytes - 20) + "xxxxxxxxxxxxxxxx>}]@"
    }),
    ("once, before its like", |trigger, other, bytes| {
        format!("{other}{}", repeated(trigger, bytes))
    }),
    ("as JSON in a string", |trigger, _, bytes| {
        let inner = trigger.replace('\\', "\\\\").replace('"', "\\\"");
        repeated(&format!("{{\\\"k\\\":\\\"{inner}\\\"}},"), bytes)
    }),
    ("as members", |trigger, _, bytes| {
        let inner = trigger.replace('\\', "\\\\").replace('"', "\\\"");
        repeated(&format!("{{\"name\":\"{inner}\",\"value\":\"{inner}\"}},"), bytes)
    }),
    ("in the path of a URL", |trigger, _, bytes| {
        format!("https://a:b{}", repeated(&format!("/{trigger}"), bytes))
    }),
    ("behind ever fewer backslashes", |trigger, _, bytes| {
        let mut text = String::new();
        let most = (0..bytes)
            .take_while(|count| count * (count + trigger.len()) < bytes)
            .last()
            .unwrap_or(0);
        (1..most)
            .rev()
            .for_each(|count| text.extend([trigger, &"\\".repeat(count), "\""]));
        text
    }),
    ("behind ever more backslashes", |trigger, _, bytes| {
        let mut text = String::new();
        let mut count = 0;
        while text.len() < bytes {
            text.extend([trigger, &"\\".repeat(count), "\""]);
            count += 1;
        }
        text
    }),
];

/// The text of a trigger in an arrangement.
pub(crate) fn hostile(trigger: usize, arrange: Arrangement, bytes: usize) -> String {
    let other = TRIGGERS[(trigger * 7 + 3) % TRIGGERS.len()];
    arrange(TRIGGERS[trigger], other, bytes)
}

/// Ordinary text to compare with.
pub(crate) fn prose(bytes: usize) -> String {
    repeated(
        "The agent reads the file that it was asked about, and then it says what it found there. Nobody knows why the answer \
         took so long; the model was busy with other things (as it often is), or the network was slow. We'll see tomorrow.\n",
        bytes,
    )
}

/// JSON text of ordinary members, to compare with.
pub(crate) fn json(bytes: usize) -> String {
    repeated(
        r#"{"id": 12, "name": "Ada Lovelace", "city": "London", "tags": ["a", "b"], "active": true, "score": 0.25},"#,
        bytes,
    )
}

fn repeated(unit: &str, bytes: usize) -> String {
    unit.repeat(bytes / unit.len().max(1) + 1)
}
