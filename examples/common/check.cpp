#include "common/check.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace examples {

// Other ranks may be threads of this process, in the middle of device work: no static destructors.
void fail_at(const char* file, int line, const char* call, const char* reason) {
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, reason);
  std::fflush(stderr);
  std::_Exit(EXIT_FAILURE);
}

void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::fflush(stderr);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace examples
