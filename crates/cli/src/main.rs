//! The `fabproj` command.

fn main() -> std::process::ExitCode {
    fabproj_cli::main()
}
