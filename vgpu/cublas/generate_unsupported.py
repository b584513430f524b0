#!/usr/bin/env python3
"""Writes a weak definition of every function a cuBLAS header declares.

Each returns CUBLAS_STATUS_NOT_SUPPORTED and names itself. Being weak, it gives way to the definition
that the library's own sources have, so the set of functions always equals the toolkit's.

usage: generate_unsupported.py HEADER INCLUDE_NAME OUTPUT
"""

import pathlib
import re
import sys

DECLARATION = re.compile(
    r"(?P<result>[\w\s*]+?)\bCUBLASWINAPI\s+(?P<name>cublas\w+)\s*\((?P<parameters>[^;{}]*)\)\s*;"
)


def strip(text: str) -> str:
    """Removes comments, preprocessor lines and string literals such as extern "C"."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"//[^\n]*", " ", text)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.MULTILINE)
    return re.sub(r'extern\s+"C"\s*\{', " ", text)


def declarations(header: pathlib.Path) -> dict[str, str]:
    """Name → parameter list of every function that returns a status."""
    found = {}
    for match in DECLARATION.finditer(strip(header.read_text(encoding="utf-8"))):
        if match["result"].split()[-1:] == ["cublasStatus_t"]:
            found[match["name"]] = " ".join(match["parameters"].split())
    return found


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    header, include, output = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    functions = declarations(header)
    if not functions:
        print(f"{header}: no function declaration was found", file=sys.stderr)
        return 1
    lines = [
        f"// Generated from {include} by generate_unsupported.py.",
        f"#include <{include}>",
        '#include "vgpu/cublas/gemm/log.hpp"',
        "",
        "namespace {",
        "cublasStatus_t refuse(const char* function) {",
        "  return braid::vgpu::gemm::fail_call(function, CUBLAS_STATUS_NOT_SUPPORTED,",
        '      "virtual GPUs do not have this function");',
        "}",
        "}  // namespace",
        "",
    ]
    for name, parameters in functions.items():
        lines.append(
            f'extern "C" __attribute__((weak)) cublasStatus_t {name}({parameters}) {{ '
            f"return refuse(__func__); }}"
        )
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
