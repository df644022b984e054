//! Compiles a generated kernel with a `main` that reads the allocations, runs the grid and writes them back.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use tilescope_gpu_backend::emit::{CPU_HEADER, HEADER, HEADER_NAME};
use tilescope_gpu_backend::{Generated, Parameter, checked, dump};
use tilescope_launch::fault::{Fault, Line};

use crate::case::Case;

/// Bytes of the buffer of a build that dumps.
const DUMP_BYTES: usize = 8 << 20;

/// The C++ compiler, if there is one.
pub fn compiler() -> Option<String> {
    let name = std::env::var("CXX").unwrap_or_else(|_| String::from("c++"));
    let ran = Command::new(&name)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ran.is_ok_and(|status| status.success()).then_some(name)
}

fn main_of(case: &Case, generated: &Generated) -> String {
    let launch = case.launch();
    let arguments: Vec<String> = generated
        .parameters
        .iter()
        .enumerate()
        .map(|(index, parameter)| match parameter {
            Parameter::Tensor(id) => {
                let tensor = &launch.tensors[id.0 as usize];
                let offset = tensor.offset * tensor.dtype.bytes() as i64;
                format!("of<{index}>(kernel, memory[{}] + {offset})", tensor.allocation.0)
            }
            Parameter::Scalar { bits, .. } => format!("number<{index}>(kernel, {bits}ull)"),
            Parameter::Tensors => String::from("tensors"),
            Parameter::Faults => String::from("faults"),
            Parameter::Prints => {
                String::from("reinterpret_cast<ts::u64*>(memory[memory.size() - PRINTS_FROM_END])")
            }
            Parameter::Dump => {
                String::from("reinterpret_cast<ts::u64*>(memory[memory.size() - DUMP_FROM_END])")
            }
            Parameter::Scratch { .. } => String::from("nullptr"),
        })
        .collect();
    let grid: Vec<String> = launch.grid.iter().map(u64::to_string).collect();
    // Arrays of pointers: the addresses are this program's.
    let mut pointers = String::new();
    for tensor in &launch.tensors {
        for run in tensor.runs() {
            for i in 0..run.count {
                let Some(target) = tensor.pointers.get((run.first + i) as usize) else {
                    continue;
                };
                let target = &launch.tensors[target.0 as usize];
                pointers.push_str(&format!(
                    "    *reinterpret_cast<unsigned char**>(memory[{}] + {}) = memory[{}] + {};\n",
                    tensor.allocation.0,
                    (run.position + i as i64 * run.stride) * 8,
                    target.allocation.0,
                    target.offset * target.dtype.bytes() as i64
                ));
            }
        }
    }
    // Of a checked build: the tables, whose addresses are this program's.
    let is_checked = generated.parameters.contains(&Parameter::Faults);
    let tables = match is_checked {
        false => String::new(),
        true => {
            let owners: Vec<String> = launch
                .tensors
                .iter()
                .map(|t| t.allocation.0.to_string())
                .collect();
            format!(
                r#"
    auto* const faults = reinterpret_cast<ts::Fault*>(memory.back());
    auto* const tensors = reinterpret_cast<ts::Tensor*>(memory[memory.size() - 2]);
    const unsigned owners[] = {{{} 0}};
    for (size_t i = 0; i < {}; ++i) tensors[i].base = reinterpret_cast<ts::u64>(memory[owners[i]]);
"#,
                owners.iter().map(|o| format!("{o}, ")).collect::<String>(),
                owners.len()
            )
        }
    };
    let prints_from_end = if is_checked { 3 } else { 1 };
    let dump_from_end = prints_from_end + u32::from(generated.parameters.contains(&Parameter::Prints));
    format!(
        r#"
#include <tuple>
template <size_t I, class... A> auto of(void (*)(A...), unsigned char* p) {{
    return reinterpret_cast<std::tuple_element_t<I, std::tuple<A...>>>(p);
}}
template <size_t I, class... A> auto number(void (*)(A...), unsigned long long bits) {{
    std::tuple_element_t<I, std::tuple<A...>> value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}}
int main() {{
    std::vector<unsigned char*> memory;
    std::vector<size_t> sizes;
    unsigned long long size;
    while (fread(&size, 8, 1, stdin) == 1) {{
        unsigned char* p = static_cast<unsigned char*>(aligned_alloc(512, (size + 1023) / 512 * 512));
        if (fread(p, 1, size, stdin) != size) return 2;
        memory.push_back(p);
        sizes.push_back(size);
    }}
    constexpr size_t PRINTS_FROM_END = {prints_from_end};
    constexpr size_t DUMP_FROM_END = {dump_from_end};
    {pointers}
    {tables}
    const unsigned grid[3] = {{{}}};
    auto const kernel = &{};
    ts::cpu::run(grid, {}, {}, [&] {{ kernel({}); }});
    for (size_t i = 0; i < memory.size(); ++i) fwrite(memory[i], 1, sizes[i], stdout);
    for (unsigned char* p : memory) fwrite(&p, 1, 8, stdout);
    return 0;
}}
"#,
        grid.join(", "),
        generated.name,
        generated.threads,
        generated.shared_bytes,
        arguments.join(", ")
    )
}

/// Compiles in a folder of its own, as cases are compiled at the same time; gives the program.
pub fn compile(folder: &Path, name: &str, case: &Case, generated: &Generated) -> Result<PathBuf, Failed> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(HEADER_NAME), HEADER)?;
    std::fs::write(folder.join("cpu.h"), CPU_HEADER)?;
    let source = folder.join(format!("{name}.cpp"));
    let text = format!(
        "#define TILESCOPE_CPU\n{}{}",
        generated.source,
        main_of(case, generated)
    );
    std::fs::write(&source, text)?;
    let program = folder.join(name);
    let compiler = compiler().ok_or("no C++ compiler")?;
    // No contraction: the interpreter rounds products, and what is compared is the code, not the compiler's freedom.
    let ran = Command::new(compiler)
        .args([
            "-std=c++17",
            "-O1",
            // A variable that generated code forgets to set is mostly zero, and mostly goes unnoticed.
            "-Werror=uninitialized",
            "-Werror=maybe-uninitialized",
            "-ffp-contract=off",
            "-fwrapv",
            "-fno-strict-aliasing",
            "-o",
        ])
        .arg(&program)
        .arg(&source)
        .output()?;
    match ran.status.success() {
        true => Ok(program),
        false => {
            let log = String::from_utf8_lossy(&ran.stderr);
            let first: Vec<&str> = log.lines().take(20).collect();
            Err(format!("{} does not compile:\n{}", source.display(), first.join("\n")).into())
        }
    }
}

/// What a program left.
pub struct Executed {
    /// Its allocations.
    pub memory: Vec<Vec<u8>>,
    /// What a checked build found.
    pub faults: Vec<Fault>,
    /// Where its allocations were.
    #[allow(dead_code, reason = "of builds that dump")]
    pub bases: Vec<u64>,
    /// The buffer of what it dumped.
    #[allow(dead_code, reason = "of builds that dump")]
    pub dump: Vec<u8>,
    /// What it printed.
    pub printed: Vec<Line>,
}

/// Runs the program on the case's memory; gives its allocations afterwards, and what a checked build found.
pub fn execute(program: &Path, case: &Case, generated: &Generated) -> Result<Executed, Failed> {
    let memory = case.memory()?;
    let is_checked = generated.parameters.contains(&Parameter::Faults);
    let prints = generated.parameters.contains(&Parameter::Prints);
    let mut blocks: Vec<Vec<u8>> = memory.allocations.iter().map(|a| a.bytes.to_vec()).collect();
    if let Some(program) = generated.dumped {
        blocks.push(dump::buffer(program, DUMP_BYTES));
    }
    if prints {
        blocks.push(tilescope_gpu_backend::prints::buffer());
    }
    if is_checked {
        blocks.push(checked::tensor_table(case.launch(), &memory, &[]));
        blocks.push(checked::fault_table(generated.slots));
    }
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut input = Vec::new();
    for block in &blocks {
        input.extend((block.len() as u64).to_le_bytes());
        input.extend_from_slice(block);
    }
    let mut stdin = child.stdin.take().ok_or("no stdin")?;
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| "the writer failed")??;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} ended with {}: {log}", program.display(), output.status).into());
    }
    let mut rest = &output.stdout[..];
    let mut take = |bytes: usize| -> Result<Vec<u8>, Failed> {
        let (head, tail) = rest.split_at_checked(bytes).ok_or("output too short")?;
        rest = tail;
        Ok(head.to_vec())
    };
    let mut after: Vec<Vec<u8>> = Vec::new();
    for block in &blocks {
        after.push(take(block.len())?);
    }
    let addresses = take(8 * blocks.len())?;
    let bases: Vec<u64> = addresses
        .chunks_exact(8)
        .map(|b| u64::from_le_bytes(b.try_into().unwrap_or_default()))
        .collect();
    let mut faults = Vec::new();
    if is_checked {
        let table = after.pop().unwrap_or_default();
        after.pop();
        faults = checked::faults(&table, &generated.places, case.launch(), &memory, &bases);
    }
    let printed = match after.pop_if(|_| prints) {
        Some(buffer) => case.lines(&buffer, generated),
        None => Vec::new(),
    };
    let dump = after.pop_if(|_| generated.dumped.is_some());
    Ok(Executed {
        dump: dump.unwrap_or_default(),
        bases,
        memory: after,
        faults,
        printed,
    })
}
