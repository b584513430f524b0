#!/usr/bin/env python3
"""Generates libcuda's entry points from cuda.h, cudaProfiler.h and CUPTI's headers.

Every function that they declare is exported under its real name. One that a source file of this
folder defines (`CUresult cuName(` at the start of a line) is reached through a wrapper that checks
the driver's state and fires the CUPTI callback; any other answers CUDA_ERROR_NOT_SUPPORTED and says
its name once. An older version of a function with the same parameters as an implemented one goes there.

  generate.py declarations OUT                   header with all functions in namespace driver
  generate.py entry_points OUT SOURCE...         the exported functions
  generate.py proc_table OUT                     rows for cuGetProcAddress
  generate.py errors OUT                         rows for cuGetErrorName and cuGetErrorString
with --compiler CXX and --include DIR (repeated), as the build uses them.
"""
import argparse
import os
import re
import subprocess
import sys

# Work without cuInit, in a fork child and inside a host function.
ALWAYS_ALLOWED = {
    "cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString", "cuGetProcAddress",
    "cuGetProcAddress_v2", "cuGetExportTable", "cuThreadExchangeStreamCaptureMode",
}
PER_THREAD = re.compile(r"_pt[ds][sz]$")
# CUDA's words where the enumerator's name does not give them.
ERROR_TEXTS = {
    "CUDA_SUCCESS": "no error",
    "CUDA_ERROR_INVALID_VALUE": "invalid argument",
    "CUDA_ERROR_NOT_INITIALIZED": "initialization error",
    "CUDA_ERROR_NO_DEVICE": "no CUDA-capable device is detected",
    "CUDA_ERROR_INVALID_DEVICE": "invalid device ordinal",
    "CUDA_ERROR_INVALID_CONTEXT": "invalid device context",
    "CUDA_ERROR_INVALID_HANDLE": "invalid resource handle",
    "CUDA_ERROR_NOT_READY": "device not ready",
    "CUDA_ERROR_ILLEGAL_ADDRESS": "an illegal memory access was encountered",
    "CUDA_ERROR_NOT_SUPPORTED": "operation not supported",
    "CUDA_ERROR_NOT_PERMITTED": "operation not permitted",
    "CUDA_ERROR_NOT_FOUND": "named symbol not found",
}


class Function:
    """One declared function: its name, its parameters as (type, name) pairs."""

    def __init__(self, name, parameter_text):
        self.name = name
        self.text = " ".join(parameter_text.split())
        self.parameters = []
        if self.text not in ("", "void"):
            for part in self.text.split(","):
                match = re.fullmatch(r"\s*(.*?)(\w+)\s*", part)
                self.parameters.append((match.group(1).strip(), match.group(2)))

    @property
    def base(self):
        return re.sub(r"(_v\d+)?(_pt[ds][sz])?$", "", self.name)

    @property
    def version(self):
        match = re.search(r"_v(\d+)(_pt[ds][sz])?$", self.name)
        return int(match.group(1)) if match else 1

    @property
    def plain_name(self):
        """Without the suffix of the per-thread-default-stream variants."""
        return PER_THREAD.sub("", self.name)

    @property
    def signature(self):
        """The parameter types, with the names of older typedefs of the same type made equal."""
        types = [re.sub(r"\bCUdevice_v1\b", "CUdevice", t) for t, _ in self.parameters]
        return tuple(re.sub(r"\s+", "", t) for t in types)

    def arguments(self):
        return ", ".join(name for _, name in self.parameters)


def find_header(includes, name):
    for folder in includes:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    sys.exit(f"generate.py: {name} is in none of {includes}")


def read_functions(options):
    """All functions of cuda.h, old versions and per-thread variants included."""
    command = [options.compiler, "-E", "-P", "-x", "c", "-D__CUDA_API_VERSION_INTERNAL",
               "-include", find_header(options.include, "cudaProfiler.h"),
               find_header(options.include, "cuda.h")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(([^;{]*?)\)\s*;", text)
    functions = {name: Function(name, parameters) for name, parameters in found}
    if len(functions) < 400:
        sys.exit(f"generate.py: only {len(functions)} functions found in cuda.h; is it readable?")
    return functions


def read_set(options, header, pattern):
    with open(find_header(options.include, header), encoding="utf-8", errors="replace") as file:
        return set(re.findall(pattern, file.read()))


def implemented_names(sources):
    names = set()
    for path in sources:
        with open(path, encoding="utf-8") as file:
            names |= set(re.findall(r"^CUresult (cu[A-Z]\w*)\(", file.read(), re.MULTILINE))
    return names


def find_target(function, functions, implemented):
    """The implementation that serves `function`: its own, or a version with the same parameters."""
    if function.plain_name in implemented:
        return function.plain_name
    same = [f for f in functions.values()
            if f.base == function.base and f.name in implemented
            and f.signature == function.signature and f.version > function.version]
    return max(same, key=lambda f: f.version).name if same else None


def declarations(options, functions):
    yield "// Generated by vgpu/cuda/generate.py from cuda.h."
    yield "#pragma once\n"
    yield "#include <cuda.h>"
    yield "#include <cudaProfiler.h>\n"
    yield "namespace braid::vgpu::driver {\n"
    for function in functions.values():
        if not PER_THREAD.search(function.name):
            yield f"CUresult {function.name}({function.text});"
    yield "\n}  // namespace braid::vgpu::driver"


def entry_points(options, functions):
    implemented = implemented_names(options.sources)
    unknown = implemented - set(functions)
    if unknown:
        sys.exit(f"generate.py: cuda.h declares no {', '.join(sorted(unknown))}")
    with_parameters = read_set(options, "generated_cuda_meta.h", r"\} (cu\w+)_params;")
    with_id = read_set(options, "cupti_driver_cbid.h", r"CUPTI_DRIVER_TRACE_CBID_(cu\w+)\s*=")
    yield "// Generated by vgpu/cuda/generate.py from cuda.h and CUPTI's headers."
    yield '#include "vgpu/cuda/entry_support.hpp"\n'
    yield 'extern "C" {\n'
    for function in functions.values():
        yield from entry_point(function, functions, implemented, with_parameters, with_id)
    yield '}  // extern "C"'


def entry_point(function, functions, implemented, with_parameters, with_id):
    name = function.name
    target = find_target(function, functions, implemented)
    if target is None:
        call = f'report_unsupported("{name}")'
    else:
        call = f"driver::{target}({function.arguments()})"
    yield f"CUresult {name}({function.text}) {{"
    if target is None:
        for _, parameter in function.parameters:
            yield f"  static_cast<void>({parameter});"
    if PER_THREAD.search(name) and target is not None:
        yield "  const PerThreadDefaultStream default_stream;"
    if function.base not in ALWAYS_ALLOWED:
        yield "  if (const CUresult error = check_ready(); error != CUDA_SUCCESS) {"
        yield "    return error;"
        yield "  }"
    if name in with_id:
        identifier = f"CUPTI_DRIVER_TRACE_CBID_{name}"
        yield f"  if (callback_enabled({identifier})) [[unlikely]] {{"
        parameters = "nullptr"
        if name in with_parameters:
            yield f"    const {name}_params parameters{{{function.arguments()}}};"
            parameters = "&parameters"
        symbol = ", name_of(f)" if function.base.startswith("cuLaunch") and any(
            p == ("CUfunction", "f") for p in function.parameters) else ""
        yield f'    CallbackScope scope({identifier}, "{name}", {parameters}{symbol});'
        yield f"    return scope.finish({call});"
        yield "  }"
    yield f"  return {call};"
    yield "}\n"


def proc_table(options, functions):
    versions = {}
    for header in ("cudaTypedefs.h", "cudaProfilerTypedefs.h"):
        for base, version in read_set(options, header, r"PFN_(cu\w+?)_v(\d+)\)"):
            versions.setdefault(base, set()).add(int(version))
    yield "// Generated by vgpu/cuda/generate.py from cuda.h and cudaTypedefs.h: name, first version of"
    yield "// CUDA that has this form, its symbol, and the variant for per-thread default streams."
    for base, numbers in sorted(versions.items()):
        forms = sorted((f for f in functions.values()
                        if f.base == base and not PER_THREAD.search(f.name)),
                       key=lambda f: f.version)
        if len(forms) != len(numbers):
            sys.exit(f"generate.py: {base} has {len(forms)} forms, but {len(numbers)} versions")
        for form, number in zip(forms, sorted(numbers)):
            variants = [s for s in ("_ptsz", "_ptds") if form.name + s in functions]
            variant = f"&::{form.name}{variants[0]}" if variants else "nullptr"
            yield f'PROC({base}, {number}, &::{form.name}, {variant})'


def errors(options, functions):
    del functions
    text = open(find_header(options.include, "cuda.h"), encoding="utf-8").read()
    body = re.search(r"typedef enum cudaError_enum \{(.*?)\} CUresult;", text, re.DOTALL).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
    yield "// Generated by vgpu/cuda/generate.py from cuda.h: enumerator and its words."
    for name in re.findall(r"\b(CUDA_\w+)\s*=", body):
        words = ERROR_TEXTS.get(name) or name.removeprefix("CUDA_ERROR_").lower().replace("_", " ")
        yield f'ERROR({name}, "{words}")'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["declarations", "entry_points", "proc_table", "errors"])
    parser.add_argument("out")
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--include", action="append", default=[])
    options = parser.parse_args()
    lines = globals()[options.what](options, read_functions(options))
    text = "\n".join(lines) + "\n"
    # Unchanged output keeps its time, so that nothing is compiled again.
    if not os.path.exists(options.out) or open(options.out, encoding="utf-8").read() != text:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
