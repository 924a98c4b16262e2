//! `halfpower serve`: the stored runs, and what simulated machines would do, in a browser.
//!
//! One thread has the store and serves one request after another; between two it finds the headlines of the runs. Only GET is answered, and nothing is written for one.

mod guard;
mod live;
mod pages;
mod shelf;
mod what_if;

use crate::command::context::{Context, Ending};
use anyhow::Context as _;
use axum::Router;
use axum::routing::get;
use clap::Args;
use guard::{Guard, guard};
use shelf::Shelf;
use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  halfpower serve                          print the address to open in a browser
  halfpower serve --port 8080 --store results.db";

/// Show the stored runs in a browser on this host
///
/// Lists, searches and compares runs, shows their reports and histories, follows a run while it is measured, and simulates
/// what another setting or part would change. Listens on 127.0.0.1 until it is interrupted. The address has a token, so
/// that other users of the host cannot read it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The port [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Let every user of this host read the runs: an address without a token
    #[arg(long)]
    no_token: bool,
}

/// How often is looked whether the user interrupts.
const LOOK: Duration = Duration::from_millis(100);

pub(super) fn run(context: &Context, arguments: &Arguments) -> anyhow::Result<Ending> {
    let path = crate::command::session::path_to_read(context)?;
    let shelf = Shelf::open(path)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let token = if arguments.no_token { String::new() } else { token()? };
    let slash = if token.is_empty() { "" } else { "/" };
    let url = format!("http://127.0.0.1:{port}/{token}{slash}");
    context.print(&serde_json::json!({ "url": url }), || url.clone())?;
    context.console.message("Ctrl-C ends it.");
    let heeded = context.interrupts.heeded();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let served = axum::serve(tokio::net::TcpListener::from_std(listener)?, site(shelf, &token, port));
        let interrupted = async {
            while !heeded.is_cancelled() {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            served = served => served,
            () = interrupted => Ok(()),
        }
    });
    // A simulation may be under way.
    runtime.shutdown_background();
    ended?;
    Ok(Ending::Done)
}

/// 128 random bits.
fn token() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).context("cannot read /dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Every page below the token.
fn site(shelf: Shelf, token: &str, port: u16) -> Router {
    let at = |page: &str| if token.is_empty() { page.to_owned() } else { format!("/{token}{page}") };
    let site = Router::new()
        .route(&at("/"), get(pages::list))
        .route(&at("/run/{run}"), get(pages::run))
        .route(&at("/compare"), get(pages::compare))
        .route(&at("/history/{run}"), get(pages::history))
        .route(&at("/live/{run}"), get(live::page))
        .route(&at("/live/{run}/events"), get(live::events))
        .route(&at("/what-if"), get(what_if::page))
        .route(&at("/what-if/answer"), get(what_if::answer))
        .with_state(shelf);
    site.layer(axum::middleware::from_fn_with_state(Guard::of(port), guard))
}
