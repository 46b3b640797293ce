//! Compiles the protocol, and lists which of its methods may be sent twice and which stream.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let protocol = protox::compile(["shop.proto"], ["proto"])?;
    let (mut idempotent, mut streaming) = (Vec::new(), Vec::new());
    for file in &protocol.file {
        for service in &file.service {
            for method in &service.method {
                let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                let level = method.options.as_ref().map(|options| options.idempotency_level().as_str_name());
                if level.is_some_and(|level| level != "IDEMPOTENCY_UNKNOWN") {
                    idempotent.push(path.clone());
                }
                if method.server_streaming() {
                    streaming.push(path);
                }
            }
        }
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(
        out.join("methods.rs"),
        format!("const IDEMPOTENT: &[&str] = &{idempotent:?};\nconst STREAMING: &[&str] = &{streaming:?};\n"),
    )?;
    tonic_prost_build::configure().compile_fds(protocol)?;
    Ok(())
}
