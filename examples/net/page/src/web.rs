//! What the page talks to: itself, the report, and a path for each button.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Html;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::Value;

use crate::pool::Pool;

pub(crate) fn router(pool: Arc<Pool>) -> Router {
    Router::new()
        .route("/", get(|| async { Html(include_str!("page.html")) }))
        .route("/report", get(report))
        .route("/servers/{name}/{action}", post(act))
        .with_state(pool)
}

async fn report(State(pool): State<Arc<Pool>>) -> Json<Value> {
    Json(pool.report().await)
}

async fn act(
    State(pool): State<Arc<Pool>>,
    Path((name, action)): Path<(String, String)>,
) -> Result<StatusCode, (StatusCode, String)> {
    let Ok(action) = action.parse() else {
        return Err((StatusCode::NOT_FOUND, format!("there is nothing like {action}\n")));
    };
    match pool.act(&name, action).await {
        Ok(true) => Ok(StatusCode::NO_CONTENT),
        Ok(false) => Err((StatusCode::NOT_FOUND, format!("there is no {name}\n"))),
        Err(error) => Err((StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n"))),
    }
}
