//! Credentials in every place of an exchange with a model's API, none of which may be found in what is kept of it.

use crate::secrets::{random_text, samples};

/// Where a credential is in an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CredentialPlace {
    /// The value of a header of the request.
    RequestHeader,
    /// The value of a parameter of the query.
    Query,
    /// The text of a message of the request.
    RequestBody,
    /// The value of a header of the answer.
    ResponseHeader,
    /// The text of the answer.
    ResponseBody,
}

/// A credential, and how it is sent.
#[derive(Debug, Clone)]
pub struct PlantedCredential {
    /// Where it is.
    pub place: CredentialPlace,
    /// The name of the header or parameter; what kind it is, in a body.
    pub name: &'static str,
    /// What is sent: the value of the header or parameter, or the text that holds the credential.
    pub text: String,
    /// What must not be found anywhere.
    pub secret: String,
}

/// Request headers with what comes before the credential in each.
const REQUEST_HEADERS: [(&str, &str); 14] = [
    ("authorization", "Bearer "),
    ("x-api-key", ""),
    ("api-key", ""),
    ("x-goog-api-key", ""),
    ("cookie", "session="),
    ("openai-organization", "org-"),
    ("openai-project", "proj_"),
    ("anthropic-organization-id", ""),
    ("x-amz-security-token", ""),
    ("x-goog-user-project", ""),
    ("helicone-auth", "Bearer "),
    ("x-portkey-api-key", ""),
    ("proxy-authorization", "Basic "),
    ("x-company-secret", ""),
];
const QUERY_PARAMETERS: [&str; 5] = ["key", "access_token", "api-key", "sig", "token"];
/// Response headers with what comes before the credential in each.
const RESPONSE_HEADERS: [(&str, &str); 3] = [
    ("set-cookie", "__cf_bm="),
    ("x-amzn-session", ""),
    ("openai-organization", "org-"),
];

/// Sixty credentials, each one different, and different from those of another `number`.
///
/// ```
/// let planted = tracer_tests::credentials::planted(1);
/// assert_eq!(planted.len(), 60);
/// ```
#[must_use]
pub fn planted(number: usize) -> Vec<PlantedCredential> {
    let named = |place: CredentialPlace, index: usize, name: &'static str, before: &str| {
        let secret = random_text(number * 1_000 + place as usize * 100 + index, 40);
        let text = format!("{before}{secret}");
        PlantedCredential {
            place,
            name,
            text,
            secret,
        }
    };
    let in_body = |place: CredentialPlace, number: usize| {
        samples(number).into_iter().map(move |sample| PlantedCredential {
            place,
            name: sample.kind,
            text: sample.text,
            secret: sample.secret,
        })
    };
    let mut planted = Vec::new();
    for (index, (name, before)) in REQUEST_HEADERS.into_iter().enumerate() {
        planted.push(named(CredentialPlace::RequestHeader, index, name, before));
    }
    for (index, name) in QUERY_PARAMETERS.into_iter().enumerate() {
        planted.push(named(CredentialPlace::Query, index, name, ""));
    }
    for (index, (name, before)) in RESPONSE_HEADERS.into_iter().enumerate() {
        planted.push(named(CredentialPlace::ResponseHeader, index, name, before));
    }
    planted.extend(in_body(CredentialPlace::RequestBody, 1_000 + 2 * number));
    planted.extend(in_body(CredentialPlace::ResponseBody, 1_001 + 2 * number));
    planted
}
