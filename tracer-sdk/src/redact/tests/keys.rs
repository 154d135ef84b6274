//! The key rule, and arguments.

use super::{redactor, verdict};
use crate::redact::{KeyVerdict, RedactionSettings, Redactor};

const SECRET: &[&str] = &[
    "api_key",
    "apikey",
    "apiKey",
    "ApiKey",
    "APIKey",
    "API_KEY",
    "APIKEY",
    "api-key",
    "api.key",
    "api key",
    "X-Api-Key",
    "x-apikey",
    "openai_api_key",
    "OPENAI_API_KEY",
    "OpenAIApiKey",
    "openaiAPIKey",
    "api_keys",
    "apiKeys",
    "api_key_2",
    "api_key2",
    "apiKey_1_",
    "api_key_value",
    "apiKeyHeader",
    "api_key_hash",
    "authorization",
    "Authorization",
    "Proxy-Authorization",
    "authorizationHeader",
    "proxyAuthorization",
    "cookie",
    "cookies",
    "Set-Cookie",
    "session_cookie",
    "sessionCookies",
    "cookieHeader",
    "cookie_value",
    "password",
    "Password",
    "PASSWORD",
    "db.password",
    "db_password",
    "userPassword",
    "passwords",
    "password1",
    "password_hash",
    "passwordHash",
    "password-hash",
    "new_password_2",
    "plain_password",
    "user[password]",
    "password?",
    "secret",
    "secrets",
    "clientSecret",
    "client_secret",
    "client-secrets",
    "secretKey",
    "SECRET_KEY",
    "secret_value",
    "aws secret",
    "oauth2Secret",
    "secret_key_hash",
];

const TOKEN: &[&str] = &[
    "token",
    "Token",
    "TOKEN",
    "access_token",
    "accessToken",
    "authToken",
    "refresh-token",
    "csrf.token",
    "tokenHash",
    "token_value",
    "oauth2Token",
    "OAUTH2Token",
    "token_2",
    "token2",
    "id token",
    "X-Auth-Token",
    "bearerTOKEN",
];

/// Keys under which random values passed once, and their relatives.
const SINCE_RANDOM_VALUES_PASSED: &[&str] = &[
    "credential",
    "credentials",
    "awsCredentials",
    "db-credentials",
    "auth",
    "Auth",
    "basic_auth",
    "redisAuth",
    "REDIS_AUTH",
    "bearer",
    "Bearer",
    "authBearer",
    "pass",
    "db_pass",
    "DB_PASS",
    "dbPass",
    "smtp.pass",
    "passwd",
    "rootPasswd",
    "pwd",
    "userPwd",
    "MYSQL_PWD",
    "passphrase",
    "key_passphrase",
    "jwt",
    "sessionJwt",
    "dsn",
    "SENTRY_DSN",
    "sentryDsn",
    "PGPASSWORD",
    "pgpassword",
    "dbpassword",
    "userpassword",
    "MYPASSWORD",
    "sshpass",
    "SSHPASS",
    "dbpass",
    "authtoken",
    "accesstoken",
    "clientsecret",
    "openaiapikey",
    "private_key",
    "privateKey",
    "PRIVATE-KEY",
    "private_keys",
    "access_key",
    "accessKey",
    "secret_access_key",
    "AWS_SECRET_ACCESS_KEY",
    "awsSecretAccessKey",
    "encryption_key",
    "encryptionKey",
    "signing_key",
    "signingKeys",
    "secretkey",
    "privatekey",
    "auth_header",
    "authKey",
    "jwt_value",
    "pass_hash",
    "ｐａｓｓｗｏｒｄ",
    "ＰＡＳＳＷＯＲＤ",
    "ｄｂ＿ｐａｓｓ",
    "api\u{200b}_key",
];

#[test]
fn numbers_and_booleans_survive_under_default_keys_only() {
    let settings = RedactionSettings {
        redact_keys: vec!["pin".into(), "password".into()],
        ..RedactionSettings::default()
    };
    let redactor = Redactor::new(&settings, []);
    assert_eq!(verdict(&redactor, "card_pin"), KeyVerdict::Secret);
    assert_eq!(verdict(&redactor, "password"), KeyVerdict::SecretUnlessNumber);
}

#[test]
fn keys_whose_last_words_are_a_redact_key_match() {
    let redactor = redactor();
    for key in SECRET.iter().chain(TOKEN).chain(SINCE_RANDOM_VALUES_PASSED) {
        assert_eq!(verdict(&redactor, key), KeyVerdict::SecretUnlessNumber, "{key}");
    }
}

#[test]
fn redact_keys_of_the_user_are_compared_by_words_too() {
    let settings = RedactionSettings {
        redact_keys: vec!["Social-Security-Number".into(), String::new(), "--".into()],
        ..RedactionSettings::default()
    };
    let redactor = Redactor::new(&settings, []);
    for key in [
        "social_security_number",
        "socialSecurityNumbers",
        "user.SocialSecurityNumberHash",
    ] {
        assert_eq!(verdict(&redactor, key), KeyVerdict::Secret, "{key}");
    }
    for key in ["security_number", "asocial_security_number", "password", "", "-"] {
        assert_eq!(verdict(&redactor, key), KeyVerdict::Keep, "{key}");
    }
}

#[test]
fn redact_keys_of_the_user_count_in_texts_however_they_are_divided() {
    let keys = [
        "tax_id",
        "client_id",
        "account_no",
        "employeeNr",
        "credit card no",
        "my_x",
        "has_ignore",
        "app_asset",
        "work_eyes",
        "steuernummer",
        "ÜB_ER",
    ];
    let settings = RedactionSettings {
        redact_keys: keys.map(str::to_owned).to_vec(),
        ..RedactionSettings::default()
    };
    let redactor = Redactor::new(&settings, []);
    let spelled = |key: &str, separator: &str| key.replace('_', separator);
    for key in keys {
        for name in [
            key.to_owned(),
            key.to_uppercase(),
            spelled(key, ""),
            spelled(key, "-"),
            spelled(key, "."),
            spelled(key, "__"),
        ] {
            for text in [
                format!("\"{name}\": \"¤\""),
                format!("<{name}>¤</{name}>"),
                format!("{name}=¤"),
            ] {
                // A blank ends a name without quotes.
                if name.contains(' ') && !text.starts_with('"') {
                    continue;
                }
                let given = text.replace('¤', "kv9ZpL2mQ8xW4tR7aB3dE5fG");
                assert_eq!(redactor.text(&given), text.replace('¤', "__REDACTED__"));
            }
        }
    }
    for text in [
        "taxi_drive=kv9ZpL2mQ8xW4tR7",
        "\"paid\": \"kv9ZpL2mQ8xW4tR7aB3dE5fG\"",
    ] {
        assert_eq!(redactor.text(text), text);
    }
}

#[test]
fn without_redaction_every_key_stays() {
    let settings = RedactionSettings {
        redact: false,
        ..RedactionSettings::default()
    };
    assert_eq!(
        verdict(&Redactor::new(&settings, []), "password"),
        KeyVerdict::Keep
    );
}

#[test]
fn values_of_matching_options_go() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["a", "--api-key=v", "x"], &["a", "--api-key=__REDACTED__", "x"]),
        (
            &["a", "--api-key", "v", "x"],
            &["a", "--api-key", "__REDACTED__", "x"],
        ),
        (&["a", "-token", "v"], &["a", "-token", "__REDACTED__"]),
        (&["a", "-password=v=w"], &["a", "-password=__REDACTED__"]),
        (
            &["a", "--token", "5", "--token=true", "--max-tokens", "v"],
            &["a", "--token", "5", "--token=true", "--max-tokens", "v"],
        ),
        (
            &["a", "--password", "--user", "v"],
            &["a", "--password", "--user", "v"],
        ),
        (
            &["a", "--password", "-starts-with-a-dash"],
            &["a", "--password", "__REDACTED__"],
        ),
        (&["a", "--password", "-u", "v"], &["a", "--password", "-u", "v"]),
        (&["a", "--password"], &["a", "--password"]),
        (
            &["a", "password", "v", "-", "--", "-1"],
            &["a", "password", "v", "-", "--", "-1"],
        ),
        (
            &["env", "DB_PASSWORD=hunter22", "a"],
            &["env", "DB_PASSWORD=__REDACTED__", "a"],
        ),
        (
            &["curl", "-H", "Cookie: a=b; c=d"],
            &["curl", "-H", "Cookie: __REDACTED__"],
        ),
        (
            &["a", "--secret-access-key", "kv9ZpL2mQ8xW4tR7"],
            &["a", "--secret-access-key", "__REDACTED__"],
        ),
    ];
    let redactor = redactor();
    for (given, expected) in cases {
        assert_eq!(
            redactor.arguments(given.iter().map(ToString::to_string)),
            *expected
        );
    }
}
