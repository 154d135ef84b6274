//! The published formats of provider keys: a prefix, what the rest is made of, how long it is at least.

use crate::redact::byte_set::ByteSet;

/// A published token format.
pub(super) struct TokenFormat {
    pub(super) prefix: &'static [u8],
    /// What the rest is made of.
    pub(super) body: &'static ByteSet,
    /// The shortest rest.
    pub(super) shortest: usize,
    /// Whether the prefix is so common that it must begin a word, and the rest must look random.
    pub(super) is_common: bool,
}

const fn distinct(prefix: &'static str, body: &'static ByteSet, shortest: usize) -> TokenFormat {
    TokenFormat {
        prefix: prefix.as_bytes(),
        body,
        shortest,
        is_common: false,
    }
}

const fn common(prefix: &'static str, body: &'static ByteSet, shortest: usize) -> TokenFormat {
    TokenFormat {
        prefix: prefix.as_bytes(),
        body,
        shortest,
        is_common: true,
    }
}

static ALPHANUMERIC: ByteSet = ByteSet::alphanumeric_and(b"");
static URL_SAFE: ByteSet = ByteSet::alphanumeric_and(b"-_");
static URL_SAFE_OR_DOT: ByteSet = ByteSet::alphanumeric_and(b"-_.");
static PATH: ByteSet = ByteSet::alphanumeric_and(b"-_/");
static ANY_BASE64: ByteSet = ByteSet::alphanumeric_and(b"-_+/=");
static CAPITAL_OR_DIGIT: ByteSet = ByteSet::of(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
static HEX: ByteSet = ByteSet::of(b"0123456789ABCDEFabcdef");

/// The formats, from the providers' own documentation.
pub(super) const FORMATS: &[TokenFormat] = &[
    // Model providers.
    common("sk-", &URL_SAFE, 20),
    distinct("sk-ant-", &URL_SAFE, 16),
    distinct("sk-proj-", &URL_SAFE, 16),
    distinct("sk-svcacct-", &URL_SAFE, 16),
    distinct("sk-admin-", &URL_SAFE, 16),
    distinct("sk-or-v1-", &URL_SAFE, 16),
    distinct("sk-lf-", &URL_SAFE, 16),
    distinct("AIza", &URL_SAFE, 30),
    common("hf_", &ALPHANUMERIC, 24),
    distinct("api_org_", &ALPHANUMERIC, 24),
    common("gsk_", &ALPHANUMERIC, 24),
    common("xai-", &ALPHANUMERIC, 24),
    common("r8_", &ALPHANUMERIC, 24),
    common("pplx-", &ALPHANUMERIC, 24),
    common("nvapi-", &URL_SAFE, 24),
    common("fw_", &ALPHANUMERIC, 20),
    common("tvly-", &URL_SAFE, 20),
    distinct("pcsk_", &URL_SAFE, 24),
    distinct("lsv2_pt_", &URL_SAFE, 24),
    distinct("lsv2_sk_", &URL_SAFE, 24),
    common("jina_", &ALPHANUMERIC, 24),
    common("e2b_", &HEX, 30),
    common("fc-", &HEX, 32),
    common("cohere_", &ALPHANUMERIC, 30),
    // Clouds and infrastructure.
    distinct("AKIA", &CAPITAL_OR_DIGIT, 16),
    distinct("ASIA", &CAPITAL_OR_DIGIT, 16),
    distinct("ABIA", &CAPITAL_OR_DIGIT, 16),
    distinct("ACCA", &CAPITAL_OR_DIGIT, 16),
    distinct("ya29.", &URL_SAFE, 20),
    distinct("GOCSPX-", &URL_SAFE, 20),
    common("1//0", &URL_SAFE, 30),
    distinct("dop_v1_", &HEX, 32),
    distinct("doo_v1_", &HEX, 32),
    distinct("dor_v1_", &HEX, 32),
    common("dapi", &HEX, 32),
    common("hvs.", &URL_SAFE, 24),
    common("hvb.", &URL_SAFE, 24),
    common("pul-", &HEX, 40),
    distinct("dp.pt.", &ALPHANUMERIC, 30),
    distinct("dp.st.", &URL_SAFE_OR_DOT, 30),
    distinct("tskey-", &URL_SAFE, 20),
    distinct("AGE-SECRET-KEY-1", &CAPITAL_OR_DIGIT, 40),
    distinct("ops_eyJ", &ANY_BASE64, 40),
    distinct("sbp_", &HEX, 40),
    distinct("sb_secret_", &URL_SAFE, 20),
    distinct("vercel_blob_rw_", &URL_SAFE, 20),
    distinct("FlyV1 ", &ANY_BASE64, 40),
    distinct("NRAK-", &CAPITAL_OR_DIGIT, 24),
    distinct("glc_", &ANY_BASE64, 32),
    distinct("glsa_", &URL_SAFE, 32),
    distinct("sntrys_", &ANY_BASE64, 32),
    distinct("sntryu_", &HEX, 32),
    // Code hosts and package registries.
    distinct("ghp_", &ALPHANUMERIC, 20),
    distinct("gho_", &ALPHANUMERIC, 20),
    distinct("ghu_", &ALPHANUMERIC, 20),
    distinct("ghs_", &ALPHANUMERIC, 20),
    distinct("ghr_", &ALPHANUMERIC, 20),
    distinct("github_pat_", &URL_SAFE, 20),
    distinct("glpat-", &URL_SAFE_OR_DOT, 20),
    distinct("gldt-", &URL_SAFE, 20),
    distinct("glrt-", &URL_SAFE, 20),
    distinct("glptt-", &URL_SAFE, 20),
    distinct("glcbt-", &URL_SAFE, 20),
    distinct("glsoat-", &URL_SAFE, 20),
    distinct("ATATT3", &ANY_BASE64, 32),
    distinct("ATCTT3", &ANY_BASE64, 32),
    distinct("ATBB", &ALPHANUMERIC, 28),
    common("npm_", &ALPHANUMERIC, 30),
    distinct("pypi-", &URL_SAFE, 40),
    distinct("rubygems_", &HEX, 40),
    common("cio", &ALPHANUMERIC, 32),
    distinct("dckr_pat_", &URL_SAFE, 20),
    // Payments, mail, chat and other services.
    distinct("sk_live_", &ALPHANUMERIC, 16),
    distinct("sk_test_", &ALPHANUMERIC, 16),
    distinct("rk_live_", &ALPHANUMERIC, 16),
    distinct("rk_test_", &ALPHANUMERIC, 16),
    distinct("whsec_", &ANY_BASE64, 24),
    distinct("shpat_", &HEX, 32),
    distinct("shpss_", &HEX, 32),
    distinct("shpca_", &HEX, 32),
    distinct("shppa_", &HEX, 32),
    distinct("sq0atp-", &URL_SAFE, 20),
    distinct("sq0csp-", &URL_SAFE, 30),
    distinct("access_token$production$", &ALPHANUMERIC, 20),
    common("SG.", &URL_SAFE_OR_DOT, 40),
    common("key-", &HEX, 32),
    common("SK", &HEX, 32),
    distinct("xkeysib-", &URL_SAFE, 32),
    distinct("xoxb-", &URL_SAFE, 10),
    distinct("xoxa-", &URL_SAFE, 10),
    distinct("xoxp-", &URL_SAFE, 10),
    distinct("xoxr-", &URL_SAFE, 10),
    distinct("xoxs-", &URL_SAFE, 10),
    distinct("xoxe.", &URL_SAFE_OR_DOT, 10),
    distinct("xoxe-", &URL_SAFE, 10),
    distinct("xapp-", &URL_SAFE, 10),
    distinct("hooks.slack.com/services/", &PATH, 20),
    distinct("discord.com/api/webhooks/", &PATH, 30),
    distinct("lin_api_", &ALPHANUMERIC, 30),
    distinct("figd_", &URL_SAFE, 30),
    distinct("PMAK-", &URL_SAFE, 30),
    common("ntn_", &ALPHANUMERIC, 30),
    common("secret_", &ALPHANUMERIC, 40),
];
