//! Every name of a secret in every place where programs, files and protocols put one: a random value survives nowhere.

use serde_json::{Value, json};

use super::fake_secrets::{Dice, leak};
use super::redactor;
use crate::redact::{RedactionSettings, Redactor};
use crate::redaction::Redaction;
use crate::settings::Settings;
use crate::write::payload::write_json;

/// Names of secrets that end in a redact key, as programs spell them.
const NAMES: &[&str] = &[
    "password",
    "Password",
    "PASSWORD",
    "api_key",
    "apiKey",
    "token",
    "access_token",
    "secret",
    "client_secret",
    "credentials",
    "auth",
    "bearer",
    "pass",
    "db_pass",
    "DB_PASS",
    "passwd",
    "pwd",
    "passphrase",
    "jwt",
    "dsn",
    "PGPASSWORD",
    "private_key",
    "privateKey",
    "access_key",
    "AWS_SECRET_ACCESS_KEY",
    "encryption_key",
    "signing_key",
    "x-api-key",
    "REDIS_AUTH",
    "ｐａｓｓｗｏｒｄ",
    "ＡＰＩ＿ＫＥＹ",
    "sas_token",
];

/// Those that end in none.
const NAMED_BY_LAST_WORD: &[&str] = &[
    "GITHUB_PAT",
    "password_confirmation",
    "passwordConfirm",
    "privateKeyPem",
    "SECRET_KEY_BASE",
    "root_pw",
    "ROOT_PW",
    "psk",
    "CREDS",
    "github_pat",
    "STRIPE_SK",
    "storage_key",
    "account_key",
    "totp",
    "otp",
    "pin",
    "mfa_code",
    "backupCode",
    "RECOVERY_CODE",
    "password_again",
    "passwordPlain",
];

/// All of them.
fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().chain(NAMED_BY_LAST_WORD).copied()
}

/// Places for a name (`§`) and a value (`¤`) in a text.
const TEXTS: &[&str] = &[
    // JSON, as it is, escaped, broken into lines.
    r#"{"§": "¤"}"#,
    r#"{"a":1,"§":"¤","b":2}"#,
    r#"{\"§\": \"¤\"}"#,
    r#"{\\\"§\\\":\\\"¤\\\"}"#,
    "{\"§\":\n  \"¤\"}",
    "{\"§\"\n:\n\"¤\"}",
    "{\"§\":\r\n\t\t\"¤\"}",
    r#"{\"§\":\n  \"¤\"}"#,
    r#"{"§":["¤"]}"#,
    r#"{"§" : "¤"}"#,
    // Values beside their names.
    r#"{"name": "§", "value": "¤"}"#,
    r#"{"name":"§","value":"¤"}"#,
    r#"{"key": "§", "value": "¤"}"#,
    r#"{\"name\": \"§\", \"value\": \"¤\"}"#,
    r#"{"name": "§", "type": "string", "value": "¤"}"#,
    "{\n  \"name\": \"§\",\n  \"value\": \"¤\"\n}",
    r#"{"Name":"§","Value":"¤"}"#,
    r#"{"field": "§", "value": "¤"}"#,
    r#"{"header":"§","value":"¤"}"#,
    r#"{"label":"§","value":"¤"}"#,
    r#"{"env": "§", "value": "¤"}"#,
    r#"{"name": "§", "type": "string", "default": "¤"}"#,
    r#"{"name":"§","env":"prod","value":"¤"}"#,
    r#"{"name":"§","label":"Kennwort","value":"¤"}"#,
    r#"{"name":"§","label":"§","value":"¤"}"#,
    r#"{"name":"§","default":null,"value":"¤"}"#,
    r#"{"name":"§","default":"","value":"¤"}"#,
    r#"{"name":"§","default":"changeme","env":"prod","value":"¤"}"#,
    "name = \"§\"\nenv = \"prod\"\nvalue = \"¤\"\n",
    "{'name': '§', 'value': '¤'}",
    "- name: §\n  value: ¤\n",
    "- name: §\n  value: \"¤\"\n",
    r#"<input name="§" type="hidden" value="¤">"#,
    r#"<add key="§" value="¤" />"#,
    r#"<property name="§" value="¤"/>"#,
    r#"[["§", "¤"], ["accept", "*"]]"#,
    r#"[["§","¤"]]"#,
    r#"[("§", "¤")]"#,
    "[('§', '¤')]",
    r#"[\"§\",\"¤\"]"#,
    r#"headers.insert("§", "¤")"#,
    "define('§', '¤');",
    // Code and its output.
    r#"Config { §: Some("¤") }"#,
    r#"Config { user: "ada", §: "¤", port: 1 }"#,
    "Config {\n    §: Some(\n        \"¤\",\n    ),\n}",
    r#"Config { §: Some(Secret("¤")) }"#,
    "{§: '¤'}",
    r#"{"§" => "¤"}"#,
    r#"§ => "¤""#,
    r#":§ => "¤""#,
    r#"§ = "¤""#,
    "§='¤'",
    r#"let §: &str = "¤";"#,
    r#"let § = String::from("¤");"#,
    "{User:ada §:¤ Port:1}",
    "&{User:ada §:¤}",
    "Config(user='ada', §='¤')",
    "namespace(§='¤')",
    "map[§:¤ user:ada]",
    r#"os.environ["§"] = "¤""#,
    r#"config["§"] = "¤""#,
    r#"§ := "¤""#,
    r#"$§ = "¤";"#,
    // Files.
    "§: ¤\n",
    "§: \"¤\"",
    "user: ada\n§: '¤'\nport: 1",
    "§: |\n  ¤\n",
    "§: >-\n  ¤\n",
    "§ = ¤\n",
    "§=¤\n",
    "[db]\n§ = \"¤\"\n",
    "spring.datasource.§=¤",
    "<§>¤</§>",
    "<ns:§>¤</ns:§>",
    "<§ type=\"text\">¤</§>",
    "<§><![CDATA[¤]]></§>",
    "<key>§</key>\n<string>¤</string>",
    "FROM x\nENV § ¤\nRUN y",
    "ENV §=¤",
    "ARG §=¤",
    "setenv § ¤",
    "set -gx § ¤",
    "export §=¤",
    "export §='¤'",
    "set §=¤",
    "$env:§ = \"¤\"",
    // Commands and protocols.
    "run --§=¤ --x",
    "run --§ ¤ --x",
    r#"["run", "--§", "¤"]"#,
    "https://example.org/?a=b&§=¤&c=d",
    "https://example.org/?§=¤",
    "§=¤&a=b",
    "a=b&§=¤",
    "§: ¤\r\nHost: x",
    "curl -H '§: ¤' x",
    "§：¤",
    "§＝¤",
    // Within structures in texts.
    r#"{"§": {"value": "¤", "of": "ada"}}"#,
    r#"{"§": [{"a": 1}, {"b": ["¤"]}], "c": 2}"#,
    r#"{\"§\": {\"user\": \"ada\", \"it\": \"¤\"}}"#,
    r#"{"§": ["¤"#,
    "{\"§\": [\n                                \"¤\"\n                                ]}",
    r#"{"§": {"a": "b", "c": ["¤"#,
    "§:\n  ¤\nport: 1",
    "§:\n  - ¤\n",
    "§:\n  - \"¤\"\n",
    "§=!¤",
    "§ = !¤\n",
    "§: !¤\n",
    "run --§=!¤ --x",
    "https://example.org/?a=b&§=!¤",
    "§ = \"\"\"¤\"\"\"",
    "§ = '''¤'''",
    "§ = N'¤'",
    "user[§]=¤&user[name]=ada",
    "Array\n(\n    [§] => ¤\n)",
    // What models write.
    "**§:** ¤",
    "**§**: ¤",
    "- **§:** `¤`",
    // Elements and attributes.
    "<property name=\"§\">¤</property>",
    "<entry key=\"§\" type=\"text\">¤</entry>",
    "<string name=\"§\"><![CDATA[¤]]></string>",
    "<setting name=\"§\" serializeAs=\"String\">\n  <value>¤</value>\n</setting>",
    // Assignments of other languages.
    "§ ?= ¤",
    "§ ::= ¤",
    "§ += ¤",
    "§: Optional[str] = \"¤\"",
    "§: str | None = '¤'",
    "private §?: string = '¤';",
    "var § string = \"¤\"",
    "char §[] = \"¤\";",
    "char §[64] = \"¤\";",
    "§ = E'¤'",
    "§=$'¤'",
    "§ = \"\"\"\n¤\n\"\"\"",
    "§ = '''\\\n  ¤'''",
    // Members below.
    "§:\n  value: ¤\n",
    "§:\n  user: ada\n  value: \"¤\"\n",
    // Calls.
    ".§(\"¤\")",
    "with_§('¤')",
];

/// Places for a value that no key rule needs.
const OTHER_TEXTS: &[&str] = &[
    "ALTER USER ada WITH PASSWORD '¤';",
    "CREATE USER a IDENTIFIED BY '¤'",
    "create user a identified by '¤';",
    "IDENTIFIED WITH mysql_native_password BY '¤'",
    "SET PASSWORD FOR 'a'@'h' = PASSWORD('¤');",
    "SET PASSWORD FOR ada = '¤';",
    "SET PASSWORD FOR 'ada'@'h' = '¤';",
    "set password for ada@h='¤'",
    "ALTER USER ada PASSWORD E'¤'",
    "CREATE ROLE a LOGIN ENCRYPTED PASSWORD '¤'",
    "machine h login u password ¤\n",
    "machine h\n  login u\n  password ¤\n",
    "machine h password ¤ login u\n",
    "default login u password ¤",
    "sshpass -p ¤ ssh h",
    "sshpass -p¤ ssh h",
    "sshpass -p '¤' ssh h",
    r#"["sshpass", "-p", "¤", "ssh"]"#,
    "mysql -u root -p¤ db",
    "mysqldump -uroot -p¤",
    "docker login -u ada -p ¤",
    "redis-cli -h x -a ¤ ping",
    "curl -u ada:¤ https://x",
    "curl -u 'ada:¤' x",
    "curl -uada:¤ https://x",
    "curl --user ada:¤ https://x",
    "curl --user=ada:¤ https://x",
    "curl --proxy-user 'ada:¤' https://x",
    "curl -X POST https://x \\\n  --user ada:¤ \\\n  -d x",
    "wget --user=ada:¤ https://x",
    "curl --user ada:¤ --proxy-user bob:¤ x",
    "IDENTIFIED\nBY '¤'",
    "IDENTIFIED\tBY '¤'",
    "IDENTIFIED WITH x\r\nBY '¤'",
    r"IDENTIFIED\nBY '¤'",
    r#"{"cmd":"agent \\\n--token ¤"}"#,
    r#"x\nPASSWORD "¤""#,
    r#"{"a":"x\ntoken: ¤"}"#,
    r#"{"a":"x\n\ttoken: ¤"}"#,
    r"x\nsecret: ¤",
    r"x\r\npwd=¤",
    r"x\nsshpass -p ¤ ssh",
    r"x\nmysql -p¤",
    "Client::new().service_key(\"¤\")",
    "set_service_key('¤')",
    "withServiceKey(\"¤\")",
    "verify_password(\"¤\")",
    "PGPASSWORD=¤ psql",
    "curl https://ada:¤@example.org",
    "Authorization: Basic ¤",
    "Authorization: Bearer ¤",
    "Cookie: sid=¤",
    "Set-Cookie: sid=¤; Path=/",
    "redis://:¤@h:6379",
    "<meta name=\"csrf-token\" content=\"¤\">",
];

fn value(dice: &mut Dice) -> String {
    dice.of(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        40,
    )
}

/// Names that are plausible where a place asks for a certain spelling.
fn fits(name: &str, place: &str) -> bool {
    // Code, elements, options and URLs have no such letters, and no function has a dash.
    if place.contains("§(") && name.contains('-') {
        return false;
    }
    name.is_ascii()
        || !(place.contains("--§")
            || place.contains("§>")
            || place.contains("<§")
            || place.contains("§(")
            || place.contains("[§]")
            || place.contains("ENV")
            || place.contains("set"))
}

#[test]
fn a_random_value_survives_in_no_text_that_names_it() {
    let redactor = redactor();
    let mut dice = Dice::new(21);
    let mut failures = Vec::new();
    let mut check = |text: &str, secret: &str| {
        let clean = redactor.text(text);
        if leak(secret, &clean).is_some() || redactor.text(&clean) != clean {
            failures.push(format!("{text:?} -> {clean:?}").replace(secret, "(secret)"));
        }
    };
    for place in TEXTS {
        for name in names().filter(|name| fits(name, place)) {
            let secret = value(&mut dice);
            let text = place.replace('§', name).replace('¤', &secret);
            check(&text, &secret);
            check(&format!("before it: x\n{text}\nafter it = y"), &secret);
        }
    }
    for place in OTHER_TEXTS {
        let secret = value(&mut dice);
        check(&place.replace('¤', &secret), &secret);
    }
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

/// Views of a file whose lines are `¤`, with what is before each line and behind it.
const VIEWS: &[(&str, &str, &str)] = &[
    ("", "", "\n"),
    ("", "     7→", "\n"),
    ("1 | ", "12 | ", "\n"),
    ("> ", "> ", "\n"),
    ("# ", "# ", "\n"),
    ("+", "+", "\n"),
    ("\"", "\"", "\\n\" +\n"),
    ("[\"", "\"", "\",\n"),
    ("a.pem:1:", "a.pem:2:", "\r\n"),
    ("[\"", "\"", "\","),
    ("[\\\"", "\\\"", "\\\","),
    ("", "    27\t", "\n"),
    ("", "", "\\\\n"),
];

#[test]
fn the_lines_of_a_private_key_go_whatever_is_around_them() {
    let redactor = redactor();
    let mut dice = Dice::new(26);
    let secrets: Vec<String> = (0..30).map(|_| value(&mut dice)).collect();
    for (first, before, behind) in VIEWS {
        let mut text = format!("{first}-----BEGIN RSA {} KEY-----{behind}", "PRIVATE");
        for secret in &secrets {
            text.extend([before, secret.as_str(), behind]);
        }
        text.extend([before, "-----END RSA PRIVATE KEY-----", behind, "after it"]);
        let expected = format!("{first}__REDACTED__{behind}after it");
        assert_eq!(redactor.text(&text), expected);
        assert_eq!(
            redactor.text(&format!("{text}\n{text}")),
            format!("{expected}\n{expected}")
        );
        assert_eq!(redactor.text(&expected), expected);
        let end = text.find(&format!("{before}-----END")).unwrap();
        // Views of a file that is cut off, alone and before a certificate.
        for rest in ["", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"] {
            let cut = format!("{}{rest}", &text[..end]);
            let clean = redactor.text(&cut);
            let left = secrets.iter().find(|secret| leak(secret, &clean).is_some());
            assert_eq!(left, None, "{clean}");
            assert!(
                clean.starts_with(&format!("{first}__REDACTED__")) && clean.ends_with(rest),
                "{clean}"
            );
            assert_eq!(redactor.text(&clean), clean);
        }
    }
    // A short last line, but not where a path is before it.
    for (first, before, behind) in VIEWS.iter().filter(|(_, before, _)| !before.contains('.')) {
        let begin = format!("{first}-----BEGIN {} KEY-----{behind}", "PRIVATE");
        let lines = [secrets[0].as_str(), "aB3dQ9==", "-----END PRIVATE KEY-----"];
        let lines = lines.map(|line| format!("{before}{line}{behind}")).concat();
        assert_eq!(
            redactor.text(&format!("{begin}{lines}after it")),
            format!("{first}__REDACTED__{behind}after it")
        );
    }
    for text in [
        "a.replace(\"-----BEGIN PRIVATE KEY-----\", \"\").replace(\"-----END PRIVATE KEY-----\", \"\")",
        "\"-----BEGIN PRIVATE KEY-----\" kv9ZpL2mQ8xW4tR7aB3dE5fG \"-----BEGIN PRIVATE KEY-----\" \"-----END PRIVATE KEY-----\"",
    ] {
        assert_eq!(redactor.text(text), text);
    }
}

#[test]
fn a_private_key_whose_end_is_cut_off_goes_line_by_line() {
    let redactor = redactor();
    let mut dice = Dice::new(27);
    let mut line = || format!("MIIE{}{}", value(&mut dice), &value(&mut dice)[..20]);
    for (text, expected) in [
        (
            "     1→-----BEGIN PRIVATE KEY-----\n     2→¤\n     3→¤\n",
            "     1→__REDACTED__\n",
        ),
        (
            "> -----BEGIN PRIVATE KEY-----\n> ¤\n> ¤==\n>\nThat was the key.",
            "> __REDACTED__\n>\nThat was the key.",
        ),
        (
            "| -----BEGIN RSA PRIVATE KEY-----\n| Proc-Type: 4,ENCRYPTED\n|\n| ¤\n| -----BEGIN CERTIFICATE-----\n| ¤",
            "| __REDACTED__\n| -----BEGIN CERTIFICATE-----\n| ¤",
        ),
        (
            r#"{"a": "1→-----BEGIN PRIVATE KEY-----\n2→¤\n3→¤\n"}"#,
            r#"{"a": "1→__REDACTED__\n"}"#,
        ),
    ] {
        let expected = expected.replace('¤', &line_of_certificate());
        let (key, certificate) = text.split_once("CERTIFICATE").unwrap_or((text, ""));
        let mut given: String = key.split('¤').map(|part| part.to_owned() + &line()).collect();
        given.truncate(given.len() - 64);
        if !certificate.is_empty() {
            given += "CERTIFICATE";
            given += &certificate.replace('¤', &line_of_certificate());
        }
        let clean = redactor.text(&given);
        assert_eq!(clean, expected);
        assert_eq!(redactor.text(&clean), expected);
    }
}

fn redactor_of_long_texts() -> Redactor {
    let settings = RedactionSettings {
        max_field_bytes: usize::MAX,
        ..RedactionSettings::default()
    };
    Redactor::new(&settings, [])
}

fn line_of_certificate() -> String {
    "MIIBszCCAVmgAwIBAgIUQ2VydA".repeat(2)
}

#[test]
fn the_end_of_a_key_is_found_across_the_limit_of_a_search() {
    let redactor = redactor_of_long_texts();
    let secret = value(&mut Dice::new(28));
    let label = format!("-----BEGIN {} KEY-----", "PRIVATE");
    let code = format!("\"{label}\" # 9f86d081884c7d659a2feaa0c55ad015\n");
    let block = format!("> {label}\n> {secret}\n> ");
    for before_limit in 0..12 {
        let filler = code.find("\" #").unwrap() + 64 * 1024 - code.len() - block.len() - before_limit;
        let prose = format!("{}\n", &"a b ".repeat(filler / 4 + 1)[1..filler]);
        let text = format!("{code}{prose}{block}-----END PRIVATE KEY-----\n");
        let clean = redactor.text(&text);
        assert!(
            clean == format!("{code}{prose}> __REDACTED__\n"),
            "{before_limit}: {} bytes",
            clean.len()
        );
    }
}

#[test]
fn code_between_the_labels_of_a_key_stays() {
    let redactor = redactor_of_long_texts();
    let code = "def words(text):\n    return text.split(\" \")\n\n".repeat(900);
    let text = format!(
        "BEGIN = \"-----BEGIN PRIVATE KEY-----\"  # since 9f86d081884c7d659a2feaa0c55ad015\n{code}\
         END = \"-----END PRIVATE KEY-----\"\n"
    );
    let clean = redactor.text(&text);
    assert!(clean == text, "{} of {} bytes", clean.len(), text.len());
}

#[test]
fn short_values_go_where_their_place_says_that_they_are_meant() {
    let redactor = redactor();
    for text in [
        "<property name=\"password\">¤</property><property name=\"port\">80</property>",
        "<entry key=\"db.password\">¤</entry>",
        "SET PASSWORD FOR ada = '¤'",
        r"name: password\r\nvalue: ¤2xyz!\r\n",
        r"- name: password\n\tvalue: ¤2xyz!\n",
        "{\"name\":\n\"password\",\"value\":\"¤\"}",
        "curl --user a:¤2xyz --proxy-user b:s¤9 x",
        "[DB_PASSWORD]=¤",
        "[SERVICE_KEY]=¤-horse-9",
        "SERVICE_KEY string = \"¤-horse-9\"",
        "password:\n  user: ada\n  value: ¤2xyz!\n",
    ] {
        // Letters right behind the secret are part of it here.
        let expected = ["2xyz!", "2xyz", "-horse-9"]
            .iter()
            .fold(text.replace("s¤9", "¤"), |text, rest| {
                text.replace(&format!("¤{rest}"), "¤")
            })
            .replace('¤', "__REDACTED__");
        assert_eq!(redactor.text(&text.replace('¤', "hunter")), expected);
        assert_eq!(redactor.text(&expected), expected);
    }
}

#[test]
fn a_short_secret_goes_whole_and_no_more_than_it() {
    let redactor = redactor();
    for (text, secret) in [
        // Members and variables without quotes.
        ("- name: DB_PASSWORD\n  value: ¤\n", "Tr0ub4dor&3"),
        ("- key: DB_PASSWORD\n  value: ¤\n", "x9$k;l|m"),
        ("- {name: DB_PASSWORD, value: ¤, of: ada}", "x9$k;l|m"),
        ("DB_PASSWORD= ¤", "sunshine"),
        ("DB_PASSWORD= ¤", "20240101"),
        ("export DB_PASSWORD= ¤", "Tr0ub4dor&3"),
        // Letters before quotes.
        ("api_key = br\"¤\"", "kv9ZpL2mQ8xW4tR7aB3d"),
        ("api_key = rb'¤'", "kv9ZpL2mQ8xW4tR7aB3d"),
        ("api_key = $@\"¤\"", "kv9ZpL2mQ8xW4tR7aB3d"),
        ("password: Some(b\"¤\")", "hunter2xyz"),
        // Three quotes.
        (
            "API_SECRET=\"\"\"\n¤\n\"\"\"\nport = 1",
            "first9line\nsecond9line",
        ),
        ("API_SECRET=\"\"\"¤\"\"\" # a", "a'b\"c9xyz"),
        // Elements.
        ("<key>Password</key><string>¤</string>", "sunshine"),
        ("<param><name>password</name><value>¤</value></param>", "12345678"),
        ("<property name=\"db.password\">¤</property>", "12345678"),
        (
            "<setting name=\"db_password\"><value>¤</value></setting>",
            "12345678",
        ),
        // Lines below a name, as deep as it is.
        ("a:\n  token:\n    value: ¤\n", "hunter2"),
        (
            "  secret:\n    it: ¤\n  commit: Zk3mQ8xW4tR7aB3dLp9",
            "kv9ZpL2mQ8xW4tR7aB3d",
        ),
        (
            "  secret:\n  - ¤\n  commit: Zk3mQ8xW4tR7aB3dLp9",
            "kv9ZpL2mQ8xW4tR7aB3d",
        ),
        (
            r"a: 1\n  secret:\n    it: ¤\n  commit: Zk3mQ8xW4tR7aB3dLp9",
            "kv9ZpL2mQ8xW4tR7aB3d",
        ),
        // Commands and queries.
        ("mysql -p¤;ls -la", "hunter2xyz"),
        ("mysql -p¤|grep x", "hunter2xyz"),
        ("https://example.org/?token=¤,word(1)", "p@ss"),
        ("run --token=¤,word(1)", "p@ss"),
    ] {
        let expected = text.replace('¤', "__REDACTED__");
        assert_eq!(redactor.text(&text.replace('¤', secret)), expected);
        assert_eq!(redactor.text(&expected), expected);
    }
}

/// Places for a name and a value in a structure.
fn structures(name: &str, value: &str) -> Vec<Value> {
    vec![
        json!({name: value}),
        json!({name: [value]}),
        json!({name: {"inner": value}}),
        json!({"name": name, "value": value}),
        json!({"key": name, "value": value}),
        json!({"name": name, "type": "string", "value": value}),
        json!({"header": name, "value": value}),
        json!({"param": name, "value": [value]}),
        json!({"variableName": name, "variableValue": value}),
        json!({"name": name, "env": "prod", "value": value}),
        json!({"env": name, "name": "prod", "value": value}),
        json!({"name": name, "label": "Kennwort", "value": value}),
        json!({"name": name, "default": "", "value": value}),
        json!({"value": value, "default": "", "name": name}),
        json!({"default": "", "value": value, "name": name}),
        json!({"value": value, "name": "prod", "env": name}),
        json!({"k": name, "v": value}),
        json!({"headers": [[name, value], ["accept", "*/*"]]}),
        json!([[name, value]]),
        json!([["accept", "*/*"], [name, value]]),
        json!([name, value]),
        json!(["accept", "*/*", name, value]),
        json!({"argv": ["run", format!("--{name}"), value]}),
        json!([{"name": "user", "value": "ada"}, {"name": name, "value": value}]),
        json!({"name": "outer", "value": {"name": name, "value": value}}),
    ]
}

#[test]
fn a_random_value_survives_in_no_structure_that_names_it() {
    let redactor = redactor();
    let redaction = Redaction::new(&Settings::with_data_dir("unused"), []);
    let mut dice = Dice::new(22);
    let mut failures = Vec::new();
    for name in names() {
        let secret = value(&mut dice);
        for structure in structures(name, &secret) {
            let mut written = Vec::new();
            write_json(&structure, &redactor, &mut written);
            let written = String::from_utf8(written).unwrap();
            assert!(serde_json::from_str::<Value>(&written).is_ok(), "{written}");
            let (cleaned, changed) = redaction.value(structure.clone());
            let cleaned = cleaned.to_string();
            // Only a text is distinguished from an identity by its form.
            let is_text = structure
                .as_object()
                .is_none_or(|members| members.values().all(Value::is_string));
            if NAMED_BY_LAST_WORD.contains(&name) && !is_text {
                continue;
            }
            if leak(&secret, &written).is_some() || leak(&secret, &cleaned).is_some() || changed == 0 {
                failures.push(format!("{structure} -> {written} and {cleaned}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

/// Texts in which each `¤` stands for another secret, and what is left of them.
const SEVERAL: &[(&str, &str)] = &[
    (
        r#"{"api_keys":["¤"]} request_id=id-1 done"#,
        r#"{"api_keys":["¤"]} request_id=id-1 done"#,
    ),
    (
        "{\"x-api-key\": [\"¤\"]}\n[{\"id\": \"id-1\"}]",
        "{\"x-api-key\": [\"¤\"]}\n[{\"id\": \"id-1\"}]",
    ),
    (
        r#"{"password": ["¤", {"note": "¤"}], "c": 1}"#,
        r#"{"password": ["¤", {"note": "¤"}], "c": 1}"#,
    ),
    (
        r#"{"secret": {"a": "¤", "n": {"b": "¤"}}, "c": 1}"#,
        r#"{"secret": {"a": "¤", "n": {"b": "¤"}}, "c": 1}"#,
    ),
    (
        r#"{\"secret\": {\"a\": \"¤\", \"n\": [1, \"¤\"], \"d\": \"e\", \"f\": \"¤\"}, \"c\": 1}"#,
        r#"{\"secret\": {\"a\": \"¤\", \"n\": [1, \"¤\"], \"d\": \"e\", \"f\": \"¤\"}, \"c\": 1}"#,
    ),
    (
        r#"{"secret": {"kept": "text", "password": "¤", "token": 5, "b": "¤"}}"#,
        r#"{"secret": {"kept": "text", "password": "¤", "token": 5, "b": "¤"}}"#,
    ),
    (
        r#"{"name": "password", "type": "token=¤", "value": "¤"}"#,
        r#"{"name": "password", "type": "token=¤", "value": "¤"}"#,
    ),
    (
        r#"{"secret": {"a": "¤", "password": "¤", "kept": "text", "b": "¤"}}"#,
        r#"{"secret": {"a": "¤", "password": "¤", "kept": "text", "b": "¤"}}"#,
    ),
    (
        r#"{"tokens_key": ["¤", "¤", "¤"], "c": 1}"#,
        r#"{"tokens_key": ["¤", "¤", "¤"], "c": 1}"#,
    ),
    (
        r#"{"passwords": ["", "¤", "", "¤"]}"#,
        r#"{"passwords": ["", "¤", "", "¤"]}"#,
    ),
    (
        "passwords:\n  - ¤\n  - ¤\n  - \"¤\"\n  - ¤\nport: 1",
        "passwords:\n  - ¤\n  - ¤\n  - \"¤\"\n  - ¤\nport: 1",
    ),
    (
        r#"{"a": "api_keys:\n  - ¤\n  - ¤ # a \ b\r\n  - \"¤\"\r\n  - ¤\n"}"#,
        r#"{"a": "api_keys:\n  - ¤\n  - ¤ # a \ b\r\n  - \"¤\"\r\n  - ¤\n"}"#,
    ),
    (
        "passwords:\n  - __REDACTED__\n  - ¤\n",
        "passwords:\n  - __REDACTED__\n  - ¤\n",
    ),
    (
        "tokens_key:\n- ¤\n- kept\n- ¤\n- kept",
        "tokens_key:\n- ¤\n- kept\n- ¤\n- kept",
    ),
    (
        r#"{"name": "password", "type": "text", "value": "¤", "values": "¤"}"#,
        r#"{"name": "password", "type": "text", "value": "¤", "values": "¤"}"#,
    ),
];

#[test]
fn all_texts_of_a_long_list_go_whatever_is_between() {
    let redactor = redactor();
    let mut dice = Dice::new(25);
    let secrets: Vec<String> = (0..30).map(|_| value(&mut dice)).collect();
    for between in ["\", \"", "\", \"\", \"", "\",\n  \"", "\", null, \""] {
        let text = format!("{{\"passwords\": [\"{}\"]}}", secrets.join(between));
        let clean = redactor.text(&text);
        let left = secrets.iter().find(|secret| leak(secret, &clean).is_some());
        assert_eq!(left, None, "{clean}");
        assert_eq!(redactor.text(&clean), clean);
    }
    for between in ["\n  - ", " # old\n\n  - "] {
        let text = format!("passwords:\n  - {}\n", secrets.join(between));
        let clean = redactor.text(&text);
        let left = secrets.iter().find(|secret| leak(secret, &clean).is_some());
        assert_eq!(left, None, "{clean}");
    }
}

#[test]
fn each_of_several_secrets_goes_and_what_is_between_stays() {
    let redactor = redactor();
    let mut dice = Dice::new(23);
    let mut failures = Vec::new();
    for (text, expected) in SEVERAL {
        let mut given = String::new();
        for (number, part) in text.split('¤').enumerate() {
            if number > 0 {
                given += &value(&mut dice);
            }
            given += part;
        }
        let clean = redactor.text(&given);
        let expected = expected.replace('¤', "__REDACTED__");
        if clean != expected || redactor.text(&clean) != clean {
            failures.push(format!("{given} -> {clean}"));
        }
    }
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_secret_that_begins_with_a_sign_goes_without_quotes() {
    let redactor = redactor();
    for text in [
        "DB_PASSWORD=¤",
        "password: ¤",
        "password: ¤ and more",
        "https://example.org/?password=¤&page=2",
        "psql --password=¤ -h x",
        "password = ¤",
    ] {
        let clean = redactor.text(&text.replace('¤', "!Hunter2xyz9")).into_owned();
        assert_eq!(clean, text.replace('¤', "__REDACTED__"));
    }
    let secret = value(&mut Dice::new(24));
    for sign in ["!", "&", "*"] {
        let clean = redactor
            .text(&format!("export DB_PASSWORD={sign}{secret}"))
            .into_owned();
        assert_eq!(clean, "export DB_PASSWORD=__REDACTED__");
    }
}

#[test]
fn short_names_count_where_their_values_look_like_it() {
    let redactor = redactor();
    for (text, secret) in [
        ("pw=¤", "hunter2xyz"),
        ("root_pw: ¤", "hunter2xyz"),
        ("ROOT_PW=¤", "hunter"),
        ("{\"pw\": \"¤\"}", "hunter2xyz"),
        ("psk=\"¤\"", "hunter2xyz"),
        ("CREDS=¤", "ada/hunter2"),
        ("{\"pat\": \"¤\"}", "kv9ZpL2mQ8xW4tR7aB3d"),
    ] {
        let expected = text.replace('¤', "__REDACTED__");
        assert_eq!(redactor.text(&text.replace('¤', secret)), expected);
        assert_eq!(redactor.text(&expected), expected);
    }
}

/// An object whose members stay in their order.
struct Ordered(Vec<(String, Value)>);

impl Ordered {
    fn from_text(text: &str) -> Self {
        let members = text.trim_matches(['{', '}']).split(',').map(|member| {
            let (key, value) = member.split_once(':').unwrap();
            (
                serde_json::from_str(key).unwrap(),
                serde_json::from_str(value).unwrap(),
            )
        });
        Self(members.collect())
    }
}

impl serde::Serialize for Ordered {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[test]
fn a_short_value_beside_its_name_goes_whatever_is_beside_it() {
    let redactor = redactor();
    let redaction = Redaction::new(&Settings::with_data_dir("unused"), []);
    for members in [
        r#""name":"DB_PASSWORD","env":"prod","value":"¤""#,
        r#""name":"password","label":"Kennwort","value":"¤""#,
        r#""name":"password","default":null,"value":"¤""#,
        r#""name":"password","default":"","value":"¤""#,
        r#""label":"Password","value":"¤""#,
        r#""label":"Secret","name":"SERVICE_KEY","value":"¤""#,
        r#""name":"password","type":"string","default":"¤""#,
    ] {
        let text = format!("{{{}}}", members.replace('¤', "hunter2xx"));
        let expected = format!("{{{}}}", members.replace('¤', "__REDACTED__"));
        let mut written = Vec::new();
        write_json(&Ordered::from_text(&text), &redactor, &mut written);
        assert_eq!(String::from_utf8(written).unwrap(), expected);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            redaction.value(value).0,
            serde_json::from_str::<Value>(&expected).unwrap()
        );
        assert_eq!(redactor.text(&text), expected);
    }
}

#[test]
fn numbers_and_short_texts_right_beside_the_name_of_a_token_go() {
    let redactor = redactor();
    let redaction = Redaction::new(&Settings::with_data_dir("unused"), []);
    for (given, expected) in [
        (
            json!({"name": "pass", "value": "493021"}),
            json!({"name": "pass", "value": "__REDACTED__"}),
        ),
        (
            json!([["auth", "12345678"], ["auth", "none"]]),
            json!([["auth", "__REDACTED__"], ["auth", "none"]]),
        ),
        (json!(["-pass", "493021"]), json!(["-pass", "__REDACTED__"])),
        (json!(["-pass", "hunter"]), json!(["-pass", "__REDACTED__"])),
        (
            json!({"label": "token", "value": "hunter2x9"}),
            json!({"label": "token", "value": "__REDACTED__"}),
        ),
    ] {
        let mut written = Vec::new();
        write_json(&given, &redactor, &mut written);
        assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), expected);
        assert_eq!(redaction.value(given).0, expected);
    }
}

#[test]
fn a_container_beside_its_name_goes_and_a_number_stays() {
    let written = |value: Value| {
        let mut out = Vec::new();
        let written = write_json(
            &[json!({"name": "password", "value": value})],
            &redactor(),
            &mut out,
        );
        (
            serde_json::from_slice::<Value>(&out).unwrap()[0]["value"].clone(),
            written.redacted,
        )
    };
    for value in [
        json!("hunter"),
        json!({"deep": ["hunter"]}),
        json!("a \"quoted\" one"),
    ] {
        assert_eq!(written(value), (json!("__REDACTED__"), 1));
    }
    for value in [json!(5), json!(true), json!(null), json!("")] {
        assert_eq!(written(value.clone()), (value, 0));
    }
}

#[test]
fn names_beside_names_and_values_beside_harmless_names_stay() {
    let redactor = redactor();
    let redaction = Redaction::new(&Settings::with_data_dir("unused"), []);
    let harmless = [
        json!({"name": "max_tokens", "value": "4096"}),
        json!({"name": "password", "value": null, "required": true}),
        json!({"name": "token", "value": 5}),
        json!({"name": "token", "value": "USDC"}),
        json!([["pass", "fail"]]),
        json!([["token", "count"], ["the", "120"]]),
        json!({"name": "author", "value": "Ada Lovelace"}),
        json!({"name": "session_id", "value": "abc"}),
        json!({"name": "password", "type": "string", "description": "The password to use."}),
        json!({"type": "object", "required": ["password", "api_key", "token_2"], "properties": {"password_policy": {"type": "string"}}}),
        json!({"columns": ["user", "password", "email"]}),
        json!(["token", "count"]),
        json!(["the password", "is missing"]),
        json!({"role": "tool", "name": "get_token", "content": "three apples"}),
        json!({"label": "Password", "value": "Forgot it?"}),
        json!({"name": "password", "type": "string", "default": "required text"}),
        json!({"name": "password", "type": "string", "default": ""}),
        json!({"default": "", "type": "string", "name": "password"}),
        json!({"name": "password", "value": ""}),
        json!({"name": "auth", "type": "object", "default": {"scheme": "none"}}),
        json!({"label": "Password", "value": {"min": 6, "rule": "letters"}}),
        json!({"pass": true, "auth": false, "max_tokens": 5, "token": 7, "password": 3, "cookies": 0}),
    ];
    for value in harmless {
        let mut written = Vec::new();
        write_json(&value, &redactor, &mut written);
        assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), value);
        assert_eq!(redaction.value(value.clone()), (value.clone(), 0));
        let text = value.to_string();
        assert_eq!(redactor.text(&text), text);
    }
}

#[test]
fn values_of_variables_with_secret_like_names_go_and_others_stay() {
    let secret = |number: usize| format!("correct-horse-{number:03}");
    let names = [
        "PGPASSWORD",
        "DB_PASS",
        "REDIS_AUTH",
        "GITHUB_PAT",
        "MYSQL_PWD",
        "SSHPASS",
        "SENTRY_DSN",
        "APP_JWT",
        "AWS_SECRET_ACCESS_KEY",
        "OPENAI_API_KEY",
        "SERVICE_KEY",
        "NPM_TOKEN",
        "RABBITMQ_DEFAULT_PASS",
        "VAULT_CREDENTIALS",
        "SMTP_PASSWD",
        "KEY_PASSPHRASE",
        "BEARER",
    ];
    // Also when the settings name other keys.
    let settings = RedactionSettings {
        redact_keys: vec!["iban".to_owned()],
        ..RedactionSettings::default()
    };
    let environment = || {
        names
            .iter()
            .enumerate()
            .map(|(number, name)| ((*name).to_owned(), secret(number)))
    };
    for redactor in [
        Redactor::new(&RedactionSettings::default(), environment()),
        Redactor::new(&settings, environment()),
    ] {
        for (number, name) in names.iter().enumerate() {
            assert_eq!(
                redactor.text(&format!("it says {}.", secret(number))),
                "it says __REDACTED__.",
                "{name}"
            );
        }
    }
    let harmless = [
        ("PWD", "/home/ada/project"),
        ("OLDPWD", "/home/ada/another"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/google/key.json"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-agent"),
        ("XAUTHORITY", "/home/ada/.Xauthority"),
        ("REDIS_AUTH", "required"),
        ("GIT_ASKPASS", "/usr/bin/askpass"),
        ("HOME", "/home/ada"),
        ("COMPASS", "north-west"),
        ("MAX_TOKENS", "100000000"),
        ("TESTS_PASS", "10000000"),
        ("AUTHOR", "Ada Lovelace"),
    ];
    let redactor = Redactor::new(
        &RedactionSettings::default(),
        harmless.map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    for (name, value) in harmless {
        assert_eq!(redactor.text(value), value, "{name}");
    }
}
