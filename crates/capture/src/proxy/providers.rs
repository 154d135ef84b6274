//! Providers that the proxy can reach.
//!
//! Each has the variable that its clients read, and the upstream that requests are forwarded to (capture, section
//! 5).

use reqwest::Url;

use tracer_providers::{ModelApi, is_auxiliary};

/// A provider whose clients take their base URL from the environment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Provider {
    /// The segment of the proxy's path.
    pub(crate) segment: &'static str,
    /// `gen_ai.provider.name` of its calls.
    pub(crate) name: &'static str,
    /// The variables that clients read, the first one that is set counts.
    pub(super) variables: &'static [&'static str],
    /// The variables that hold keys; the first one is that which most clients ask for.
    pub(crate) key_variables: &'static [&'static str],
    /// Path at the end of these variables' values.
    pub(crate) base_path: &'static str,
    /// Upstream when no variable is set; without one the provider is offered only where a variable is set.
    pub(super) vendor: Option<&'static str>,
}

/// All of them. A compatible server is reached as the provider whose variable names it.
pub(crate) const PROVIDERS: [Provider; 14] = [
    provider(
        "openai",
        "openai",
        &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
        &["OPENAI_API_KEY"],
        "/v1",
        Some("https://api.openai.com/v1"),
    ),
    // As goose names it: without the version.
    provider(
        "host-of-openai",
        "openai",
        &["OPENAI_HOST"],
        &["OPENAI_API_KEY"],
        "",
        Some("https://api.openai.com"),
    ),
    provider(
        "anthropic",
        "anthropic",
        &[
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_BASE",
            "ANTHROPIC_API_URL",
            "ANTHROPIC_HOST",
        ],
        &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
        "",
        Some("https://api.anthropic.com"),
    ),
    provider(
        "gemini",
        "gcp.gemini",
        &["GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE"],
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        "",
        Some("https://generativelanguage.googleapis.com"),
    ),
    provider(
        "vertex",
        "gcp.vertex_ai",
        &["GOOGLE_VERTEX_BASE_URL"],
        &["GOOGLE_CLOUD_ACCESS_TOKEN"],
        "",
        None,
    ),
    provider(
        "code-assist",
        "gcp.gemini",
        &["CODE_ASSIST_ENDPOINT"],
        &["GOOGLE_CLOUD_ACCESS_TOKEN"],
        "",
        Some("https://cloudcode-pa.googleapis.com"),
    ),
    provider(
        "ollama",
        "ollama",
        &["OLLAMA_HOST", "OLLAMA_API_BASE_URL", "OLLAMA_API_BASE"],
        &["OLLAMA_API_KEY"],
        "",
        Some("http://127.0.0.1:11434"),
    ),
    provider(
        "azure",
        "azure.ai.openai",
        &["AZURE_OPENAI_ENDPOINT", "AZURE_ENDPOINT"],
        &["AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"],
        "",
        None,
    ),
    provider(
        "mistral",
        "mistral_ai",
        &["MISTRAL_BASE_URL", "MISTRAL_API_BASE"],
        &["MISTRAL_API_KEY"],
        "/v1",
        Some("https://api.mistral.ai/v1"),
    ),
    provider(
        "groq",
        "groq",
        &["GROQ_BASE_URL"],
        &["GROQ_API_KEY"],
        "",
        Some("https://api.groq.com"),
    ),
    provider(
        "deepseek",
        "deepseek",
        &["DEEPSEEK_BASE_URL", "DEEPSEEK_API_BASE"],
        &["DEEPSEEK_API_KEY"],
        "",
        Some("https://api.deepseek.com"),
    ),
    provider(
        "xai",
        "x_ai",
        &["XAI_BASE_URL", "XAI_API_BASE"],
        &["XAI_API_KEY"],
        "/v1",
        Some("https://api.x.ai/v1"),
    ),
    provider(
        "openrouter",
        "openrouter",
        &["OPENROUTER_BASE_URL", "OPENROUTER_API_BASE"],
        &["OPENROUTER_API_KEY"],
        "/api/v1",
        Some("https://openrouter.ai/api/v1"),
    ),
    provider(
        "cohere",
        "cohere",
        &["CO_API_URL"],
        &["CO_API_KEY", "COHERE_API_KEY"],
        "",
        Some("https://api.cohere.com"),
    ),
];

const fn provider(
    segment: &'static str,
    name: &'static str,
    variables: &'static [&'static str],
    key_variables: &'static [&'static str],
    base_path: &'static str,
    vendor: Option<&'static str>,
) -> Provider {
    Provider {
        segment,
        name,
        variables,
        key_variables,
        base_path,
        vendor,
    }
}

/// The path of a request behind the segment of a provider, if it leads there. Clients join a base URL and a path in
/// their own ways: some put no slash between them, some put two, and some put the path in the place of the base URL's last
/// part, which is recognised where the path is Ollama's.
fn path_behind(segment: &str, path: &str) -> Option<String> {
    let is_ollamas = segment == "ollama" && path.starts_with("api/");
    let behind = path.strip_prefix(segment).or(is_ollamas.then_some(path))?;
    let joined = format!("/{}", behind.trim_start_matches('/'));
    let is_separate = behind.is_empty() || behind.starts_with('/');
    let is_path = is_separate || ModelApi::from_path(&joined).is_some() || is_auxiliary(&joined);
    is_path.then_some(if behind.is_empty() { String::new() } else { joined })
}

impl Provider {
    /// The provider with this segment of the proxy's path.
    pub(crate) fn of_segment(segment: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.segment == segment)
    }

    /// The path of a request behind the base URL `base`.
    fn path_at(&self, base: &str, path: &str) -> String {
        let rest = path.strip_prefix(self.base_path).unwrap_or(path);
        // Clients disagree whether Anthropic's base URL has the version.
        let needs_version =
            self.name == "anthropic" && rest.starts_with("/messages") && !base.ends_with("/v1");
        format!("{}{rest}", if needs_version { "/v1" } else { "" })
    }

    /// The endpoint of a request with this path behind the provider's segment.
    pub(crate) fn endpoint(&self, path: &str) -> ShellEndpoint {
        let variable = self.variables.first().copied().unwrap_or_default();
        let key_variable = self.key_variables.first().copied().unwrap_or_default();
        let vendor = self.vendor.unwrap_or_default();
        let key = match self.segment {
            "anthropic" => "x-api-key:",
            "azure" => "api-key:",
            // Google's endpoint in the manner of OpenAI takes OpenAI's header.
            "gemini" if !path.contains("/openai/") => "x-goog-api-key:",
            _ => "Authorization: Bearer",
        };
        let mut headers = vec![format!("{key} ${key_variable}")];
        if self.segment == "anthropic" {
            headers.push("anthropic-version: 2023-06-01".to_owned());
        }
        headers.push("Content-Type: application/json".to_owned());
        ShellEndpoint {
            base: match self.vendor {
                Some(vendor) => format!("${{{variable}:-{vendor}}}"),
                None => format!("${variable}"),
            },
            path: self.path_at(vendor, path),
            headers,
            key_variable,
        }
    }
}

/// The endpoint of a request as a shell has it in double quotes.
pub(crate) struct ShellEndpoint {
    /// The base URL: that which the environment has, else the vendor's.
    pub(crate) base: String,
    /// The path behind it, as recorded.
    pub(crate) path: String,
    /// The headers; the key is a variable.
    pub(crate) headers: Vec<String>,
    /// The variable of the key.
    pub(crate) key_variable: &'static str,
}

/// A variable of the user's own that a program reads a base URL from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaseUrlVariable {
    name: &'static str,
    provider: &'static Provider,
}

impl BaseUrlVariable {
    /// The variable with this name, of `OpenAI`'s API, or `NAME=PROVIDER`, with the first word of a base URL's path at the proxy.
    /// Its name stays in memory until the process ends.
    ///
    /// ```
    /// use tracer_capture::proxy::BaseUrlVariable;
    ///
    /// assert!(BaseUrlVariable::parse("MY_LLM_URL=anthropic").is_ok());
    /// assert!(BaseUrlVariable::parse("MY_LLM_URL=acme").unwrap_err().contains("openai, "));
    /// ```
    ///
    /// # Errors
    ///
    /// The form to write instead, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, segment) = text.split_once('=').unwrap_or((text, "openai"));
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err("give the name of a variable, as in MY_LLM_URL or MY_LLM_URL=anthropic".to_owned());
        }
        let known = || PROVIDERS.iter().map(|provider| provider.segment);
        let provider = Provider::of_segment(segment)
            .ok_or_else(|| format!("use one of: {}", known().collect::<Vec<_>>().join(", ")))?;
        Ok(Self {
            name: name.to_owned().leak(),
            provider,
        })
    }
}

/// A provider, and the upstream of its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) provider: &'static Provider,
    /// The variable that leads here in place of the provider's.
    variable: Option<&'static str>,
    pub(super) upstream: Url,
    /// The variable that names the upstream.
    pub(super) named_by: Option<&'static str>,
}

/// A variable that names no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable} holds no http or https address, so its model calls are not recorded")]
pub struct UnusableBaseUrl {
    /// The variable.
    pub variable: &'static str,
}

/// The routes that an environment gives: a base URL that the user set already is the upstream. What names no address is
/// left as it is, and reported. Where one of the user's `own` variables is not set, its requests go where the provider's do.
pub(super) fn routes(
    variable: impl Fn(&str) -> Option<String>,
    own: &[BaseUrlVariable],
) -> (Vec<Route>, Vec<UnusableBaseUrl>) {
    let mut routes = Vec::new();
    let mut unusable = Vec::new();
    let of_user = own.iter().map(|own| (own.provider, Some(own.name)));
    for (provider, own) in of_user.chain(PROVIDERS.iter().map(|provider| (provider, None))) {
        let set = own.iter().chain(provider.variables).find_map(|name| {
            let value = variable(name).filter(|value| !value.trim().is_empty())?;
            Some((*name, value))
        });
        let upstream = match &set {
            Some((name, value)) => {
                let url = base_url(value);
                if url.is_none() {
                    unusable.push(UnusableBaseUrl { variable: name });
                }
                url
            }
            None => provider.vendor.and_then(base_url),
        };
        let named_by = set.as_ref().map(|(name, _)| *name);
        routes.extend(upstream.map(|upstream| Route {
            provider,
            variable: own,
            upstream,
            named_by,
        }));
    }
    (routes, unusable)
}

/// A route for every provider, all to a host that does not exist.
pub(super) fn offline_routes() -> Vec<Route> {
    // A name that no server can have (RFC 2606).
    let upstream = base_url("http://replay.invalid");
    let upstream = upstream.into_iter();
    upstream
        .flat_map(|upstream| {
            PROVIDERS.iter().map(move |provider| Route {
                provider,
                variable: None,
                upstream: upstream.clone(),
                named_by: None,
            })
        })
        .collect()
}

/// An address, also one without a scheme, as Ollama has it: `localhost:11434`, `0.0.0.0`.
fn base_url(text: &str) -> Option<Url> {
    let text = text.trim().trim_end_matches('/');
    let with_scheme = if text.contains("://") {
        text.to_owned()
    } else {
        let port = if text.rsplit(']').next()?.contains(':') {
            ""
        } else {
            ":11434"
        };
        format!("http://{text}{port}")
    };
    let mut url: Url = with_scheme.parse().ok()?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return None;
    }
    if url.host_str() == Some("0.0.0.0") {
        url.set_host(Some("127.0.0.1")).ok()?;
    }
    Some(url)
}

impl Route {
    /// Upstream URL of a request: its path behind the provider's segment, and its query.
    pub(super) fn target(&self, path: &str, query: Option<&str>) -> Url {
        let base = self.upstream.path().trim_end_matches('/');
        let mut url = self.upstream.clone();
        url.set_path(&format!("{base}{}", self.provider.path_at(base, path)));
        url.set_query(query);
        url
    }

    /// The variable that names the upstream, and its host; the rest of an address may hold a key.
    pub(super) fn named_upstream(&self) -> Option<(&'static str, String)> {
        let host = self.upstream.host_str()?;
        let port = self
            .upstream
            .port()
            .map(|port| format!(":{port}"))
            .unwrap_or_default();
        Some((self.named_by?, format!("{host}{port}")))
    }

    fn segment(&self) -> &'static str {
        self.variable.unwrap_or(self.provider.segment)
    }

    /// The path of a request behind the segment of this route, if it leads here.
    pub(super) fn path_behind(&self, path: &str) -> Option<String> {
        path_behind(self.segment(), path)
    }

    /// Values of the variables that lead here, when the proxy is at `base`.
    pub(super) fn values(&self, base: &str) -> impl Iterator<Item = (&'static str, String)> {
        let value = format!("{base}/{}{}", self.segment(), self.provider.base_path);
        let variables = self.variable.as_slice();
        let variables = if variables.is_empty() {
            self.provider.variables
        } else {
            variables
        };
        variables.iter().map(move |name| (*name, value.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(segment: &str, environment: &[(&str, &str)]) -> Option<Route> {
        let find = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let (routes, _) = routes(find, &[]);
        routes.into_iter().find(|route| route.provider.segment == segment)
    }

    #[test]
    fn requests_go_on_to_the_vendor_or_to_what_the_user_named() {
        for (segment, environment, path, target) in [
            (
                "openai",
                &[][..],
                "/v1/responses",
                "https://api.openai.com/v1/responses",
            ),
            (
                "openai",
                &[("OPENAI_BASE_URL", "http://localhost:8000/api/v1/")],
                "/v1/chat/completions",
                "http://localhost:8000/api/v1/chat/completions",
            ),
            (
                "host-of-openai",
                &[("OPENAI_HOST", "http://localhost:8000")],
                "/v1/chat/completions",
                "http://localhost:8000/v1/chat/completions",
            ),
            (
                "anthropic",
                &[],
                "/v1/messages",
                "https://api.anthropic.com/v1/messages",
            ),
            (
                "anthropic",
                &[],
                "/messages",
                "https://api.anthropic.com/v1/messages",
            ),
            (
                "anthropic",
                &[("ANTHROPIC_BASE_URL", "https://a.b/v1")],
                "/messages",
                "https://a.b/v1/messages",
            ),
            (
                "ollama",
                &[("OLLAMA_HOST", "0.0.0.0")],
                "/api/chat",
                "http://127.0.0.1:11434/api/chat",
            ),
            (
                "ollama",
                &[("OLLAMA_HOST", "gpu:1234")],
                "/api/chat",
                "http://gpu:1234/api/chat",
            ),
            (
                "azure",
                &[("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com")],
                "/openai/deployments/d/chat/completions",
                "https://me.openai.azure.com/openai/deployments/d/chat/completions",
            ),
        ] {
            let route = route(segment, environment).unwrap();
            assert_eq!(route.target(path, None).as_str(), target, "{segment} {path}");
        }
        assert_eq!(route("azure", &[]), None);
    }

    #[test]
    fn clients_join_paths_either_way() {
        for (segment, path, behind) in [
            ("ollama", "ollama/api/chat", Some("/api/chat")),
            ("ollama", "ollama//api/chat", Some("/api/chat")),
            ("ollama", "ollamaapi/chat", Some("/api/chat")),
            ("ollama", "ollamaapi/tags", Some("/api/tags")),
            ("ollama", "api/generate", Some("/api/generate")),
            ("ollama", "ollama", Some("")),
            ("ollama", "ollama-elsewhere/x", None),
            ("anthropic", "anthropicv1/messages", Some("/v1/messages")),
            ("anthropic", "api/chat", None),
        ] {
            let found = path_behind(segment, path);
            assert_eq!(found.as_deref(), behind, "{segment} {path}");
        }
    }

    #[test]
    fn what_is_no_address_is_reported_and_left_alone() {
        let (routes, unusable) = routes(
            |name| (name == "OPENAI_BASE_URL").then(|| "ftp://x".to_owned()),
            &[],
        );
        assert!(routes.iter().all(|route| route.provider.segment != "openai"));
        assert_eq!(
            unusable,
            [UnusableBaseUrl {
                variable: "OPENAI_BASE_URL"
            }]
        );
    }

    #[test]
    fn a_variable_of_the_user_leads_to_its_own_server() {
        let own = ["MY_URL", "OTHER_URL=anthropic"].map(|text| BaseUrlVariable::parse(text).unwrap());
        let set = [
            ("MY_URL", "http://mine:1/api/v1"),
            ("OPENAI_BASE_URL", "http://other:2/v1"),
        ];
        let find = |name: &str| Some(set.iter().find(|(known, _)| *known == name)?.1.to_owned());
        let (routes, _) = routes(find, &own);
        let found = |path: &str| {
            let mut found = routes
                .iter()
                .filter_map(|route| Some(route.target(&route.path_behind(path)?, None)));
            found.next().map(String::from)
        };
        for (path, target) in [
            (
                "MY_URL/v1/chat/completions",
                "http://mine:1/api/v1/chat/completions",
            ),
            ("openai/v1/chat/completions", "http://other:2/v1/chat/completions"),
            ("OTHER_URL/v1/messages", "https://api.anthropic.com/v1/messages"),
        ] {
            assert_eq!(found(path).as_deref(), Some(target));
        }
        let values: Vec<_> = routes[0].values("http://127.0.0.1:1/r/t").collect();
        assert_eq!(
            values,
            [("MY_URL", "http://127.0.0.1:1/r/t/MY_URL/v1".to_owned())]
        );
        for text in ["", "=openai", "MY URL", "MY_URL=nobody"] {
            assert!(BaseUrlVariable::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn clients_get_the_path_that_their_variable_ends_in() {
        let base = "http://127.0.0.1:1/r/t";
        let values: Vec<_> = route("openai", &[]).unwrap().values(base).collect();
        assert_eq!(
            values[0],
            ("OPENAI_BASE_URL", "http://127.0.0.1:1/r/t/openai/v1".to_owned())
        );
    }
}
