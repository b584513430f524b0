// Stands where libbraid.so would lie, for tests of the launcher alone.
extern "C" __attribute__((visibility("default"))) int braid_empty_library() { return 0; }
