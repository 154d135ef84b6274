//! The published formats of provider keys: a prefix, what the rest is made of, how long it is at least.

use crate::redact::text::{is_alphanumeric, is_url_safe};

/// A published token format.
pub(super) struct TokenFormat {
    pub(super) prefix: &'static [u8],
    /// What the rest is made of.
    pub(super) body: fn(u8) -> bool,
    /// The shortest rest.
    pub(super) shortest: usize,
    /// Whether the prefix is so common that it must begin a word, and the rest must look random.
    pub(super) is_common: bool,
}

const fn distinct(prefix: &'static str, body: fn(u8) -> bool, shortest: usize) -> TokenFormat {
    TokenFormat {
        prefix: prefix.as_bytes(),
        body,
        shortest,
        is_common: false,
    }
}

const fn common(prefix: &'static str, body: fn(u8) -> bool, shortest: usize) -> TokenFormat {
    TokenFormat {
        prefix: prefix.as_bytes(),
        body,
        shortest,
        is_common: true,
    }
}

fn capital_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn url_safe_or_dot(byte: u8) -> bool {
    is_url_safe(byte) || byte == b'.'
}

fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn path(byte: u8) -> bool {
    is_url_safe(byte) || byte == b'/'
}

fn any_base64(byte: u8) -> bool {
    is_url_safe(byte) || base64(byte)
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
    common("e2b_", hex, 30),
    common("fc-", hex, 32),
    common("cohere_", is_alphanumeric, 30),
    // Clouds and infrastructure.
    distinct("AKIA", capital_or_digit, 16),
    distinct("ASIA", capital_or_digit, 16),
    distinct("ABIA", capital_or_digit, 16),
    distinct("ACCA", capital_or_digit, 16),
    distinct("ya29.", is_url_safe, 20),
    distinct("GOCSPX-", is_url_safe, 20),
    common("1//0", is_url_safe, 30),
    distinct("dop_v1_", hex, 32),
    distinct("doo_v1_", hex, 32),
    distinct("dor_v1_", hex, 32),
    common("dapi", hex, 32),
    common("hvs.", is_url_safe, 24),
    common("hvb.", is_url_safe, 24),
    common("pul-", hex, 40),
    distinct("dp.pt.", is_alphanumeric, 30),
    distinct("dp.st.", url_safe_or_dot, 30),
    distinct("tskey-", is_url_safe, 20),
    distinct("AGE-SECRET-KEY-1", capital_or_digit, 40),
    distinct("ops_eyJ", any_base64, 40),
    distinct("sbp_", hex, 40),
    distinct("sb_secret_", is_url_safe, 20),
    distinct("vercel_blob_rw_", is_url_safe, 20),
    distinct("FlyV1 ", any_base64, 40),
    distinct("NRAK-", capital_or_digit, 24),
    distinct("glc_", any_base64, 32),
    distinct("glsa_", is_url_safe, 32),
    distinct("sntrys_", any_base64, 32),
    distinct("sntryu_", hex, 32),
    // Code hosts and package registries.
    distinct("ghp_", is_alphanumeric, 20),
    distinct("gho_", is_alphanumeric, 20),
    distinct("ghu_", is_alphanumeric, 20),
    distinct("ghs_", is_alphanumeric, 20),
    distinct("ghr_", is_alphanumeric, 20),
    distinct("github_pat_", is_url_safe, 20),
    distinct("glpat-", url_safe_or_dot, 20),
    distinct("gldt-", is_url_safe, 20),
    distinct("glrt-", is_url_safe, 20),
    distinct("glptt-", is_url_safe, 20),
    distinct("glcbt-", is_url_safe, 20),
    distinct("glsoat-", is_url_safe, 20),
    distinct("ATATT3", any_base64, 32),
    distinct("ATCTT3", any_base64, 32),
    distinct("ATBB", is_alphanumeric, 28),
    common("npm_", is_alphanumeric, 30),
    distinct("pypi-", is_url_safe, 40),
    distinct("rubygems_", hex, 40),
    common("cio", is_alphanumeric, 32),
    distinct("dckr_pat_", is_url_safe, 20),
    // Payments, mail, chat and other services.
    distinct("sk_live_", is_alphanumeric, 16),
    distinct("sk_test_", is_alphanumeric, 16),
    distinct("rk_live_", is_alphanumeric, 16),
    distinct("rk_test_", is_alphanumeric, 16),
    distinct("whsec_", any_base64, 24),
    distinct("shpat_", hex, 32),
    distinct("shpss_", hex, 32),
    distinct("shpca_", hex, 32),
    distinct("shppa_", hex, 32),
    distinct("sq0atp-", is_url_safe, 20),
    distinct("sq0csp-", is_url_safe, 30),
    distinct("access_token$production$", is_alphanumeric, 20),
    common("SG.", url_safe_or_dot, 40),
    common("key-", hex, 32),
    common("SK", hex, 32),
    distinct("xkeysib-", is_url_safe, 32),
    distinct("xoxb-", is_url_safe, 10),
    distinct("xoxa-", is_url_safe, 10),
    distinct("xoxp-", is_url_safe, 10),
    distinct("xoxr-", is_url_safe, 10),
    distinct("xoxs-", is_url_safe, 10),
    distinct("xoxe.", url_safe_or_dot, 10),
    distinct("xoxe-", is_url_safe, 10),
    distinct("xapp-", is_url_safe, 10),
    distinct("hooks.slack.com/services/", path, 20),
    distinct("discord.com/api/webhooks/", path, 30),
    distinct("lin_api_", is_alphanumeric, 30),
    distinct("figd_", is_url_safe, 30),
    distinct("PMAK-", is_url_safe, 30),
    common("ntn_", is_alphanumeric, 30),
    common("secret_", is_alphanumeric, 40),
];
