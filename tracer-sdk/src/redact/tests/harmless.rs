//! Keys and strings that hold no secret.

use super::{redactor, verdict};
use crate::redact::KeyVerdict;

/// Keys of real payloads, configurations and databases.
const KEYS: &str = "
max_tokens prompt_tokens completion_tokens total_tokens tokens token_count tokenizer token_type token_type_ids
token_limit token_usage token_budget tokens_per_second input_tokens output_tokens cached_tokens reasoning_tokens
maxTokens promptTokens completionTokens totalTokens tokenCount tokenLimit tokenizerName tokensUsed num_tokens
max_output_tokens max_new_tokens stop_tokens special_tokens_map tokenization tokenized tokenize detokenize
secretary secretariat secretion secretly secret_name secret_id secret_arn secretVersion secrets_manager secretsPath
cookie_policy cookie_consent cookieBanner cookies_enabled cookie_jar cookie_name cookie_domain cookbook cook
password_policy password_length passwordless password_reset_url password_required password_min_length passwordField
authorization_url authorization_endpoint authorizationServer authorization_code_url authorized authorizations_count
api_key_id apiKeyName api_key_count api_keys_url api_version api_base api_url api_type api keyboard keynote monkey
turkey donkey hockey jockey whiskey keyword keywords key keys value hash header headers name names id ids
primary_key foreign_key sort_key partition_key cache_key public_key idempotency_key row_key group_key map_key
object_key key_id key_name key_type key_path key_size keyframe keyring_name hotkey hot_key shortcut_key access_key_id
author authors authority authenticated authentication auth_type auth_method auth_url oauth oauth2 author_name
user username user_name user_id email phone address city country zip first_name last_name full_name nickname avatar
model provider temperature top_p top_k frequency_penalty presence_penalty seed stream stop finish_reason role content
messages message prompt completion response request choices index logprobs usage created object system_fingerprint
tool tool_name tool_calls tool_call_id function arguments args result status error error_type error_message stack
trace_id span_id parent_span_id start_time end_time duration_ms attributes events kind spec_version run_name platform
state diff pattern pattern_type repetitions window_size evidence_event_ids threshold actual guardrail python_version
url uri path file filename directory query params body method host port scheme fragment timeout retries limit offset
page page_size cursor next previous count total sum average minimum maximum median variance deviation score rank label
title description summary text markdown html json xml yaml csv image audio video width height depth length size bytes
checksum digest sha256 md5 signature_algorithm fingerprint commit branch tag version revision build environment region
zone cluster namespace pod container service deployment replica cpu memory disk network latency throughput
passage passenger passport_country compass bypass pass_rate passed passing surpass secretKeyRef_name bearer_format
session_id sessionId session_name author_id coauthor authored authoring authoritative authority_url authentication_method
authenticator auth_provider authFlow auth_scheme auth_enabled auth_required oauth_scopes bearer_of_news bearers_name forbearer
passageway password_hint password_strength passkey_supported passive passes pass_count passCount first_pass_yield passport
trespass underpass overpass encompass compass_heading pwd_changed_at dsname dsn_count jwt_claims jwt_algorithm jwtIssuer
credential_type credential_id credentialsProvider credentialed accredited private_key_id privateKeyPath access_key_name
public_keys accessKeyId encryption_key_version signing_key_rotation encryption_algorithm signing_method keyboard_layout
next_token nextToken page_token nextPageToken next_page_token continuation_token ContinuationToken pagination_token
sync_token resume_token eos_token bos_token pad_token unk_token sep_token cls_token mask_token stop_token first_token
has_password hasPassword is_secret needs_token requires_auth show_password hide_secret has_api_key is_token user.hasPassword
accessible access_level accessory private_repo privacy secretariat_name cookie_count pat pattern path patch compat expat
";

/// Strings that agents handle every day.
const TEXTS: &[&str] = &[
    "550e8400-e29b-41d4-a716-446655440000",
    "commit 3b97704d3f0a5c9e8b7a6d5c4b3a29181706f5e4",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "https://example.org/docs?page=2&sort=name#top",
    "https://user@example.org/path",
    "postgres://localhost:5432/app",
    "postgres://user:password@localhost/app",
    "mail ali@example.org or //cdn.example.org/x.js",
    "password: String,",
    "pub fn new(api_key: &str, token: Option<String>) -> Self {",
    "let token = lexer.next_token();",
    "if token == TokenKind::Ident { return token; }",
    "self.password = password;",
    "token: Token, secret: Secret,",
    "match token { Token::Number(n) => n, _ => 0 }",
    "api_key = os.environ[\"OPENAI_API_KEY\"]",
    "const apiKey = process.env.API_KEY;",
    "API_KEY=$API_KEY ./run",
    "API_KEY=<your key>",
    "export OPENAI_API_KEY=your-api-key-here",
    "\"api_key\": \"YOUR_API_KEY\"",
    "\"password\": \"********\"",
    "password = \"${DB_PASSWORD}\"",
    "token: {{ .Values.token }}",
    "\"max_tokens\": 4096, \"token_count\": 12",
    "max_tokens=4096 TOKEN=4096",
    "{\"type\":\"object\",\"properties\":{\"password\":{\"type\":\"string\"}}}",
    "\"required\": [\"password\", \"api_key\"]",
    "The secret: practise every day.",
    "Authorization: required for all endpoints.",
    "The bearer of this letter is basic authentication exempt.",
    "Use bearer tokens or basic auth; cookies: enabled by default.",
    "Cookie: the small cake",
    "the key: value pairs = ok",
    "task-management-and-scheduling-system-2024",
    "disk-0123456789abcdef0123456789abcdef",
    "sk-learn-version-1-2-3-compatible",
    "risk-assessment-2024-report-final",
    "----- BEGIN -----",
    "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ2VydA==\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYI\n-----END PUBLIC KEY-----",
    "if text.starts_with(\"-----BEGIN PRIVATE KEY-----\") { true }",
    "primary_key=id sort_key=created_at cache_key=user:42",
    "git push --force-with-lease --token-file path --password-stdin",
    "use --password to set the password",
    "assert_eq!(key, \"value\");",
    "2026-11-21T03:47:22Z INFO server: listening on 127.0.0.1:8080",
    "Content-Type: application/json; charset=utf-8",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "eyJhIjoxfQ",
    "1.2.3-alpha.4+build.5",
    "std::collections::HashMap<String, Vec<u8>>",
    "a.b.c.d.e.f.g 10.0.0.1 3.14159.26535",
    "SKU12345 SKIING AIzawa gho npm_config_cache hf_hub_download",
    "xoxo",
    "token 'a' at line 3: unexpected token: '}'",
    "error: expected one of `:`, `;`, or `=`, found `password`",
    "秘密：パスワードを入力してください",
    "t.pass(\"tests/04-pass-ident.rs\"); t.compile_fail(\"tests/05-x.rs\");",
    "REG_NAME_PAT = r\"(?:[^\\[\\]%:/?#]|%[a-fA-F0-9]{2})*\"",
    "features = [\"Win32_Security_Credentials\", \"Win32_System_LibraryLoader\"]",
    "PWD=/home/ada/projects/agent-2024 OLDPWD=/home/ada",
    "pass: 12, fail: 0, auth: none, bearer: yes, jwt: no",
    "test result: ok. 124 passed; pass rate: 99.2%; auth=basic credentials: 'same-origin'",
    "fetch(url, { credentials: \"include\", mode: \"cors\" })",
    "mkdir -p a/b && docker run -p 8080:80 -w /srv image && ls -a /tmp",
    "grep -w password file.txt; set -x token; tar -xf archive.tar.gz -p",
    "login with the user name and the password that you were given",
    "the password 'admin' is too weak, said by 'somebody'",
    "INFO refreshed token request_id=\"req-9f8e7d6c\" and got token model=\"gpt-4o-2024-08-06\"",
    "bad password user=\"ada_lovelace9\" <secret name=\"db-creds-v2\"/> <PASSWORD type=\"xs:string\"/>",
    "<input type=password name=\"user_pass1\">",
    "secret:\n  value: {{ .Values.secret }}\n",
    "{\"pin\": \"493021\"} otp: 493021 backup_code=1234-5678 pinned=kv9ZpL2mQ8xW4tR7aB3d",
    "<key>name</key><string>Ada</string> <token>…</token> <password></password>",
    "<td>password</td><td>text</td> Option<Token>, Vec<Secret>>",
    "{\"name\": \"author\", \"value\": \"Ada Lovelace 1843\"}",
    "{\"name\": \"password\", \"type\": \"string\", \"description\": \"At least 12 signs.\"}",
    "[\"password\", \"api_key_2\", \"token_2024\"]",
    "getenv(\"API_TOKEN\") os.environ.get(\"DB_PASSWORD\", \"\") config.get(\"auth\", \"none\")",
    "password: get_env(\"DB_PASSWORD_2\"), token: Some(lexer.next()), secret: None,",
    "pip install --user file:///srv/wheels/pkg-1.2.whl",
    "npm i --user=https://a.b/c1",
    "docker run --user app:users2024 image",
    "chown --user root:wheel2023 file",
    "curl https://a.b/c; docker run --user app:users2024",
    "curl --user file:///srv/wheels/pkg-1.2.whl",
    "find_by_key(\"8f7a6b5c4d3e2f1a0b9c8d7e\"); repository.get_by_key('aB3dE5fG7hI9jK1lM3nO')",
    "repository.service_key(\"8f7a6b5c4d3e2f1a0b9c8d7e\")",
    "get_secret(\"arn:aws:secretsmanager:eu-west-1:123456789012:secret:Prod8Db9Pw-AbC123\")",
    "db_password = get_secret(\"arn:aws:secretsmanager:eu-west-1:123456789012:secret:Prod8Db9Pw-AbC123\")",
    "client.getSecret('projects/12345/secrets/Prod8Db9Pw7xY6z/versions/1')",
    "has_token(\"aB3dE5fG7hI9jK1lM3nO\")",
    "password: !secret db_password_2\ntoken: !vault |\n  text",
    "MasterUserPassword: !GetAtt Database.Password\nsecret: !Ref \"DbPassword2\"",
    "<Field showPassword={!showPassword} password: !this.state.showPassword, hasSecret: !!config.secret",
    "secrets:\n  - db-password-2\n  - api_key_2\nports:\n  - 80",
    "{\"label\":\"Password\",\"value\":\"Forgot it?\"}",
    "{\"name\":\"password\",\"type\":\"string\",\"default\":\"required text\"}",
    "{\"name\":\"password\",\"default\":\"\"}",
    "[[\"pass\",\"fail\"]]",
    "[[\"token\",\"count\"],[\"the\",\"120\"]]",
    "{\"name\":\"token\",\"value\":\"USDC\"}",
    "'token': [\n  (r'^a|b$', Text, ('#pop', 'name')),  # aren't\n  (r'[a-z]+', using(this))]",
    "{\"next_token\": \"CAESBgoEAbCdEf12345\", \"nextPageToken\": \"CAESBgoEAbCdEf12345\"}",
    "cancellation_token=CAESBgoEAbCdEf12345 cancelToken: CAESBgoEAbCdEf12345",
    "next_token=CAESBgoEAbCdEf12345 https://x.y/?pageToken=CAESBgoEAbCdEf12345",
    "\"eos_token\": \"<|endoftext1|>\", \"pad_token\": \"[PAD]x1234567\", \"unk_token\": \"unk12345678\"",
    "has_password: hunter2xyz, requires_auth=yes12345 \"has_api_key\": \"as of 2024-01\"",
    "pin: 17, \"pin\": \"D13\", otp: 26.1, pat = \"*.tar.gz\", \"sk\": \"ORDER#12\", cred: none, pw: wide",
    "FW=PW=WIDE pat = Pattern::new(\"some/**/needle2.txt\") x = 'aB3dE5fG7hI9' where password = ''",
    "| password | required |\n|---|---|\n| token | string |\n| api_key | The key of the API | secret | yes |",
    "<a name=\"password\">Reset it</a> <input name=\"token\"> <p name=\"author\">Ada 1843</p>",
    "Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhunter2xyz\r\n",
    "password: Optional[str] = None, token: str | None = None, secret?: string; let pass += 1",
    "password = \"\"\"\nThe text says what a password is.\n\"\"\" echo $$ PASSWORD $HOME $$",
    "secrets:\n  value: required\ntoken:\n  description: text\nother: aB3dE5fG7hI9",
    "mnemonic: mov, \"mnemonic\": \"vaddps\", storage_key: user/uploads/report-2024.pdf",
    "The bucket identified by `offset + 2^n` is empty. fn token(&self) -> Option<Token> { self.map(Vec::<u8>::new) }",
    "12345678:aab3c4d5e6f708192a3b4c5d6e7f8091a2b3c4",
    "sshpass -p $PASS ssh -p 2222 host",
    "C:\\token_type\\new.txt",
    "ENV PATH /usr/local/bin:$PATH\nENV TOKEN_LIMIT 4096",
];

#[test]
fn two_hundred_harmless_keys_stay() {
    let redactor = redactor();
    let keys: Vec<&str> = KEYS.split_whitespace().collect();
    assert!(keys.len() >= 200, "{}", keys.len());
    let hit: Vec<&&str> = keys
        .iter()
        .filter(|key| verdict(&redactor, key) != KeyVerdict::Keep)
        .collect();
    assert!(hit.is_empty(), "{hit:?}");
}

#[test]
fn harmless_strings_stay() {
    let redactor = redactor();
    let changed: Vec<String> = TEXTS
        .iter()
        .filter_map(|text| {
            let clean = redactor.text(text);
            (clean != *text).then(|| format!("{text} -> {clean}"))
        })
        .collect();
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}
