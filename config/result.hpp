// Results and errors used inside braid. No exception crosses a function that returns a Result.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace braid {

/// What went wrong, in words for the person who can mend it. `where` names the file (and line), the
/// environment variable or the key; `what` says what was found and what was expected.
struct Error {
  std::string where;
  std::string what;

  /// "policy.toml:12: unknown key 'parst' …", or only the text when there is no place to name.
  std::string text() const { return where.empty() ? what : where + ": " + what; }
};

/// A value or an Error (std::expected's interface; Debian's tl-expected, until C++23 is the floor).
template <typename T>
using Result = tl::expected<T, Error>;

/// A success without a value, or an Error.
using Status = tl::expected<void, Error>;

inline tl::unexpected<Error> fail(std::string where, std::string what) {
  return tl::unexpected<Error>(Error{std::move(where), std::move(what)});
}

}  // namespace braid
