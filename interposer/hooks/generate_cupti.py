#!/usr/bin/env python3
"""Writes the table of CUPTI driver callbacks braid listens to, and how each is read.

From cupti_driver_cbid.h (names and ids) and generated_cuda_meta.h (parameter structs). A driver function
that enqueues work is read field by field where the ledger needs more than its stream; any other function
with a stream is work on that stream; one that may enqueue work and names no stream is work anywhere.

usage: generate_cupti.py CUPTI_DRIVER_CBID_H GENERATED_CUDA_META_H OUTPUT_CPP
"""

import re
import sys

# Functions with a stream that enqueue nothing.
HARMLESS = re.compile(
    r"Query|Get|IsCapturing|SetAttribute|CopyAttributes|SetFlags|Capture|Create|Export|Import|Register|"
    r"EGL|NVN|Graph(Add|Exec\w*|Mem\w*|Event\w*|Kernel\w*|Host\w*|Batch\w*|External\w*)(Node|Set)|"
    r"ThreadExchange|OccupancyM|Attach")
# Functions without a stream field that may enqueue work all the same.
SUSPECT = re.compile(r"Memcpy|Memset|Launch|Prefetch|RecordEvent|WaitEvent|MemBatch|Synchronize$")


def base_name(name):
    return re.sub(r"(_ptsz|_ptds)$", "", name)


def fields_of(meta):
    structs = {}
    for name, body in re.findall(r"typedef struct (cu\w+)_params_st \{(.*?)\} \1_params;", meta, re.S):
        structs[name] = {re.sub(r"\[.*", "", f.split()[-1].lstrip("*")).rstrip(";")
                         for f in body.strip().split(";") if f.strip()}
    return structs


def reader(name, fields):
    """The C++ statements that read one call's parameters into `call`, or None: not listened to."""
    base = re.sub(r"_v\d+$", "", base_name(name))
    stream = "hStream" if "hStream" in fields else "stream" if "stream" in fields else None
    out = []
    if stream:
        out.append(f"call->stream = p->{stream};")
    elif base == "cuLaunchKernelEx":
        out.append("call->stream = p->config->hStream;")

    def kind(value):
        out.append(f"call->kind = DriverCallKind::{value};")
        return out

    if base in ("cuLaunchKernel", "cuLaunchCooperativeKernel", "cuLaunchKernelEx"):
        source = "p->config->" if base.endswith("Ex") else "p->"
        for axis in "XYZ":
            out.append(f"call->shape.grid[{'XYZ'.index(axis)}] = {source}gridDim{axis};")
            out.append(f"call->shape.block[{'XYZ'.index(axis)}] = {source}blockDim{axis};")
        out.append(f"call->shape.shared_bytes = {source}sharedMemBytes;")
        return kind("kKernel")
    copy = re.match(r"cuMemcpy(HtoD|DtoH|DtoD|Peer|)(Async|)$", base)
    if copy and "ByteCount" in fields:
        out.append("call->bytes = p->ByteCount;")
        direction = {"HtoD": "kHostToDevice", "DtoH": "kDeviceToHost", "Peer": "kPeer"}.get(
            copy.group(1), "kDeviceToDevice")
        out.append(f"call->copy = model::trace::CopyKind::{direction};")
        out.append(f"call->asynchronous = {'true' if copy.group(2) else 'false'};")
        return kind("kCopy")
    memset = re.match(r"cuMemsetD(2D)?(8|16|32)(Async|)$", base)
    if memset:
        count = "p->Width * p->Height" if memset.group(1) else "p->N"
        out.append(f"call->bytes = {count} * {int(memset.group(2)) // 8};")
        out.append("call->copy = model::trace::CopyKind::kMemset;")
        out.append("call->asynchronous = true;")
        return kind("kCopy")
    if base in ("cuEventRecord", "cuEventRecordWithFlags"):
        out.append("call->event = p->hEvent;")
        return kind("kEventRecord")
    if base == "cuStreamWaitEvent":
        out.append("call->event = p->hEvent;")
        return kind("kWait")
    if base in ("cuLaunchHostFunc", "cuStreamAddCallback"):
        return kind("kHostFunction")
    value = re.match(r"cuStream(Wait|Write)Value(32|64)$", base)
    if value and {"addr", "value", "flags"} <= fields:
        out += ["call->address = p->addr;", "call->value = p->value;", "call->flags = p->flags;",
                f"call->bytes = {int(value.group(2)) // 8};"]
        return kind("kWaitValue" if value.group(1) == "Wait" else "kWriteValue")
    if base == "cuStreamSynchronize":
        return kind("kSynchronizeStream")
    if base == "cuEventSynchronize":
        out.append("call->event = p->hEvent;")
        return kind("kSynchronizeEvent")
    if base == "cuCtxSynchronize":
        out.append("(void)p;")
        return kind("kSynchronizeDevice")
    if base == "cuStreamDestroy":
        return kind("kStreamDestroyed")
    if base == "cuEventDestroy":
        out.append("call->event = p->hEvent;")
        return kind("kEventDestroyed")
    if HARMLESS.search(base):
        return None
    if stream:
        return kind("kOtherWork")
    if SUSPECT.search(base):
        return kind("kUnknownWork")
    return None


def main():
    cbids = re.findall(r"CUPTI_DRIVER_TRACE_CBID_(cu\w+)\s*=\s*(\d+)", open(sys.argv[1]).read())
    structs = fields_of(open(sys.argv[2]).read())
    cases, listened = [], []
    for name, _ in cbids:
        statements = reader(name, structs.get(name, set()))
        if statements is None:
            continue
        constant = f"CUPTI_DRIVER_TRACE_CBID_{name}"
        listened.append(constant)
        lines = [f"    case {constant}: {{"]
        if any("p->" in s or "(void)p" in s for s in statements) and name in structs:
            lines.append(f"      const auto* p = static_cast<const {name}_params*>(params);")
            lines += [f"      {s}" for s in statements]
        else:
            lines += [f"      {s}" for s in statements if "p->" not in s and "(void)p" not in s]
        per_thread = name.endswith("_ptsz") or name.endswith("_ptds")
        if per_thread:
            lines.append("      if (call->stream == nullptr) {")
            lines.append("        call->stream = CU_STREAM_PER_THREAD;")
            lines.append("      }")
        lines += ["      return true;", "    }"]
        cases.append("\n".join(lines))
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        out.write("// Written by hooks/generate_cupti.py from CUPTI's headers. Do not edit.\n")
        out.write('#include "interposer/hooks/driver_call.hpp"\n\n#include <cupti.h>\n')
        out.write("\n")
        out.write("namespace braid::interposer {\n\n")
        out.write("const uint32_t kListenedCallbacks[] = {\n")
        out.write("".join(f"    {c},\n" for c in listened))
        out.write("};\nconst size_t kListenedCallbackCount = "
                  f"{len(listened)};\n\n")
        out.write("bool read_driver_call(uint32_t id, const void* params, DriverCall* call) {\n")
        out.write("  (void)params;\n  switch (id) {\n")
        out.write("\n".join(cases))
        out.write("\n    default:\n      return false;\n  }\n}\n\n}  // namespace braid::interposer\n")


if __name__ == "__main__":
    main()
