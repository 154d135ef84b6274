//! Which path is answered by whom.

use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, Uri};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Router};

use super::answer::ApiError;
use super::viewer::Viewer;
use super::{admission, api, pages};

/// A change holds no more than a name.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// The service of the viewer.
pub(super) fn router(viewer: &Viewer) -> Router {
    let pages = Router::new()
        .route("/", get(pages::runs))
        .route("/stats", get(pages::stats))
        .route("/r/{run}", get(pages::run))
        .route("/r/{run}/export.html", get(api::export::html))
        .route("/diff/{a}/{b}", get(pages::diff))
        .route("/diff/{a}/baseline/{name}", get(pages::diff_with_baseline))
        .route("/assets/{version}/{file}", get(pages::asset));
    api_routes()
        .into_iter()
        .fold(pages, |router, (path, methods)| router.route(path, methods))
        .fallback(nothing_here)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(Extension(api::diff::LastComparison::default()))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(viewer.clone(), admission::check))
        .with_state(viewer.clone())
}

/// The paths of the API; `docs/the-viewer.md` describes each.
fn api_routes() -> Vec<(&'static str, MethodRouter<Viewer>)> {
    vec![
        ("/api/runs", get(api::list::runs)),
        ("/api/table", get(api::table::get)),
        ("/api/stats", get(api::stats::get)),
        (
            "/api/runs/{run}",
            get(api::files::run)
                .patch(api::changes::rename)
                .delete(api::changes::delete),
        ),
        ("/api/runs/{run}/spans", get(api::files::spans)),
        ("/api/runs/{run}/paths", get(api::files::paths)),
        ("/api/runs/{run}/overview", get(api::overview::overview)),
        ("/api/runs/{run}/columns", get(api::columns::columns)),
        ("/api/runs/{run}/context", get(api::context::bill)),
        ("/api/runs/{run}/lineage", get(api::lineage::lineage)),
        ("/api/runs/{run}/rows", get(api::rows::rows)),
        ("/api/runs/{run}/steps", get(api::step::step)),
        ("/api/runs/{run}/steps/{event}", get(api::step::step)),
        (
            "/api/runs/{run}/steps/{event}/values/{part}",
            get(api::step::value),
        ),
        ("/api/runs/{run}/steps/{event}/media/{key}", get(api::step::media)),
        ("/api/runs/{run}/steps/{event}/curl", get(api::step::curl)),
        ("/api/runs/{run}/steps/{event}/text", get(api::step::text)),
        ("/api/runs/{run}/restore", post(api::changes::restore)),
        ("/api/runs/{run}/transcript", get(api::transcript::transcript)),
        ("/api/runs/{run}/search", get(api::search::search)),
        ("/api/diff", get(api::diff::diff)),
        ("/api/baselines", get(api::baselines::baselines)),
        ("/api/stream", get(api::stream::stream)),
    ]
}

async fn nothing_here(uri: Uri) -> Response {
    if uri.path().starts_with("/api") {
        return ApiError::not_found(
            "no_such_path",
            "the API has no such path; docs/the-viewer.md lists them",
        )
        .into_response();
    }
    ApiError::not_found("no_such_page", "there is no such page").into_response()
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this path has no such method",
    )
}
