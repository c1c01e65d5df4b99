//! Generates the messages and clients from proto/ at the root of the repository. protox stands in for protoc, so that
//! cargo is all it needs.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    let mut protos = fs::read_dir(root.join("backscroll/v1"))?
        .map(|entry| entry.map(|file| file.path()))
        .collect::<Result<Vec<_>, _>>()?;
    protos.retain(|path| path.extension().is_some_and(|ending| ending == "proto"));
    protos.sort();

    let files = protox::compile(&protos, [&root])?;
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("descriptors.bin"), files.encode_to_vec())?;
    tonic_prost_build::configure().build_server(false).compile_fds(files)?;
    println!("cargo::rerun-if-changed={}", root.display());
    Ok(())
}
