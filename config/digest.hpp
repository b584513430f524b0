// A 64-bit digest that is the same on every machine and in every version of braid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace braid::config {

/// FNV-1a over bytes, with a final mix so that all 64 bits depend on all input (FNV alone leaves
/// the high bits of short inputs weak). Numbers are added as eight little-endian bytes whatever the
/// machine, texts with their length first, so ("ab","c") and ("a","bc") differ. Ranks compare these
/// values, and files hold them: the function must never change. It does not resist an attacker.
///
/// Source of the constants: the FNV-1a definition (offset basis 0xcbf29ce484222325, prime
/// 0x100000001b3) and the 64-bit finaliser of MurmurHash3.
class Digest {
 public:
  /// Adds `size` bytes as they stand, without a length.
  constexpr Digest& add_bytes(const char* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      state_ = (state_ ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3ull;
    }
    return *this;
  }

  /// Adds a number as eight bytes, lowest first.
  constexpr Digest& add(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) {
      state_ = (state_ ^ ((number >> shift) & 0xff)) * 0x100000001b3ull;
    }
    return *this;
  }

  /// Adds a text, its length first.
  constexpr Digest& add(std::string_view text) {
    add(static_cast<uint64_t>(text.size()));
    return add_bytes(text.data(), text.size());
  }

  /// The digest of everything added so far.
  constexpr uint64_t value() const {
    uint64_t h = state_;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdull;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return h ^ (h >> 33);
  }

 private:
  uint64_t state_ = 0xcbf29ce484222325ull;
};

/// Digest of the bytes of one text, without a length: what Policy::digest holds of its file.
constexpr uint64_t digest_of(std::string_view bytes) {
  return Digest().add_bytes(bytes.data(), bytes.size()).value();
}

}  // namespace braid::config
