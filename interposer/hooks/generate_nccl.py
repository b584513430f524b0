#!/usr/bin/env python3
"""Writes the exported NCCL wrappers from nccl.h.

Each wrapper either hands the call to the function of the same name in
braid::interposer::hooks (the override table below) or forwards it. The logic lives in hooks/nccl*.cpp;
what is generated here is thin on purpose.

usage: generate_nccl.py NCCL_H OUTPUT_CPP
"""

import re
import sys

# Functions with a body of their own in hooks/nccl*.cpp.
OVERRIDDEN = {
    "ncclGetUniqueId", "ncclCommInitRank", "ncclCommInitRankConfig", "ncclCommInitRankScalable",
    "ncclCommInitAll", "ncclCommFinalize", "ncclCommDestroy", "ncclCommAbort", "ncclCommSplit",
    "ncclCommShrink", "ncclGetLastError", "ncclAllReduce", "ncclAllGather", "ncclReduceScatter",
    "ncclReduce", "ncclBroadcast", "ncclBcast", "ncclAlltoAll", "ncclGather", "ncclScatter",
    "ncclSend", "ncclRecv", "ncclGroupStart", "ncclGroupEnd", "ncclGroupSimulateEnd",
}

PROTOTYPE = re.compile(r"^\s*(ncclResult_t|const char\s*\*)\s+(nccl\w+)\s*\(([^)]*)\)\s*;", re.M)


def parse(header):
    """Yields (return type, name, [(type, argument name)])."""
    seen = set()
    for result, name, arguments in PROTOTYPE.findall(header):
        if name in seen:
            continue
        seen.add(name)
        parsed = []
        for argument in filter(None, (a.strip() for a in arguments.split(","))):
            if argument == "void":
                continue
            match = re.match(r"(.*?)(\w+)$", " ".join(argument.split()))
            parsed.append((match.group(1).strip(), match.group(2)))
        yield " ".join(result.split()), name, parsed


def wrapper(result, name, arguments):
    declared = ", ".join(f"{kind} {label}" for kind, label in arguments)
    passed = ", ".join(label for _, label in arguments)
    missing = "nullptr" if result.endswith("*") else "report_missing(\"%s\")" % name
    lines = [f"BRAID_EXPORT {result} {name}({declared}) {{"]
    if name in OVERRIDDEN:
        failed = "\"out of memory in braid\"" if result.endswith("*") else "ncclSystemError"
        lines.append("  if (should_intercept()) {")
        lines.append("    // No exception leaves through the C interface; the only ones are bad_alloc's kind.")
        lines.append("    try {")
        lines.append(f"      return hooks::{name}({passed});")
        lines.append("    } catch (...) {")
        lines.append(f"      return {failed};")
        lines.append("    }")
        lines.append("  }")
    lines.append(f"  static RealFunction<decltype({name})> real(Library::kNccl, \"{name}\");")
    lines.append("  auto* function = real.get();")
    if name in ("ncclGetErrorString", "ncclGetLastError"):
        missing = "\"libnccl.so.2 is not loaded in this process\""
    lines.append(f"  return function != nullptr ? function({passed}) : {missing};")
    lines.append("}")
    return "\n".join(lines)


def main():
    header = open(sys.argv[1], encoding="utf-8").read()
    functions = list(parse(header))
    missing = OVERRIDDEN - {name for _, name, _ in functions}
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write("// Written by hooks/generate_nccl.py from nccl.h. Do not edit.\n")
        for name in sorted(missing):
            out.write(f"// {name} is not declared by this nccl.h.\n")
        out.write('#include <nccl.h>\n\n#include "interposer/hooks/nccl.hpp"\n')
        out.write('#include "interposer/process_state.hpp"\n')
        out.write('#include "interposer/real_library.hpp"\n\n')
        out.write('#define BRAID_EXPORT extern "C" __attribute__((visibility("default")))\n\n')
        out.write("using namespace braid::interposer;  // NOLINT: generated wrappers\n\n")
        out.write("\n\n".join(wrapper(*f) for f in functions))
        out.write("\n")


if __name__ == "__main__":
    main()
